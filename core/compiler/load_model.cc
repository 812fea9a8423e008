#include "core/compiler/load_model.h"

#include <utility>

#include "absl/strings/match.h"

#include "core/base/status_macros.h"
#include "core/frontends/all_frontends.h"
#include "core/package/mblt.h"
#include "core/passes/pipeline.h"

namespace qb {

absl::StatusOr<Graph> LoadFloatGraph(const std::string& path,
                                     const std::map<std::string, Shape>& input_shapes) {
  if (absl::EndsWith(path, ".mblt")) {
    QB_ASSIGN_OR_RETURN(MbltFile file, ReadMblt(path));
    return std::move(file.graph);
  }
  ImportOptions options;
  options.input_shapes = input_shapes;
  QB_ASSIGN_OR_RETURN(ImportedModel model, ImportModel("onnx", path, options));
  QB_RETURN_IF_ERROR(RunPasses(model.graph, PassOptions{}));
  return std::move(model.graph);
}

std::vector<InputSpec> InputSpecsOf(const Graph& graph) {
  std::vector<InputSpec> specs;
  for (const Node* input : graph.inputs()) {
    specs.push_back({input->name(), input->type()});
  }
  return specs;
}

std::vector<std::string> OutputNamesOf(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node* output : graph.outputs()) {
    names.push_back(output->name());
  }
  return names;
}

}  // namespace qb
