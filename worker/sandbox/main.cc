// qbc-sandbox: starts a compile process with as little as it needs. Links nothing but the C library
// and libseccomp, so that it starts in a millisecond and is soon read.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "worker/sandbox/policy.h"
#include "worker/sandbox/probe.h"
#include "worker/sandbox/process_tree.h"

namespace {

constexpr char kUsage[] =
    "Usage: qbc-sandbox probe                     which layers work here, one line each\n"
    "       qbc-sandbox run [flags] -- PROGRAM... used by qbc-worker; see "
    "worker/sandbox/README.md\n";
// Where a failed start is told; the worker gives it.
constexpr int kReportFd = 3;

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 1 && arguments[0] == "probe") {
    return qb::sandbox::PrintProbes(stdout) ? 0 : 1;
  }
  if (arguments.size() == 1 && (arguments[0] == "--help" || arguments[0] == "-h")) {
    fputs(kUsage, stdout);
    return 0;
  }
  if (arguments.size() == 1 && arguments[0] == "--version") {
    puts("qbc-sandbox " QBC_VERSION);
    return 0;
  }
  if (arguments.empty() || arguments[0] != "run") {
    fputs(kUsage, stderr);
    return 2;
  }
  qb::sandbox::Policy policy;
  std::vector<std::string> program;
  const std::string wrong =
      qb::sandbox::FromArguments({arguments.begin() + 1, arguments.end()}, policy, program);
  if (!wrong.empty()) {
    fprintf(stderr, "qbc-sandbox: %s\n%s", wrong.c_str(), kUsage);
    return 2;
  }
  qb::sandbox::RunInSandbox(policy, program, kReportFd);
}
