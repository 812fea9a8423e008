#include "core/dataset/labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/testing/status_matchers.h"

namespace qb {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using testing::StatusIs;

TEST(ParseLabels, ReadsNumbersAndQuotedText) {
  QB_ASSERT_OK_AND_ASSIGN(const Labels labels,
                          ParseLabels("sample,label\r\n0001.npy,7\r\n0000,\"a, \"\"b\"\"\"\n\n"));
  EXPECT_THAT(labels, ElementsAre(Pair("0000", "a, \"b\""), Pair("0001", "7")));
}

TEST(ParseLabels, NamesTheLine) {
  EXPECT_THAT(ParseLabels("sample,label\na,1\na,2\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("line 3")));
  EXPECT_THAT(ParseLabels("sample,label\na\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("line 2")));
  EXPECT_THAT(ParseLabels("sample,label\na,\"x\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("open quote")));
  EXPECT_THAT(ParseLabels("a,1\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("first line")));
}

}  // namespace
}  // namespace qb
