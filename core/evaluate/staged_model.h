// An executable as it runs: NPU programs on the simulator and CPU graphs in turn, chosen by the
// shapes of the sample where it was compiled for several sizes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/dataset/sample_layout.h"
#include "core/evaluate/evaluation.h"
#include "core/integer/network.h"
#include "core/package/mxq.h"

namespace qb {

// Thread-safe for distinct workers.
class StagedModel final : public ModelUnderTest {
 public:
  // One size of an executable; what `size` points into outlives the object. `core_mode`: as
  // SimulatedModel::Create. Errors: ARGUMENT_ERROR for the mode, MODEL_PARSE_ERROR for a damaged
  // part or parts that do not fit together.
  static absl::StatusOr<std::unique_ptr<StagedModel>> Create(const MxqSize& size,
                                                             const std::string& core_mode,
                                                             int threads);
  ~StagedModel() override;

  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> inputs,
                                          int worker) const override;
  int64_t batch() const override;
  absl::StatusOr<std::vector<std::vector<Tensor>>> RunBatch(
      absl::Span<const std::vector<Tensor>> samples, int worker) const override;

  // Where one NPU program is all there is: its layers; else null.
  const integer::Network* network() const;
  const std::vector<InputSpec>& inputs() const;
  const std::vector<InputSpec>& outputs() const;

 private:
  struct State;
  explicit StagedModel(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// An executable ready to run, with the names and types of its border.
struct Executable {
  std::unique_ptr<ModelUnderTest> model;
  std::vector<InputSpec> inputs;
  std::vector<InputSpec> outputs;
  const integer::Network* network = nullptr;  // as StagedModel::network(); lives as long as `model`
};

// The size of `file` whose inputs are `shapes` (in the model's order); where there is one size
// only, that one. `file` outlives the result. Errors: as StagedModel::Create; ARGUMENT_ERROR
// listing the sizes when none fits.
absl::StatusOr<Executable> OpenExecutable(const MxqFile& file, const std::string& core_mode,
                                          int threads, const std::vector<Shape>& shapes = {});

}  // namespace qb
