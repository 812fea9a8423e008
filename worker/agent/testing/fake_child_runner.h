// A ChildRunner that runs a function instead of a process.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/atomic_file.h"
#include "core/base/digest.h"
#include "worker/agent/child_runner.h"

namespace qb::worker::testing {

class FakeChildRunner final : public ChildRunner {
 public:
  using Behaviour =
      std::function<ExitReport(const ChildOptions&, ChildOutput& output, StopSignal& stop)>;

  explicit FakeChildRunner(Behaviour behaviour) : behaviour_(std::move(behaviour)) {}

  absl::StatusOr<ExitReport> Run(const ChildOptions& options, const RunLimits&, ChildOutput& output,
                                 StopSignal& stop) override {
    return behaviour_(options, output, stop);
  }

 private:
  const Behaviour behaviour_;
};

// Writes out/model.mxq with `bytes`, reports it in message `seq` and exits with 0.
inline ExitReport SucceedWith(const std::string& bytes, const ChildOptions& options,
                              ChildOutput& output, int seq = 1) {
  WriteFileAtomically(options.working_dir + "/out/model.mxq", bytes).IgnoreError();
  output.OnStdout(absl::StrCat(R"({"type":"result","seq":)", seq,
                               R"(,"device":"cpu","outputs":[{"path":"out/model.mxq","sha256":")",
                               Sha256Hex(bytes), R"(","bytes":)", bytes.size(), "}]}\n"));
  return ExitReport();
}

}  // namespace qb::worker::testing
