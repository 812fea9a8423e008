#include "core/compiler/accuracy_check.h"

#include <memory>
#include <utility>

#include "core/base/status_macros.h"
#include "core/compiler/load_model.h"
#include "core/evaluate/evaluation.h"
#include "core/evaluate/finished_model.h"
#include "core/evaluate/float_model.h"
#include "core/evaluate/staged_model.h"

namespace qb {

absl::StatusOr<Json> CheckAccuracy(const Graph& graph, const AccuracyCheckInput& input,
                                   Phases& phases) {
  QB_ASSIGN_OR_RETURN(const std::unique_ptr<FloatModel> reference,
                      FloatModel::Create(graph.Clone(), input.threads));
  QB_ASSIGN_OR_RETURN(const std::unique_ptr<StagedModel> candidate,
                      StagedModel::Create(*input.executable, input.core_mode, input.threads));
  const FinishedModel finished(*reference, *input.folded);
  EvaluationOptions options;
  options.threads = input.threads;
  options.max_samples = input.max_samples;
  options.labels = input.labels;
  options.output_names = OutputNamesOf(graph);
  QB_ASSIGN_OR_RETURN(const Evaluation evaluation, Evaluate({finished, *candidate}, *input.dataset,
                                                            options, phases, phases.cancel()));
  Json json = Json::Object();
  json.Set("data", input.description);
  const Json figures = evaluation.ToJson();
  for (const auto& [key, value] : figures.members()) {
    json.Set(key, value);
  }
  return json;
}

}  // namespace qb
