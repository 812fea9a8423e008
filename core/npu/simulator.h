// The simulator: runs the descriptors of a program against one arena with the program's addresses, in
// exact integer arithmetic. A mistake of the memory planner shows as a wrong result.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/integer/kernel_level.h"
#include "core/integer/network.h"
#include "core/integer/run_layer.h"
#include "core/npu/load_program.h"

namespace qb::npu {

// Immutable and thread-safe; each thread runs with a Context of its own.
class Simulator {
 public:
  // The memory of one run at a time.
  class Context {
   public:
    Context(Context&&) = default;
    Context& operator=(Context&&) = default;

   private:
    friend class Simulator;
    struct Free {
      void operator()(uint8_t* memory) const;
    };
    Context() = default;
    std::unique_ptr<uint8_t, Free> arena_;
    integer::Scratch scratch_;
    // Pieces of operands and of a result that do not lie in one run of bytes.
    std::vector<std::vector<uint8_t>> gathered_;
    std::vector<uint8_t> piece_;
  };
  // Called after each layer, in order of execution, with its output before it can be overwritten.
  using Observer =
      std::function<void(int64_t layer, const integer::TensorInfo& tensor, const void* output)>;

  // Errors: as LoadProgram.
  static absl::StatusOr<std::unique_ptr<Simulator>> Create(
      absl::string_view program, absl::string_view weights,
      integer::KernelLevel level = integer::BestKernelLevel());

  // Types of the inputs and outputs, in the model's order.
  const std::vector<integer::TensorInfo>& inputs() const { return inputs_; }
  const std::vector<integer::TensorInfo>& outputs() const { return outputs_; }
  // How many samples one Run takes.
  int64_t samples() const { return program_->samples; }
  const LoadedProgram& program() const { return *program_; }

  // Errors: ResourceExhausted when the arena cannot be allocated.
  absl::StatusOr<Context> NewContext() const;

  // Inputs and outputs are row-major, of the sizes of inputs() and outputs(): those of the first
  // sample, then those of the next, samples() times. Parts of cut layers run in the order that cores
  // and events give; under an observer layer by layer (of the first sample only).
  // Errors: InvalidArgument for another number of them.
  absl::Status Run(Context& context, absl::Span<const void* const> inputs,
                   absl::Span<void* const> outputs, const Observer& observer = {}) const;

 private:
  // A part of a cut layer.
  struct Step {
    size_t layer = 0;
    PartRange range;
    CutAxis axis = CutAxis::kNone;
    std::unique_ptr<const PartLayer> part;        // where it runs as a layer of its own
    std::optional<integer::LayerKernel> kernel;
  };

  explicit Simulator(std::unique_ptr<LoadedProgram> program) : program_(std::move(program)) {}
  absl::Status MakeKernels(integer::KernelLevel level);
  absl::Status MakeSteps(integer::KernelLevel level);
  const void* Read(const uint8_t* arena, int tensor) const;
  void RunLayers(Context& context, uint8_t* arena, const Observer& observer) const;
  void RunStep(Context& context, uint8_t* arena, const Step& step) const;

  std::unique_ptr<const LoadedProgram> program_;
  std::vector<integer::TensorInfo> inputs_, outputs_;
  std::vector<std::optional<integer::LayerKernel>> kernels_;  // by layer; null where parts have theirs
  std::vector<std::vector<Step>> steps_;                      // by layer and part
  std::vector<const void*> constants_;  // by tensor; null for those of the arena
};

}  // namespace qb::npu
