#include "server/jobs/job_failure.h"

#include <gtest/gtest.h>

#include <string>

namespace qb::server {
namespace {

namespace pb = ::qbc::v1;

TEST(JobFailure, ProtocolHasTheNumberAndNameOfEveryRow) {
  for (const FailureRow& row : AllFailures()) {
    if (row.code == FailureCode::kNone) {
      continue;
    }
    pb::FailureReason reason = pb::FAILURE_REASON_UNSPECIFIED;
    ASSERT_TRUE(pb::FailureReason_Parse("FAILURE_REASON_" + std::string(row.name), &reason))
        << row.name;
    EXPECT_EQ(static_cast<int>(reason), static_cast<int>(row.code)) << row.name;
  }
  // One more value than rows would be a reason without name and hint.
  EXPECT_EQ(static_cast<size_t>(pb::FailureReason_descriptor()->value_count()),
            AllFailures().size());
}

TEST(JobFailure, TakesTheCodeFromTheName) {
  pb::JobFailure reported;
  reported.set_reason_name("UNSUPPORTED_OPERATOR");
  reported.set_message("node 'x'");
  reported.set_hint("forged");
  const pb::JobFailure failure = NormalizeFailure(reported);
  EXPECT_EQ(failure.reason(), pb::FAILURE_REASON_UNSUPPORTED_OPERATOR);
  EXPECT_EQ(failure.message(), "node 'x'");
  EXPECT_NE(failure.hint(), "forged");
}

TEST(JobFailure, UnknownReasonIsAnInternalError) {
  pb::JobFailure reported;
  reported.set_reason(static_cast<pb::FailureReason>(77));
  reported.set_reason_name("SOMETHING");
  EXPECT_EQ(NormalizeFailure(reported).reason(), pb::FAILURE_REASON_INTERNAL_ERROR);
}

TEST(JobFailure, CutsBetweenCharacters) {
  EXPECT_EQ(CutUtf8("abc", 3), "abc");
  EXPECT_EQ(CutUtf8("ab\xc3\xa4", 3), "ab");
  EXPECT_EQ(CutUtf8("ab\xc3\xa4", 4), "ab\xc3\xa4");
  pb::JobFailure reported;
  reported.set_message(std::string(100'000, 'x'));
  EXPECT_EQ(NormalizeFailure(reported).message().size(), kMaxFailureMessageBytes);
}

}  // namespace
}  // namespace qb::server
