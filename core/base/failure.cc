#include "core/base/failure.h"

#include <array>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/check.h"

namespace qb {
namespace {

constexpr char kPayloadUrl[] = "qb/failure_code";

constexpr auto kFailures = std::to_array<FailureRow>({
    {FailureCode::kNone, "NONE", false, Fault::kNobody, 0, 0, ""},
    {FailureCode::kArgumentError, "ARGUMENT_ERROR", false, Fault::kUser, 2, 10,
     "check the flags with --help"},
    {FailureCode::kConfigError, "CONFIG_ERROR", false, Fault::kUser, 2, 10,
     "correct the field that the message names"},
    {FailureCode::kModelParseError, "MODEL_PARSE_ERROR", false, Fault::kUser, 1, 3,
     "export the model again; the file is damaged or not a valid model"},
    {FailureCode::kUnsupportedOperator, "UNSUPPORTED_OPERATOR", false, Fault::kUser, 1, 3,
     "see the reasons by layer; another target or CPU offloading may help"},
    {FailureCode::kCalibrationDataError, "CALIBRATION_DATA_ERROR", false, Fault::kUser, 1, 3,
     "correct the samples that the message names"},
    {FailureCode::kTargetError, "TARGET_ERROR", false, Fault::kUser, 2, 10,
     "choose a target and a scheme from the list in the message"},
    {FailureCode::kOutputWriteError, "OUTPUT_WRITE_ERROR", false, Fault::kOperator, 1, 11,
     "check that the output folder exists, is writable and has room"},
    {FailureCode::kDeviceUnavailable, "DEVICE_UNAVAILABLE", true, Fault::kOperator, 1, 11,
     "no worker has the device that was asked for"},
    {FailureCode::kOutOfMemory, "OUT_OF_MEMORY", false, Fault::kUser, 1, 3,
     "use fewer threads or a machine with more memory"},
    {FailureCode::kCancelled, "CANCELLED", false, Fault::kNobody, 130, 4, ""},
    {FailureCode::kTimeout, "TIMEOUT", false, Fault::kUser, 1, 3, "raise the run timeout"},
    {FailureCode::kInternalError, "INTERNAL_ERROR", false, Fault::kUs, 1, 11,
     "this is a defect of the compiler; please report it with the log"},
    {FailureCode::kCompilerCrash, "COMPILER_CRASH", false, Fault::kUs, 1, 11,
     "the compiler process ended abnormally; please report it with the log"},
    {FailureCode::kWorkerLost, "WORKER_LOST", true, Fault::kOperator, 1, 11,
     "the worker disappeared; the job was tried again as often as allowed"},
    {FailureCode::kMemoryLimit, "MEMORY_LIMIT", false, Fault::kUser, 1, 3,
     "the compile needed more memory than the job may use"},
    {FailureCode::kDiskLimit, "DISK_LIMIT", false, Fault::kOperator, 1, 11,
     "the worker's scratch space is full"},
    {FailureCode::kCpuLimit, "CPU_LIMIT", false, Fault::kUser, 1, 3,
     "the compile used more CPU time than the job may use"},
    {FailureCode::kOutputLimit, "OUTPUT_LIMIT", false, Fault::kUser, 1, 3,
     "the result is larger than the server accepts"},
    {FailureCode::kSandboxViolation, "SANDBOX_VIOLATION", false, Fault::kUser, 1, 3,
     "the compile tried something that is not allowed"},
    {FailureCode::kInputLost, "INPUT_LOST", false, Fault::kOperator, 1, 11,
     "an input of the job is no longer stored; upload it again"},
    {FailureCode::kQueueExpired, "QUEUE_EXPIRED", false, Fault::kOperator, 1, 11,
     "the job waited longer than its queue time limit"},
    {FailureCode::kPoison, "POISON", false, Fault::kUs, 1, 11,
     "several workers died while they ran this job; it needs an explicit retry"},
});

}  // namespace

absl::Span<const FailureRow> AllFailures() { return kFailures; }

const FailureRow& FailureRowOf(FailureCode code) {
  for (const FailureRow& row : kFailures) {
    if (row.code == code) {
      return row;
    }
  }
  CheckFailed(__FILE__, __LINE__, "a FailureCode has no row", absl::StrCat(static_cast<int>(code)));
}

FailureCode FailureCodeFromName(absl::string_view name) {
  for (const FailureRow& row : kFailures) {
    if (row.name == name) {
      return row.code;
    }
  }
  return FailureCode::kNone;
}

absl::Status Failure(FailureCode code, absl::string_view message) {
  absl::StatusCode status_code = absl::StatusCode::kInvalidArgument;
  switch (code) {
    case FailureCode::kUnsupportedOperator:
      status_code = absl::StatusCode::kUnimplemented;
      break;
    case FailureCode::kCancelled:
      status_code = absl::StatusCode::kCancelled;
      break;
    case FailureCode::kOutOfMemory:
      status_code = absl::StatusCode::kResourceExhausted;
      break;
    case FailureCode::kTimeout:
      status_code = absl::StatusCode::kDeadlineExceeded;
      break;
    case FailureCode::kInternalError:
      status_code = absl::StatusCode::kInternal;
      break;
    default:
      break;
  }
  return WithFailureCode(absl::Status(status_code, message), code);
}

absl::Status WithFailureCode(absl::Status status, FailureCode code) {
  if (!status.ok() && !status.GetPayload(kPayloadUrl).has_value()) {
    // Through string_view: clang 19 and g++ 12 spell the symbol of Cord's std::string form differently.
    const std::string text = absl::StrCat(static_cast<int>(code));
    status.SetPayload(kPayloadUrl, absl::Cord(absl::string_view(text)));
  }
  return status;
}

FailureCode FailureCodeOf(const absl::Status& status) {
  if (status.ok()) {
    return FailureCode::kNone;
  }
  if (const auto payload = status.GetPayload(kPayloadUrl); payload.has_value()) {
    int value = 0;
    if (absl::SimpleAtoi(std::string(*payload), &value)) {
      return static_cast<FailureCode>(value);
    }
  }
  switch (status.code()) {
    case absl::StatusCode::kCancelled:
      return FailureCode::kCancelled;
    case absl::StatusCode::kUnimplemented:
      return FailureCode::kUnsupportedOperator;
    case absl::StatusCode::kResourceExhausted:
      return FailureCode::kOutOfMemory;
    case absl::StatusCode::kDeadlineExceeded:
      return FailureCode::kTimeout;
    default:
      return FailureCode::kInternalError;
  }
}

}  // namespace qb
