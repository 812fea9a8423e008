#include "server/service/violations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/cord.h"

#include "core/base/testing/status_matchers.h"
#include "proto/google/rpc/error_details.pb.h"
#include "server/service/status_details.h"

namespace qb::server {
namespace {

TEST(Violations, NoneIsOk) { QB_EXPECT_OK(ViolationsStatus({})); }

// A JSON parser's message ends in the middle of a character that the request had.
TEST(Violations, PiecesOfCharactersAreReplaced) {
  std::vector<Violation> violations;
  AppendViolations(absl::InvalidArgumentError("config: not valid JSON: last read: '\xe2\x80'"),
                   "request", violations);
  ASSERT_EQ(violations.size(), 1);
  EXPECT_EQ(violations[0].description,
            "not valid JSON: last read: '\xEF\xBF\xBD\xEF\xBF\xBD'");
  google::rpc::BadRequest details;
  EXPECT_TRUE(details.ParseFromString(
      std::string(*ViolationsStatus(violations).GetPayload(kBadRequestPayload))));
}

TEST(Violations, AllStandInTheMessageAndInThePayload) {
  const absl::Status status =
      ViolationsStatus({{FailureCode::kConfigError, "calibration.mode", "7 is not accepted"},
                        {FailureCode::kArgumentError, "spec.threads", "-1: expected 0 to 256"}});
  EXPECT_EQ(FailureCodeOf(status), FailureCode::kConfigError);
  EXPECT_EQ(status.message(),
            "calibration.mode: 7 is not accepted\nspec.threads: -1: expected 0 to 256");
  google::rpc::BadRequest details;
  ASSERT_TRUE(details.ParseFromString(std::string(*status.GetPayload(kBadRequestPayload))));
  ASSERT_EQ(details.field_violations_size(), 2);
  EXPECT_EQ(details.field_violations(0).field(), "calibration.mode");
  EXPECT_EQ(details.field_violations(0).reason(), "CONFIG_ERROR");
  EXPECT_EQ(details.field_violations(1).description(), "-1: expected 0 to 256");
  EXPECT_EQ(details.field_violations(1).reason(), "ARGUMENT_ERROR");
}

TEST(Violations, AnErrorIsTakenApartByLines) {
  std::vector<Violation> violations;
  AppendViolations(Failure(FailureCode::kConfigError, "a.b: wrong: very\nthe text: no\nc: bad"),
                   "spec.config", violations);
  ASSERT_EQ(violations.size(), 3u);
  EXPECT_EQ(violations[0].field, "a.b");
  EXPECT_EQ(violations[0].description, "wrong: very");
  EXPECT_EQ(violations[1].field, "spec.config");
  EXPECT_EQ(violations[1].description, "the text: no");
  EXPECT_EQ(violations[2].field, "c");
}

}  // namespace
}  // namespace qb::server
