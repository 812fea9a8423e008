#include "server/quota/refusal.h"

#include <algorithm>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

#include "proto/google/rpc/error_details.pb.h"

namespace qb::server {

absl::Status WithRetryAfter(absl::Status status, absl::Duration retry_after) {
  google::rpc::RetryInfo retry;
  const int64_t ms = std::max<int64_t>(1, absl::ToInt64Milliseconds(retry_after));
  retry.mutable_retry_delay()->set_seconds(ms / 1000);
  retry.mutable_retry_delay()->set_nanos(static_cast<int32_t>(ms % 1000) * 1'000'000);
  status.SetPayload(kRetryInfoPayload, absl::Cord(retry.SerializeAsString()));
  return status;
}

absl::Status Refuse(const QuotaRefusal& refusal) {
  absl::Status status = absl::ResourceExhaustedError(
      absl::StrCat(refusal.reason, ": tenant '", refusal.tenant, "': ", refusal.description));
  google::rpc::QuotaFailure quota;
  google::rpc::QuotaFailure::Violation* violation = quota.add_violations();
  violation->set_subject(absl::StrCat("tenant:", refusal.tenant));
  violation->set_description(refusal.description);
  status.SetPayload(kQuotaFailurePayload, absl::Cord(quota.SerializeAsString()));
  return WithRetryAfter(std::move(status), refusal.retry_after);
}

}  // namespace qb::server
