// The simulator as a model under test.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/evaluate/evaluation.h"
#include "core/integer/network.h"
#include "core/package/mxq.h"
#include "core/quantization/uint8_input.h"

namespace qb {

// Runs one core mode of an executable; `file` outlives the object. Thread-safe for distinct
// workers.
class SimulatedModel final : public ModelUnderTest {
 public:
  // An empty `core_mode` takes the only one there is. Errors: ARGUMENT_ERROR listing the modes when
  // the choice is open or the executable lacks the mode; MODEL_PARSE_ERROR for a damaged program.
  static absl::StatusOr<std::unique_ptr<SimulatedModel>> Create(const MxqFile& file,
                                                                const std::string& core_mode,
                                                                int threads);
  // The same from a program and weights that are not in a file yet; both outlive the object.
  // `bytes` says what the bytes of uint8 inputs stand for (Create reads it from the manifest).
  static absl::StatusOr<std::unique_ptr<SimulatedModel>> CreateFromProgram(
      absl::string_view program, absl::string_view weights, int threads,
      absl::Span<const Uint8Input> bytes = {});
  ~SimulatedModel() override;

  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> inputs,
                                          int worker) const override;
  // The samples that the program takes in one run (four in core mode multi); a shorter batch is
  // filled up with its last sample, whose further outputs are dropped.
  int64_t batch() const override;
  absl::StatusOr<std::vector<std::vector<Tensor>>> RunBatch(
      absl::Span<const std::vector<Tensor>> samples, int worker) const override;
  // Inputs and outputs as real numbers: codes and bytes are float32 here, converted on the way; but
  // bytes of an input with a folded letterbox stay bytes.
  const std::vector<InputSpec>& inputs() const;
  const std::vector<InputSpec>& outputs() const;
  // Its layers, each whole, whatever cores they are cut for.
  const integer::Network& network() const;

 private:
  struct State;
  explicit SimulatedModel(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace qb
