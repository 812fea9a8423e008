#include "server/auth/authorize.h"

#include <gtest/gtest.h>

#include "core/base/testing/status_matchers.h"

namespace qb::server {
namespace {

// With every right.
Caller Of(const std::string& tenant) { return {tenant, kEverything, ""}; }

TEST(Authorize, AllowsWhatTheTenantOwns) {
  QB_EXPECT_OK(Authorize(Of("a"), {ResourceKind::kJob, "a"}, Verb::kCancel));
  QB_EXPECT_OK(Authorize(Of("a"), {ResourceKind::kBlob, "a"}, Verb::kRead));
}

TEST(Authorize, RefusesOtherTenants) {
  EXPECT_EQ(Authorize(Of("a"), {ResourceKind::kBlob, "b"}, Verb::kRead).code(),
            absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(Authorize(Of(""), {ResourceKind::kBlob, ""}, Verb::kRead).code(),
            absl::StatusCode::kPermissionDenied);
}

TEST(Authorize, RefusesWhatHasNoMeaning) {
  EXPECT_FALSE(Authorize(Of("a"), {ResourceKind::kBlob, "a"}, Verb::kCancel).ok());
  EXPECT_FALSE(Authorize(Of("a"), {ResourceKind::kJob, "a"}, Verb::kReport).ok());
}

TEST(Authorize, EveryRightNeedsItsScope) {
  const struct {
    Resource resource;
    Verb verb;
    Scope scope;
  } rights[] = {
      {{ResourceKind::kJob, "a"}, Verb::kRead, Scope::kJobsRead},
      {{ResourceKind::kJob, "a"}, Verb::kCreate, Scope::kJobsWrite},
      {{ResourceKind::kJob, "a"}, Verb::kCancel, Scope::kJobsWrite},
      {{ResourceKind::kJob, "a"}, Verb::kShare, Scope::kShare},
      {{ResourceKind::kBlob, "a"}, Verb::kRead, Scope::kBlobsRead},
      {{ResourceKind::kBlob, "a"}, Verb::kCreate, Scope::kBlobsWrite},
      {{ResourceKind::kWorkerWork, "a"}, Verb::kReport, Scope::kWork},
      {{ResourceKind::kServer, "a"}, Verb::kRead, Scope::kJobsRead},
      {{ResourceKind::kWorkers, "a"}, Verb::kRead, Scope::kAdmin},
  };
  for (const auto& right : rights) {
    QB_EXPECT_OK(Authorize({"a", {right.scope}, ""}, right.resource, right.verb));
    for (const std::string& name : kEverything.Names()) {
      const ScopeSet one = *ScopeSet::Parse({name});
      EXPECT_EQ(Authorize({"a", one, ""}, right.resource, right.verb).ok(), one.Has(right.scope))
          << name;
    }
  }
}

TEST(ScopeSet, ParsesItsOwnNames) {
  EXPECT_EQ(*ScopeSet::Parse(kEverything.Names()), kEverything);
  EXPECT_EQ(kEverything.Names().size(), 7u);
  EXPECT_FALSE(ScopeSet::Parse({"jobs:read", "jobs:read"}).ok());
  EXPECT_FALSE(ScopeSet::Parse({"root"}).ok());
}

}  // namespace
}  // namespace qb::server
