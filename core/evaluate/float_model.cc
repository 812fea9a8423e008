#include "core/evaluate/float_model.h"

#include "core/base/status_macros.h"

namespace qb {

absl::StatusOr<std::unique_ptr<FloatModel>> FloatModel::Create(Graph graph, int threads) {
  std::unique_ptr<FloatModel> model(new FloatModel(std::move(graph)));
  QB_ASSIGN_OR_RETURN(model->executor_, CreateCpuExecutor(model->graph_));
  for (int i = 0; i < threads; ++i) {
    model->contexts_.push_back(model->executor_->NewContext());
  }
  return model;
}

absl::StatusOr<std::vector<Tensor>> FloatModel::Run(absl::Span<const Tensor> inputs,
                                                    int worker) const {
  std::vector<Tensor> outputs;
  QB_RETURN_IF_ERROR(
      executor_->Run(*contexts_[static_cast<size_t>(worker)], inputs, RunOptions{}, &outputs));
  return outputs;
}

}  // namespace qb
