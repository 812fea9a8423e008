#include "server/auth/authorize.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace qb::server {
namespace {

struct ScopeName {
  Scope scope;
  absl::string_view name;
};

constexpr auto kScopeNames = std::to_array<ScopeName>({
    {Scope::kJobsRead, "jobs:read"},
    {Scope::kJobsWrite, "jobs:write"},
    {Scope::kBlobsRead, "blobs:read"},
    {Scope::kBlobsWrite, "blobs:write"},
    {Scope::kShare, "share"},
    {Scope::kAdmin, "admin"},
    {Scope::kWork, "work"},
});

absl::string_view NameOf(Scope scope) {
  for (const ScopeName& row : kScopeNames) {
    if (row.scope == scope) {
      return row.name;
    }
  }
  return "";
}

struct Right {
  ResourceKind kind;
  Verb verb;
  Scope needs;
};

// What exists at all; everything else is refused whoever asks.
constexpr auto kRights = std::to_array<Right>({
    {ResourceKind::kJob, Verb::kRead, Scope::kJobsRead},
    {ResourceKind::kJob, Verb::kCreate, Scope::kJobsWrite},
    {ResourceKind::kJob, Verb::kCancel, Scope::kJobsWrite},
    {ResourceKind::kJob, Verb::kShare, Scope::kShare},
    {ResourceKind::kBlob, Verb::kRead, Scope::kBlobsRead},
    {ResourceKind::kBlob, Verb::kCreate, Scope::kBlobsWrite},
    {ResourceKind::kWorkerWork, Verb::kReport, Scope::kWork},
    {ResourceKind::kServer, Verb::kRead, Scope::kJobsRead},
    {ResourceKind::kWorkers, Verb::kRead, Scope::kAdmin},
});

}  // namespace

std::vector<std::string> ScopeSet::Names() const {
  std::vector<std::string> names;
  for (const ScopeName& row : kScopeNames) {
    if (Has(row.scope)) {
      names.emplace_back(row.name);
    }
  }
  return names;
}

absl::StatusOr<ScopeSet> ScopeSet::Parse(const std::vector<std::string>& names) {
  ScopeSet scopes;
  for (const std::string& name : names) {
    const size_t before = scopes.Names().size();
    for (const ScopeName& row : kScopeNames) {
      if (row.name == name && !scopes.Has(row.scope)) {
        scopes.Add(row.scope);
      }
    }
    if (scopes.Names().size() == before) {
      return absl::InvalidArgumentError(absl::StrCat("scope '", name,
                                                     "': expected, each once, some of ",
                                                     absl::StrJoin(kEverything.Names(), ", ")));
    }
  }
  return scopes;
}

absl::Status Authorize(const Caller& caller, const Resource& resource, Verb verb) {
  if (caller.tenant.empty() || caller.tenant != resource.tenant) {
    return absl::PermissionDeniedError(
        absl::StrCat("tenant '", caller.tenant, "' has no access to this"));
  }
  for (const Right& right : kRights) {
    if (right.kind == resource.kind && right.verb == verb) {
      return caller.scopes.Has(right.needs)
                 ? absl::OkStatus()
                 : absl::PermissionDeniedError(absl::StrCat("SCOPE_MISSING: the credential lacks '",
                                                            NameOf(right.needs), "'"));
    }
  }
  return absl::PermissionDeniedError("this is not allowed for anybody");
}

}  // namespace qb::server
