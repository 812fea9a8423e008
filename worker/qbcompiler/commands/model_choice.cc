#include "worker/qbcompiler/commands/model_choice.h"

#include <utility>

#include "core/base/status_macros.h"
#include "core/compiler/load_model.h"
#include "core/evaluate/float_model.h"
#include "core/evaluate/simulated_model.h"
#include "worker/qbcompiler/commands/compile_flags.h"

namespace qb::worker {

absl::StatusOr<OpenedModel> OpenFloatModel(const std::string& path, const ParsedFlags& flags,
                                           int threads) {
  OpenedModel opened;
  QB_ASSIGN_OR_RETURN(const auto shapes, InputShapes(flags));
  QB_ASSIGN_OR_RETURN(Graph graph, LoadFloatGraph(path, shapes));
  opened.inputs = InputSpecsOf(graph);
  for (const Node* output : graph.outputs()) {
    opened.outputs.push_back({output->name(), output->type()});
  }
  QB_ASSIGN_OR_RETURN(std::unique_ptr<FloatModel> model,
                      FloatModel::Create(std::move(graph), threads));
  opened.graph = &model->graph();
  opened.model = std::move(model);
  return opened;
}

absl::StatusOr<OpenedModel> OpenExecutable(const std::string& path, const std::string& core_mode,
                                           int threads) {
  OpenedModel opened;
  QB_ASSIGN_OR_RETURN(opened.mxq, MxqFile::Open(path));
  QB_ASSIGN_OR_RETURN(std::unique_ptr<SimulatedModel> model,
                      SimulatedModel::Create(*opened.mxq, core_mode, threads));
  opened.inputs = model->inputs();
  opened.outputs = model->outputs();
  opened.network = &model->network();
  opened.model = std::move(model);
  return opened;
}

}  // namespace qb::worker
