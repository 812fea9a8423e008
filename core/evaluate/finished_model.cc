#include "core/evaluate/finished_model.h"

#include "core/base/status_macros.h"

namespace qb {

absl::StatusOr<std::vector<Tensor>> FinishedModel::Run(absl::Span<const Tensor> inputs,
                                                       int worker) const {
  QB_ASSIGN_OR_RETURN(const std::vector<Tensor> finished,
                      folded_.Finish(std::vector<Tensor>(inputs.begin(), inputs.end())));
  return model_.Run(finished, worker);
}

}  // namespace qb
