#include "core/base/json.h"

#include <limits>

#include "core/base/testing/status_matchers.h"

namespace qb {
namespace {

using ::testing::HasSubstr;

TEST(Json, RoundTripKeepsOrderAndNumbers) {
  const std::string text = R"({"b":1,"a":[true,null,-2.5,"x\n\"y\""],"big":9007199254740993,"d":1.0})";
  QB_ASSERT_OK_AND_ASSIGN(Json value, Json::Parse(text));
  EXPECT_EQ(value.Dump(), text);
  EXPECT_EQ(value["a"].items()[2].as_double(), -2.5);
  EXPECT_TRUE(value["none"].is_null());
}

TEST(Json, MalformedTextNamesThePlace) {
  for (const char* text : {"", "{", "[1,]", "{\"a\":1,\"a\":2}", "nul", "\"\xff\"", "[1e999]", "1 2"}) {
    EXPECT_THAT(Json::Parse(text),
                testing::StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not valid JSON")))
        << text;
  }
}

TEST(Json, DeepNestingIsRefused) {
  EXPECT_FALSE(Json::Parse(std::string(100000, '[')).ok());
  EXPECT_TRUE(Json::Parse("[[[1]]]", 3).ok());
  EXPECT_FALSE(Json::Parse("[[[[1]]]]", 3).ok());
}

TEST(Json, WritesOnlyValidUtf8AndFiniteNumbers) {
  EXPECT_EQ(Json("a\xff z").Dump(), "\"a\xEF\xBF\xBD z\"");
  EXPECT_EQ(Json(std::numeric_limits<double>::quiet_NaN()).Dump(), "null");
  EXPECT_EQ(Json(std::string("\x01")).Dump(), "\"\\u0001\"");
}

TEST(Json, IndentedForm) {
  Json value;
  value.Set("k", Json::Array().Append(1)).Set("e", Json::Object());
  EXPECT_EQ(value.Dump(2), "{\n  \"k\": [\n    1\n  ],\n  \"e\": {}\n}");
}

}  // namespace
}  // namespace qb
