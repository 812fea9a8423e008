// Imports a model, runs it once in the float executor and writes its outputs: the half of the
// comparison with ONNX Runtime that is ours (float_models_test.py drives it).
//
//   qb_float_run MODEL LAYOUT FOLDER [name:1x3x224x224 ...]
//
// LAYOUT is source or channel_last. FOLDER holds input_<i>.bin (row-major elements of graph input
// i) and gets output_<i>.bin; one line of JSON on standard output names the outputs and their
// types.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "core/base/json.h"
#include "core/base/status_macros.h"
#include "core/execute/executor.h"
#include "core/frontends/onnx/onnx_import.h"
#include "core/passes/pipeline.h"

namespace qb {
namespace {

absl::StatusOr<std::map<std::string, Shape>> ParseShapes(absl::Span<char* const> arguments) {
  std::map<std::string, Shape> shapes;
  for (const char* argument : arguments) {
    const std::string flag = argument;
    const size_t colon = flag.rfind(':');  // a name may have colons of its own
    if (colon == std::string::npos) {
      return absl::InvalidArgumentError(absl::StrCat("'", flag, "' is not name:1x2x3"));
    }
    std::vector<int64_t> dims;
    for (absl::string_view text : absl::StrSplit(flag.substr(colon + 1), 'x')) {
      int64_t dim = 0;
      if (!absl::SimpleAtoi(text, &dim)) {
        return absl::InvalidArgumentError(absl::StrCat("'", flag, "' is not name:1x2x3"));
      }
      dims.push_back(dim);
    }
    shapes[flag.substr(0, colon)] = Shape(std::move(dims));
  }
  return shapes;
}

absl::StatusOr<Tensor> ReadInput(const std::string& path, const TensorType& type) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  const std::string content = bytes.str();
  if (static_cast<int64_t>(content.size()) != type.size_bytes()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": got ", content.size(), " bytes, ",
                                                   type.ToString(), " has ", type.size_bytes()));
  }
  Tensor tensor = Tensor::Allocate(type);
  std::copy(content.begin(), content.end(), static_cast<char*>(tensor.mutable_raw()));
  return tensor;
}

Json Describe(const Node& node, const Tensor& tensor) {
  Json shape = Json::Array();
  for (int64_t dim : tensor.shape()) {
    shape.Append(dim);
  }
  Json output = Json::Object();
  output.Set("name", node.name());
  output.Set("dtype", std::string(DTypeName(tensor.dtype())));
  output.Set("shape", std::move(shape));
  return output;
}

absl::Status RunModel(const std::string& model, absl::string_view layout, const std::string& folder,
                      absl::Span<char* const> shapes) {
  ImportOptions options;
  QB_ASSIGN_OR_RETURN(options.input_shapes, ParseShapes(shapes));
  QB_ASSIGN_OR_RETURN(ImportedModel imported, ImportOnnx(model, options));
  if (layout == "channel_last") {
    QB_RETURN_IF_ERROR(RunPasses(imported.graph, {.layout = GraphLayout::kChannelLast}));
  }
  const Graph& graph = imported.graph;
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    QB_ASSIGN_OR_RETURN(Tensor input, ReadInput(absl::StrCat(folder, "/input_", i, ".bin"),
                                                graph.inputs()[i]->type()));
    inputs.push_back(std::move(input));
  }
  QB_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, RunOnce(graph, inputs));
  Json described = Json::Array();
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::ofstream file(absl::StrCat(folder, "/output_", i, ".bin"), std::ios::binary);
    file.write(static_cast<const char*>(outputs[i].raw()),
               static_cast<std::streamsize>(outputs[i].size_bytes()));
    described.Append(Describe(*graph.outputs()[i], outputs[i]));
  }
  std::cout << described.Dump() << "\n";
  return absl::OkStatus();
}

}  // namespace
}  // namespace qb

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "usage: qb_float_run MODEL source|channel_last FOLDER [name:1x3x224x224 ...]\n";
    return 2;
  }
  const absl::Status status = qb::RunModel(
      argv[1], argv[2], argv[3], absl::MakeConstSpan(argv + 4, static_cast<size_t>(argc - 4)));
  if (!status.ok()) {
    std::cerr << status.ToString() << "\n";
    return 1;
  }
  return 0;
}
