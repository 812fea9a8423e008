#include "core/package/mxq_stages.h"

#include "core/base/testing/status_matchers.h"

namespace qb {
namespace {

using ::testing::HasSubstr;

const std::map<std::string, absl::string_view>& Entries() {
  static const std::map<std::string, absl::string_view> entries = {
      {"program/single.pb", "p"},
      {"program/multi.pb", "q"},
      {"weights.bin", "w"},
      {"npu_body_2/program/single.pb", "p2"},
      {"npu_body_2/weights.bin", "w2"},
      {"cpu_head.onnx", "h"},
      {"cpu_head.weights.bin", "hw"},
      {"size_2/program/single.pb", "p3"},
      {"size_2/weights.bin", "w3"},
  };
  return entries;
}

Json Staged() {
  return *Json::Parse(R"({
    "inputs": [{"name": "x", "dtype": "int64", "shape": [1, 3]}],
    "outputs": [{"name": "y"}, {"name": "z"}],
    "stages": [
      {"name": "cpu_head", "device": "cpu", "inputs": [[-1, 0]]},
      {"name": "npu_body_1", "device": "npu", "inputs": [[0, 0]]},
      {"name": "npu_body_2", "device": "npu", "inputs": [[1, 0], [0, 1]]}],
    "results": [[2, 0], [-1, 0]]})");
}

TEST(ReadSizes, OneProgramIsOneStage) {
  QB_ASSERT_OK_AND_ASSIGN(const std::vector<MxqSize> sizes,
                          ReadSizes(*Json::Parse(R"({"outputs": [{"name": "y"}]})"), Entries()));
  ASSERT_EQ(sizes.size(), 1u);
  ASSERT_EQ(sizes[0].stages.size(), 1u);
  EXPECT_EQ(sizes[0].stages[0].programs.size(), 2u);
  EXPECT_EQ(sizes[0].stages[0].programs.at("multi"), "q");
  EXPECT_EQ(sizes[0].stages[0].weights, "w");
  EXPECT_TRUE(sizes[0].results.empty());
}

TEST(ReadSizes, StagesFindTheirEntries) {
  QB_ASSERT_OK_AND_ASSIGN(const std::vector<MxqSize> sizes, ReadSizes(Staged(), Entries()));
  ASSERT_EQ(sizes.size(), 1u);
  const MxqSize& size = sizes[0];
  ASSERT_EQ(size.stages.size(), 3u);
  EXPECT_FALSE(size.stages[0].npu);
  EXPECT_EQ(size.stages[0].model, "h");
  EXPECT_EQ(size.stages[0].weights, "hw");
  EXPECT_EQ(size.stages[0].weights_name, "cpu_head.weights.bin");
  EXPECT_EQ(size.stages[1].programs.size(), 2u);
  EXPECT_EQ(size.stages[2].programs.at("single"), "p2");
  EXPECT_EQ(size.stages[2].weights, "w2");
  EXPECT_EQ(size.inputs[0].type.ToString(), "int64[1x3]");
  EXPECT_EQ(size.results[1].stage, -1);
  EXPECT_EQ(size.outputs[1], "z");
}

TEST(ReadSizes, SeveralSizesHaveFolders) {
  const Json manifest = *Json::Parse(R"({"sizes": [
    {"folder": "", "outputs": [{"name": "y"}]},
    {"folder": "size_2/", "outputs": [{"name": "y"}]}]})");
  QB_ASSERT_OK_AND_ASSIGN(const std::vector<MxqSize> sizes, ReadSizes(manifest, Entries()));
  ASSERT_EQ(sizes.size(), 2u);
  EXPECT_EQ(sizes[1].stages[0].programs.at("single"), "p3");
  EXPECT_EQ(sizes[1].stages[0].weights, "w3");
}

// What a hostile manifest could say. Each entry: what is replaced, by what, the answer.
TEST(ReadSizes, NothingIsBelieved) {
  const std::string good = Staged().Dump();
  const auto answer = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    return ReadSizes(*Json::Parse(text), Entries()).status().ToString();
  };
  EXPECT_THAT(answer("[[0,0]]", "[[1,0]]"), HasSubstr("does not exist then"));
  EXPECT_THAT(answer("[[0,0]]", "[[-2,0]]"), HasSubstr("does not exist then"));
  EXPECT_THAT(answer("[[0,0]]", "[[-1,1]]"), HasSubstr("does not exist then"));
  EXPECT_THAT(answer("[[0,0]]", "[[0,-1]]"), HasSubstr("something else than"));
  EXPECT_THAT(answer("[[0,0]]", "[[0]]"), HasSubstr("something else than"));
  EXPECT_THAT(answer("[[0,0]]", "7"), HasSubstr("no list of values"));
  EXPECT_THAT(answer("[[2,0],[-1,0]]", "[[3,0],[-1,0]]"), HasSubstr("does not exist then"));
  EXPECT_THAT(answer("[[2,0],[-1,0]]", "[[2,0]]"), HasSubstr("1 results and 2 outputs"));
  EXPECT_THAT(answer("\"cpu_head\"", "\"../cpu\""), HasSubstr("has no '../cpu.onnx'"));
  EXPECT_THAT(answer("\"npu_body_2\"", "\"gone\""), HasSubstr("has no program"));
  EXPECT_THAT(answer("\"int64\"", "\"int65\""), HasSubstr("bad type"));
  EXPECT_THAT(answer("[1,3]", "[4611686018427387904,4]"), HasSubstr("bad shape"));
  EXPECT_THAT(answer("[1,3]", "[-1,3]"), HasSubstr("bad shape"));
}

TEST(ReadSizes, AnExecutableWithoutNpuIsNone) {
  Json manifest = Staged();
  manifest.Set("stages",
               *Json::Parse(R"([{"name": "cpu_head", "device": "cpu", "inputs": [[-1, 0]]}])"));
  EXPECT_THAT(ReadSizes(manifest, Entries()).status().ToString(), HasSubstr("no program"));
}

}  // namespace
}  // namespace qb
