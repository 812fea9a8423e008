#include "client/cli/interrupt_signals.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "client/cli/exit_code.h"

namespace qb::client {
namespace {

// Tells the thread that it is not needed any more.
constexpr int kStopSignal = SIGUSR2;
constexpr int kPatience = 3;

sigset_t Signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, kStopSignal);
  return signals;
}

void WaitForSignals(Interruption* interruption) {
  const sigset_t signals = Signals();
  while (true) {
    int signal = 0;
    if (sigwait(&signals, &signal) != 0 || signal == kStopSignal) {
      return;
    }
    interruption->Raise();
    if (interruption->count() >= kPatience) {
      ::_exit(kExitInterrupted);
    }
  }
}

}  // namespace

InterruptSignals::InterruptSignals(Interruption* interruption) {
  const sigset_t signals = Signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  thread_ = std::thread(WaitForSignals, interruption);
}

InterruptSignals::~InterruptSignals() {
  pthread_kill(thread_.native_handle(), kStopSignal);
  thread_.join();
}

void InterruptSignals::Unblock() {
  const sigset_t signals = Signals();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

}  // namespace qb::client
