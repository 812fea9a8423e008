// qbc: the command-line client. Everything but the real world is in run.cc.
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "client/cli/environment.h"
#include "client/cli/interrupt_signals.h"
#include "client/cli/run.h"
#include "client/cpp/grpc_stub.h"

namespace {

int TerminalColumns() {
  winsize size = {};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string GetEnv(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value != nullptr ? value : "";
}

absl::Status Execute(const std::string& program, const std::vector<std::string>& arguments) {
  std::vector<char*> argv = {const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  qb::client::InterruptSignals::Unblock();
  ::execvp(program.c_str(), argv.data());
  return absl::NotFoundError(
      absl::StrCat("program '", program, "' cannot be run: ", std::strerror(errno)));
}

}  // namespace

int main(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);  // a closed pipe is a failed write, not the end of the process
  qb::client::Interruption interruption;
  const qb::client::InterruptSignals signals(&interruption);
  qb::client::CliEnvironment environment;
  environment.in = &std::cin;
  environment.out = &std::cout;
  environment.err = &std::cerr;
  environment.get_env = GetEnv;
  environment.err_is_terminal = ::isatty(STDERR_FILENO) == 1;
  environment.columns = TerminalColumns();
  environment.interruption = &interruption;
  environment.create_stub = [](const qb::client::ServerAccess& access) {
    return qb::client::CreateGrpcStub(access);
  };
  environment.execute = Execute;
  return qb::client::RunQbc(std::vector<std::string>(argv + 1, argv + argc), environment);
}
