// What a command sees of the world outside: streams, environment variables, the terminal, the
// server.
#pragma once

#include <functional>
#include <istream>
#include <memory>
#include <ostream>
#include <string>

#include "absl/status/statusor.h"

#include "client/cpp/interruption.h"
#include "client/cpp/retry.h"
#include "client/cpp/stub.h"

namespace qb::client {

// Tests fill it with strings and a fake server; main.cc with the real things.
struct CliEnvironment {
  std::istream* in = nullptr;                              // for secrets
  std::ostream* out = nullptr;                             // answers only
  std::ostream* err = nullptr;                             // everything else
  std::function<std::string(const std::string&)> get_env;  // "" when it is not set
  bool err_is_terminal = false;
  int columns = 80;
  // Raised by Ctrl-C.
  Interruption* interruption = nullptr;
  // How long a second Ctrl-C counts as "cancel the job too".
  absl::Duration second_interrupt_window = absl::Seconds(3);
  RetryPolicy retry;
  std::function<absl::StatusOr<std::unique_ptr<Stub>>(const ServerAccess& access)> create_stub;
  // Replaces this process (for --local); returns only when that fails.
  std::function<absl::Status(const std::string& program, const std::vector<std::string>& arguments)>
      execute;
};

}  // namespace qb::client
