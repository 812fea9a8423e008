#include "server/auth/authorize.h"

#include <gtest/gtest.h>

#include "core/base/testing/status_matchers.h"

namespace qb::server {
namespace {

TEST(Authorize, AllowsWhatTheTenantOwns) {
  QB_EXPECT_OK(Authorize({"a"}, {ResourceKind::kJob, "a"}, Verb::kCancel));
  QB_EXPECT_OK(Authorize({"a"}, {ResourceKind::kBlob, "a"}, Verb::kRead));
}

TEST(Authorize, RefusesOtherTenants) {
  EXPECT_EQ(Authorize({"a"}, {ResourceKind::kBlob, "b"}, Verb::kRead).code(),
            absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(Authorize({""}, {ResourceKind::kBlob, ""}, Verb::kRead).code(),
            absl::StatusCode::kPermissionDenied);
}

TEST(Authorize, RefusesWhatHasNoMeaning) {
  EXPECT_FALSE(Authorize({"a"}, {ResourceKind::kBlob, "a"}, Verb::kCancel).ok());
  EXPECT_FALSE(Authorize({"a"}, {ResourceKind::kJob, "a"}, Verb::kReport).ok());
}

}  // namespace
}  // namespace qb::server
