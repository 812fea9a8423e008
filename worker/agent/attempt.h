// One attempt of a job, from its lease to its completion.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "core/base/log_line.h"
#include "proto/qbc/v1/worker_service.pb.h"
#include "worker/agent/attempt_directory.h"
#include "worker/agent/child_runner.h"
#include "worker/agent/confinement.h"
#include "worker/agent/outbox.h"
#include "worker/agent/stop_signal.h"
#include "worker/agent/verdict.h"
#include "worker/agent/worker_stub.h"

namespace qb::worker {

struct AttemptSettings {
  std::string work_dir;           // see WorkDirectory
  std::string compiler_binary;    // absolute path
  int default_threads = 1;        // of a compile process whose job asks for no number
  std::vector<std::string> gpus;  // all that the compile process may see
  absl::Duration kill_grace = absl::Seconds(10);
  absl::Duration report_interval = absl::Milliseconds(100);
  int64_t max_output_bytes = int64_t{64} << 30;  // of one file
  Confinement confinement;
};

// Fetches the inputs, runs the compile process, stores the outputs and reports, all with the
// attempt's key. While the server is away the process goes on and the reports wait.
// Run is called once, by one thread; the rest is thread-safe.
class Attempt {
 public:
  // `stub` and `runner` must live longer.
  Attempt(v1::Assignment assignment, AttemptSettings settings, WorkerStub& stub,
          ChildRunner& runner);

  // Returns when the server knows the outcome, or when the attempt was abandoned. The attempt's
  // folder and every process of it are gone then.
  void Run();

  const v1::AttemptKey& key() const { return assignment_.key(); }
  const std::string& job_id() const { return assignment_.job_id(); }
  // What tells this attempt from others in a log.
  LogFields IdentityForLog() const;
  v1::AttemptPhase phase() const { return phase_.load(); }
  StopSignal& stop() { return stop_; }
  // How it ended in words, for the agent's log. After Run.
  const std::string& summary() const { return summary_; }

 private:
  Verdict Execute(Outbox& outbox);
  absl::Status FetchInputs();
  Verdict RunCompiler(Outbox& outbox);
  Verdict CollectOutputs(const ResultMessage& result);
  // Hashes and stores out/<name> and adds it to the completion.
  absl::Status StoreOutput(const std::string& name, const ResultMessage& result);
  absl::Status UploadArtifact(int index);
  void SetUsage(const ExitReport& exit);
  // The worker's own limits where the job asks for none.
  ConfinementLimits LimitsOfJob() const;
  RunLimits MakeRunLimits(const ConfinementLimits& limits, const ResourceGroup* group) const;
  void Complete();

  const v1::Assignment assignment_;
  const AttemptSettings settings_;
  WorkerStub& stub_;
  ChildRunner& runner_;
  std::atomic<v1::AttemptPhase> phase_{v1::ATTEMPT_PHASE_FETCHING};
  StopSignal stop_;
  std::optional<AttemptDirectory> directory_;
  v1::CompleteAttemptRequest completion_;
  std::string summary_;
};

}  // namespace qb::worker
