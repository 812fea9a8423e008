// The float executor as a model under test.
#pragma once

#include <memory>
#include <vector>

#include "core/evaluate/evaluation.h"
#include "core/execute/executor.h"
#include "core/ir/graph.h"

namespace qb {

// Owns its graph. Thread-safe for distinct workers.
class FloatModel final : public ModelUnderTest {
 public:
  // Errors: those of CreateCpuExecutor.
  static absl::StatusOr<std::unique_ptr<FloatModel>> Create(Graph graph, int threads);

  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> inputs,
                                          int worker) const override;
  const Graph& graph() const { return graph_; }

 private:
  explicit FloatModel(Graph graph) : graph_(std::move(graph)) {}

  Graph graph_;
  std::unique_ptr<FloatExecutor> executor_;
  std::vector<std::unique_ptr<FloatExecutor::Context>> contexts_;  // one a worker
};

}  // namespace qb
