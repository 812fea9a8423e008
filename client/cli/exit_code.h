// The exit codes of qbc. Frozen: scripts depend on them; docs/cli.md lists them.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace qb::client {

enum ExitCode : int {
  kExitOk = 0,
  kExitOther = 1,
  kExitUsage = 2,          // flags
  kExitCompileFailed = 3,  // the job failed, through its input
  kExitCancelled = 4,
  kExitWaitTimeout = 5,  // --timeout passed; the job goes on
  kExitAuth = 6,
  kExitNotFound = 7,
  kExitLimit = 8,
  kExitUnavailable = 9,
  kExitInvalidInput = 10,  // a file, or a setting that the server refused
  kExitInfrastructure = 11,
  kExitInterrupted = 130,
};

// Gives `status` an exit code of its own instead of the one that follows from its code.
absl::Status WithExitCode(absl::Status status, ExitCode code);

// A wrong use of the command line: exit code 2.
absl::Status UsageError(absl::string_view message);

// The attached code, or the one that follows from a call's status. OK gives kExitOk.
int ExitCodeOf(const absl::Status& status);

// What stands in the brackets of "ERROR [..]": the compiler's or the server's name for the failure.
// A server that finds a failure of the compiler's table itself puts its name before the message
// ("TARGET_ERROR: ..."); `message` gets the text without it.
std::string ErrorName(const absl::Status& status, std::string* message);

}  // namespace qb::client
