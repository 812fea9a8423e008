#include "client/cli/exit_code.h"

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "core/base/failure.h"

namespace qb::client {
namespace {

constexpr char kExitPayload[] = "qbc/exit_code";

}  // namespace

absl::Status WithExitCode(absl::Status status, ExitCode code) {
  if (!status.ok() && !status.GetPayload(kExitPayload).has_value()) {
    status.SetPayload(kExitPayload, absl::Cord(absl::StrCat(static_cast<int>(code))));
  }
  return status;
}

absl::Status UsageError(absl::string_view message) {
  return Failure(FailureCode::kArgumentError, message);
}

int ExitCodeOf(const absl::Status& status) {
  int code = kExitOther;
  if (const auto payload = status.GetPayload(kExitPayload);
      payload.has_value() && absl::SimpleAtoi(std::string(*payload), &code)) {
    return code;
  }
  // Only our own code attaches it, for flags; what a server refuses has no payload.
  if (FailureCodeOf(status) == FailureCode::kArgumentError) {
    return kExitUsage;
  }
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitOk;
    case absl::StatusCode::kCancelled:
      return kExitInterrupted;
    case absl::StatusCode::kInvalidArgument:
      return kExitInvalidInput;
    case absl::StatusCode::kNotFound:
      return kExitNotFound;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return kExitAuth;
    case absl::StatusCode::kResourceExhausted:
      return kExitLimit;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kDeadlineExceeded:
      return kExitUnavailable;
    case absl::StatusCode::kDataLoss:
      return kExitInfrastructure;
    default:
      return kExitOther;
  }
}

std::string ErrorName(const absl::Status& status, std::string* message) {
  *message = std::string(status.message());
  const size_t colon = message->find(": ");
  if (colon != std::string::npos) {
    std::string name = message->substr(0, colon);
    if (FailureCodeFromName(name) != FailureCode::kNone) {
      *message = message->substr(colon + 2);
      return name;
    }
  }
  switch (ExitCodeOf(status)) {
    case kExitUsage:
      return std::string(FailureRowOf(FailureCode::kArgumentError).name);
    case kExitInterrupted:
      return "INTERRUPTED";  // not CANCELLED: the job goes on
    case kExitWaitTimeout:
      return "WAIT_TIMEOUT";
    default:
      break;
  }
  return absl::StatusCodeToString(status.code());
}

}  // namespace qb::client
