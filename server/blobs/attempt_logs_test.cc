#include "server/blobs/attempt_logs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"

namespace qb::server {
namespace {

using ::qb::testing::StatusIs;
using ::testing::HasSubstr;

class AttemptLogsTest : public ::testing::Test {
 protected:
  std::string ReadAll(int64_t execution, int32_t attempt) {
    std::string all;
    int64_t offset = 0;
    while (true) {
      const auto piece = logs_.Read(execution, attempt, offset, 7);
      EXPECT_TRUE(piece.ok()) << piece.status();
      if (!piece.ok() || piece->data.empty()) {
        return all;
      }
      if (piece->offset > offset) {
        all += "[cut]";
      }
      all += piece->data;
      offset = piece->offset + static_cast<int64_t>(piece->data.size());
    }
  }

  qb::testing::TempDir folder_;
  AttemptLogs logs_{folder_.File("logs"),
                    AttemptLogOptions{.segment_bytes = 10, .tail_segments = 2}};
};

TEST_F(AttemptLogsTest, AppendsAndReadsBack) {
  QB_ASSERT_OK_AND_ASSIGN(int64_t size, logs_.Append(1, 1, 0, "hello "));
  EXPECT_EQ(size, 6);
  QB_ASSERT_OK_AND_ASSIGN(size, logs_.Append(1, 1, 6, "wide world"));
  EXPECT_EQ(size, 16);
  EXPECT_EQ(ReadAll(1, 1), "hello wide world");
  EXPECT_EQ(ReadAll(1, 2), "");
  EXPECT_EQ(ReadAll(2, 1), "");
}

TEST_F(AttemptLogsTest, SendingAgainStoresNothingTwice) {
  QB_ASSERT_OK(logs_.Append(1, 1, 0, "abcdef"));
  QB_ASSERT_OK_AND_ASSIGN(int64_t size, logs_.Append(1, 1, 3, "defgh"));
  EXPECT_EQ(size, 8);
  QB_ASSERT_OK_AND_ASSIGN(size, logs_.Append(1, 1, 0, "abc"));
  EXPECT_EQ(size, 8);
  EXPECT_EQ(ReadAll(1, 1), "abcdefgh");
}

TEST_F(AttemptLogsTest, RefusesGaps) {
  QB_ASSERT_OK(logs_.Append(1, 1, 0, "abc"));
  EXPECT_THAT(logs_.Append(1, 1, 4, "x"), StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("3")));
  EXPECT_EQ(logs_.Append(1, 1, -1, "x").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(logs_.Read(1, 1, -1, 5).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(AttemptLogsTest, KeepsHeadAndTailOfALongLog) {
  std::string text;
  for (int i = 0; i < 10; ++i) {
    text += std::string(10, static_cast<char>('0' + i));
  }
  int64_t offset = 0;
  for (size_t at = 0; at < text.size(); at += 4) {
    QB_ASSERT_OK_AND_ASSIGN(offset, logs_.Append(1, 1, offset, text.substr(at, 4)));
  }
  EXPECT_EQ(offset, 100);
  const std::string kept = ReadAll(1, 1);
  EXPECT_THAT(kept, ::testing::StartsWith("0000000000[cut]"));
  EXPECT_THAT(kept, ::testing::EndsWith("88888888889999999999"));
  EXPECT_LE(kept.size(), 10u + 5u + 30u);
}

TEST_F(AttemptLogsTest, AnotherObjectGoesOn) {
  QB_ASSERT_OK(logs_.Append(7, 3, 0, "0123456789ab"));
  AttemptLogs later(folder_.File("logs"),
                    AttemptLogOptions{.segment_bytes = 10, .tail_segments = 2});
  QB_ASSERT_OK_AND_ASSIGN(const int64_t size, later.Append(7, 3, 12, "cd"));
  EXPECT_EQ(size, 14);
  EXPECT_EQ(ReadAll(7, 3), "0123456789abcd");
}

}  // namespace
}  // namespace qb::server
