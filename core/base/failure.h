// The one table of failures: what can end a job badly, whose fault it is, and what follows.
//
// The compiler's names are those of its JSONL protocol; the service adds its own below them. The
// numbers are those of qbc.v1.FailureReason and never change.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace qb {

// Frozen: values are on the wire and in databases.
enum class FailureCode : int {
  kNone = 0,
  // Found by the compiler.
  kArgumentError = 1,
  kConfigError = 2,
  kModelParseError = 3,
  kUnsupportedOperator = 4,
  kCalibrationDataError = 5,
  kTargetError = 6,
  kOutputWriteError = 7,
  kDeviceUnavailable = 8,
  kOutOfMemory = 9,
  kCancelled = 10,
  kTimeout = 11,
  kInternalError = 12,
  // Found by the service.
  kCompilerCrash = 20,
  kWorkerLost = 21,
  kMemoryLimit = 22,
  kDiskLimit = 23,
  kCpuLimit = 24,
  kOutputLimit = 25,
  kSandboxViolation = 26,
  kInputLost = 27,
  kQueueExpired = 28,
  kPoison = 29,
};

enum class Fault { kNobody, kUser, kOperator, kUs };

struct FailureRow {
  FailureCode code;
  absl::string_view name;       // "MODEL_PARSE_ERROR"
  bool retryable;               // may a new attempt of the same input succeed?
  Fault fault;
  int qbcompiler_exit;          // exit code of the compile process
  int qbc_exit;                 // exit code of the client that waited for the job
  absl::string_view hint;       // one line: what the reader can do
};

absl::Span<const FailureRow> AllFailures();
const FailureRow& FailureRowOf(FailureCode code);
// kNone when the name is unknown.
FailureCode FailureCodeFromName(absl::string_view name);

// A Status that carries a FailureCode as payload. `message` says where, what, got, accepted.
absl::Status Failure(FailureCode code, absl::string_view message);
// Attaches `code` to a Status that has none yet; OK stays OK.
absl::Status WithFailureCode(absl::Status status, FailureCode code);
// The attached code, or one derived from the status code (Cancelled -> kCancelled,
// Unimplemented -> kUnsupportedOperator, ResourceExhausted -> kOutOfMemory, else kInternalError).
// OK -> kNone.
FailureCode FailureCodeOf(const absl::Status& status);

}  // namespace qb
