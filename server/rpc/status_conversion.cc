#include "server/rpc/status_conversion.h"

#include <algorithm>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

#include "core/base/failure.h"
#include "proto/google/rpc/error_details.pb.h"
#include "proto/google/rpc/status.pb.h"
#include "server/jobs/job_failure.h"
#include "server/quota/refusal.h"
#include "server/service/status_details.h"
#include "server/service/violations.h"

namespace qb::server {
namespace {

// gRPC drops all trailers beyond 8 KiB together with the error they are about. Details travel as
// base64 to peers that cannot take raw bytes (4 KiB become 5.4), a message is percent-encoded.
constexpr size_t kMaxDetailsBytes = 4096;
constexpr size_t kMaxEncodedMessageBytes = 4096;
constexpr size_t kMaxEncodedMessageBesideViolations = 2048;
constexpr size_t kMaxMessageInDetailsBytes = 512;
constexpr size_t kMaxDescriptionBytes = 400;
constexpr size_t kMaxFieldBytes = 200;

// The longest start of `text` that takes at most `max_bytes` once it is percent-encoded.
absl::string_view CutEncoded(absl::string_view text, size_t max_bytes) {
  size_t encoded = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    encoded += c >= 0x20 && c < 0x7f && c != '%' ? 1 : 3;
    if (encoded > max_bytes) {
      return CutUtf8(text, i);
    }
  }
  return text;
}

// "MISSING_BLOB" of "MISSING_BLOB: 3 files ...", else the name of the status code.
std::string ReasonOf(const absl::Status& status) {
  const absl::string_view message = status.message();
  const absl::string_view start = message.substr(0, message.find(": "));
  const bool named = start.size() > 2 && start.size() < message.size() &&
                     std::all_of(start.begin(), start.end(), [](unsigned char c) {
                       return (c >= 'A' && c <= 'Z') || c == '_';
                     });
  return std::string(named ? start : absl::string_view(absl::StatusCodeToString(status.code())));
}

google::rpc::BadRequest BadRequestOf(const absl::Status& status) {
  google::rpc::BadRequest bad_request;
  if (const auto payload = status.GetPayload(kBadRequestPayload); payload.has_value()) {
    bad_request.ParseFromString(std::string(*payload));
    return bad_request;
  }
  std::vector<Violation> violations;
  AppendViolations(status, "request", violations);
  for (const Violation& violation : violations) {
    google::rpc::BadRequest::FieldViolation* item = bad_request.add_field_violations();
    item->set_field(violation.field);
    item->set_description(violation.description);
  }
  return bad_request;
}

// As many violations as fit, the first ones first; `info` says how many there are.
google::rpc::BadRequest Fit(const google::rpc::BadRequest& all, size_t max_bytes,
                            google::rpc::ErrorInfo& info) {
  google::rpc::BadRequest fitting;
  for (const google::rpc::BadRequest::FieldViolation& violation : all.field_violations()) {
    google::rpc::BadRequest::FieldViolation* item = fitting.add_field_violations();
    *item = violation;
    item->set_field(std::string(CutUtf8(item->field(), kMaxFieldBytes)));
    item->set_description(std::string(CutUtf8(item->description(), kMaxDescriptionBytes)));
    if (fitting.ByteSizeLong() > max_bytes) {
      fitting.mutable_field_violations()->RemoveLast();
      break;
    }
  }
  const int left_out = all.field_violations_size() - fitting.field_violations_size();
  (*info.mutable_metadata())["violations"] = absl::StrCat(all.field_violations_size());
  if (left_out > 0) {
    (*info.mutable_metadata())["violations_left_out"] = absl::StrCat(left_out);
  }
  return fitting;
}

// What a refusal that passes by itself carries; every Unavailable is one.
void AddRefusal(const absl::Status& status, google::rpc::Status& details) {
  google::rpc::QuotaFailure quota;
  if (const auto payload = status.GetPayload(kQuotaFailurePayload);
      payload.has_value() && quota.ParseFromString(std::string(*payload))) {
    details.add_details()->PackFrom(quota);
  }
  google::rpc::RetryInfo retry;
  if (const auto payload = status.GetPayload(kRetryInfoPayload);
      payload.has_value() && retry.ParseFromString(std::string(*payload))) {
    details.add_details()->PackFrom(retry);
  } else if (status.code() == absl::StatusCode::kUnavailable) {
    retry.mutable_retry_delay()->set_seconds(1);
    details.add_details()->PackFrom(retry);
  }
}

std::string Details(const absl::Status& status, const std::string& reason,
                    const std::string& message) {
  google::rpc::Status details;
  details.set_code(static_cast<int>(status.code()));
  details.set_message(std::string(CutUtf8(message, kMaxMessageInDetailsBytes)));
  google::rpc::ErrorInfo info;
  info.set_reason(reason);
  info.set_domain("compile.qb");
  if (status.code() == absl::StatusCode::kInvalidArgument) {
    constexpr size_t kRoomForTheRest = 512;  // of ErrorInfo, type URLs and lengths
    const google::rpc::BadRequest fitting = Fit(
        BadRequestOf(status), kMaxDetailsBytes - details.ByteSizeLong() - kRoomForTheRest, info);
    details.add_details()->PackFrom(info);
    details.add_details()->PackFrom(fitting);
  } else {
    details.add_details()->PackFrom(info);
  }
  AddRefusal(status, details);
  return details.SerializeAsString();
}

}  // namespace

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
  std::string reason = ReasonOf(status);
  if (has_failure) {
    reason = std::string(FailureRowOf(FailureCodeOf(status)).name);
    context->AddTrailingMetadata("qbc-failure", reason);
    message = absl::StrCat(reason, ": ");
  }
  absl::StrAppend(&message, status.message());
  const bool violations = status.code() == absl::StatusCode::kInvalidArgument;
  message = std::string(CutEncoded(
      message, violations ? kMaxEncodedMessageBesideViolations : kMaxEncodedMessageBytes));
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), message,
                      Details(status, reason, message));
}

}  // namespace qb::server
