#include "server/auth/authorize.h"

#include <array>

#include "absl/strings/str_cat.h"

namespace qb::server {
namespace {

struct Right {
  ResourceKind kind;
  Verb verb;
};

// What exists at all; everything else is refused whoever asks.
constexpr auto kRights = std::to_array<Right>({
    {ResourceKind::kJob, Verb::kRead},
    {ResourceKind::kJob, Verb::kCreate},
    {ResourceKind::kJob, Verb::kCancel},
    {ResourceKind::kBlob, Verb::kRead},
    {ResourceKind::kBlob, Verb::kCreate},
    {ResourceKind::kWorkerWork, Verb::kReport},
    {ResourceKind::kServer, Verb::kRead},
});

}  // namespace

absl::Status Authorize(const Caller& caller, const Resource& resource, Verb verb) {
  if (caller.tenant.empty() || caller.tenant != resource.tenant) {
    return absl::PermissionDeniedError(
        absl::StrCat("tenant '", caller.tenant, "' has no access to this"));
  }
  for (const Right& right : kRights) {
    if (right.kind == resource.kind && right.verb == verb) {
      return absl::OkStatus();
    }
  }
  return absl::PermissionDeniedError("this is not allowed for anybody");
}

}  // namespace qb::server
