// The simulator: runs the descriptors of a program against one arena with the program's addresses, in
// exact integer arithmetic. A mistake of the memory planner shows as a wrong result.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
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
  const LoadedProgram& program() const { return *program_; }

  // Errors: ResourceExhausted when the arena cannot be allocated.
  absl::StatusOr<Context> NewContext() const;

  // Inputs and outputs are row-major, of the sizes of inputs() and outputs().
  // Errors: InvalidArgument for another number of them.
  absl::Status Run(Context& context, absl::Span<const void* const> inputs,
                   absl::Span<void* const> outputs, const Observer& observer = {}) const;

 private:
  explicit Simulator(std::unique_ptr<LoadedProgram> program) : program_(std::move(program)) {}
  const void* Read(const Context& context, int tensor) const;

  std::unique_ptr<const LoadedProgram> program_;
  std::vector<integer::TensorInfo> inputs_, outputs_;
  std::vector<integer::LayerKernel> kernels_;
  std::vector<const void*> constants_;  // by tensor; null for those of the arena
};

}  // namespace qb::npu
