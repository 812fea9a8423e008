// A float model that takes what an executable with a folded letterbox takes.
#pragma once

#include <vector>

#include "core/dataset/folded_inputs.h"
#include "core/evaluate/evaluation.h"

namespace qb {

// Both outlive the object. Thread-safe for distinct workers.
class FinishedModel final : public ModelUnderTest {
 public:
  FinishedModel(const ModelUnderTest& model, const FoldedInputs& folded)
      : model_(model), folded_(folded) {}

  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> inputs,
                                          int worker) const override;

 private:
  const ModelUnderTest& model_;
  const FoldedInputs& folded_;
};

}  // namespace qb
