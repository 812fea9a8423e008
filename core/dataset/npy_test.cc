#include "core/dataset/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"

#include "core/base/testing/status_matchers.h"

namespace qb {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;

std::string Npy(absl::string_view header, absl::string_view data, char major = 1) {
  std::string bytes("\x93NUMPY", 6);
  bytes.push_back(major);
  bytes.push_back(0);
  const size_t length_bytes = major == 1 ? 2 : 4;
  for (size_t i = 0; i < length_bytes; ++i) {
    bytes.push_back(static_cast<char>(header.size() >> (8 * i) & 0xff));
  }
  return absl::StrCat(bytes, header, data);
}

std::string Header(absl::string_view descr, absl::string_view order, absl::string_view shape) {
  return absl::StrCat("{'descr': '", descr, "', 'fortran_order': ", order, ", 'shape': ", shape,
                      ", }\n");
}

TEST(ParseNpy, ReadsWhatItWrites) {
  const Tensor tensor = Tensor::OfFloats({2, 3}, {1, 2, 3, 4, 5, 6.5f});
  const std::string bytes = SerializeNpy(tensor);
  QB_ASSERT_OK_AND_ASSIGN(const Tensor read, ParseNpy(bytes));
  EXPECT_TRUE(read.Equals(tensor));
  QB_ASSERT_OK_AND_ASSIGN(const NpyHeader header, ParseNpyHeader(bytes));
  EXPECT_EQ(header.data_offset % 64, 0);
}

TEST(ParseNpy, ReadsScalarsVectorsAndVersion3) {
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{3}}) {
    const Tensor tensor = Tensor::Allocate({DType::kInt64, shape});
    QB_ASSERT_OK_AND_ASSIGN(const Tensor read, ParseNpy(SerializeNpy(tensor)));
    EXPECT_TRUE(read.Equals(tensor));
  }
  QB_ASSERT_OK_AND_ASSIGN(const Tensor read,
                          ParseNpy(Npy(Header("|u1", "False", "(2,)"), "\x07\xff", 3)));
  EXPECT_THAT(read.values<uint8_t>(), ElementsAre(7, 255));
}

TEST(ParseNpy, TurnsFortranOrderIntoRows) {
  const std::string columns("\x01\x04\x02\x05\x03\x06", 6);
  QB_ASSERT_OK_AND_ASSIGN(const Tensor read,
                          ParseNpy(Npy(Header("|i1", "True", "(2, 3)"), columns)));
  EXPECT_THAT(read.values<int8_t>(), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(ParseNpy, SwapsBigEndian) {
  const std::string data("\x00\x01\x01\x00", 4);
  QB_ASSERT_OK_AND_ASSIGN(const Tensor read, ParseNpy(Npy(Header(">i2", "False", "(2,)"), data)));
  EXPECT_THAT(read.values<int16_t>(), ElementsAre(1, 256));
}

TEST(ParseNpy, RefusesWhatIsNoPlainArray) {
  EXPECT_THAT(ParseNpy(""), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("0 bytes")));
  EXPECT_THAT(ParseNpy(Npy(Header("|O", "False", "(1,)"), "xxxxxxxx")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("never unpickled")));
  EXPECT_THAT(ParseNpy(Npy(Header("<c8", "False", "(1,)"), "xxxxxxxx")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'<c8'")));
  EXPECT_THAT(ParseNpy(Npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}", "")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("record")));
  EXPECT_THAT(
      ParseNpy(Npy(Header("<f4", "False", "(2,)"), "xxxx")),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("needs 8 bytes, there are 4")));
  EXPECT_THAT(ParseNpy(Npy(Header("<f4", "False", "(9999999999, 9999999999)"), "")),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
  EXPECT_THAT(ParseNpy(Npy(Header("<f4", "False", "(99999999999999999999,)"), "")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'shape'")));
  EXPECT_THAT(ParseNpy(Npy(Header("<f4", "False", "(-1,)"), "")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'shape'")));
}

TEST(ParseNpy, RefusesMalformedHeaders) {
  for (const char* header :
       {"", "{", "{'descr': '<f4'}", "{'descr' '<f4'}", "[]", "{'descr': '<f4', 'descr': '<f4'}",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': ()}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': ()} tail",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (), 'more': 1}"}) {
    EXPECT_THAT(ParseNpy(Npy(header, "xxxx")),
                StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_))
        << header;
  }
  EXPECT_THAT(ParseNpy(Npy(std::string(70000, ' '), "", 2)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at most 65536")));
}

TEST(ParseNpy, RefusesEveryTruncation) {
  const std::string bytes = SerializeNpy(Tensor::OfFloats({2}, {1, 2}));
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(ParseNpy(absl::string_view(bytes).substr(0, length)).ok()) << length;
  }
}

}  // namespace
}  // namespace qb
