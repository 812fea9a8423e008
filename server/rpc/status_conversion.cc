#include "server/rpc/status_conversion.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

#include "core/base/failure.h"
#include "server/jobs/job_failure.h"
#include "server/service/status_details.h"

namespace qb::server {

grpc::Status ToGrpcStatus(const absl::Status& status, grpc::ServerContextBase* context) {
  if (status.ok()) {
    return grpc::Status::OK;
  }
  bool has_failure = false;
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) {
    if (url == kMissingBlobsPayload) {
      context->AddTrailingMetadata("qbc-missing-blobs", std::string(payload));
    }
    has_failure = has_failure || url == "qb/failure_code";
  });
  std::string message;
  if (has_failure) {
    const absl::string_view name = FailureRowOf(FailureCodeOf(status)).name;
    context->AddTrailingMetadata("qbc-failure", std::string(name));
    message = absl::StrCat(name, ": ");
  }
  absl::StrAppend(&message, status.message());
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                      std::string(CutUtf8(message, kMaxFailureMessageBytes)));
}

}  // namespace qb::server
