// qbcompiler: compiles a model on this machine. What the worker agent runs, one process a job.
#include <malloc.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"

#include "core/base/cancel_token.h"
#include "worker/qbcompiler/command.h"

namespace {

// The handler can reach nothing but a global; it is set once before the handlers are installed.
qb::CancelToken* g_cancel = nullptr;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

void OnSignal(int) { g_cancel->Cancel(); }

bool WantsJsonl() {
  const char* value = std::getenv("QBCOMPILER_JSONL");
  const std::string text = absl::AsciiStrToLower(value == nullptr ? "" : value);
  return text == "1" || text == "true" || text == "yes" || text == "on";
}

// Large tensors go back to the system when they are freed. Left to itself, glibc moves that limit up
// to the largest block that was freed, and the heaps of the threads grow with every sample. Blocks
// of a picture's size stay: mapping one anew costs more in page faults than decoding into it. One
// arena, as several keep what the other threads could use.
void TuneAllocator() {
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  mallopt(M_TRIM_THRESHOLD, 4 << 20);
  mallopt(M_ARENA_MAX, 1);
}

}  // namespace

int main(int argc, char** argv) {
  TuneAllocator();
  qb::CancelToken cancel;
  g_cancel = &cancel;
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  return qb::worker::RunCommandLine(arguments, WantsJsonl(), cancel);
}
