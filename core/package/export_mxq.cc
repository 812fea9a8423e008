#include "core/package/export_mxq.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/npu/load_program.h"
#include "core/package/export_graph.h"
#include "core/package/export_network.h"
#include "core/package/graph_onnx.h"

namespace qb {
namespace {

struct LoadedStage {
  std::unique_ptr<npu::LoadedProgram> program;  // of an NPU stage
  Graph graph;                                  // of a CPU stage
  std::vector<TensorType> outputs;
};

TensorType RealType(const integer::TensorInfo& info) { return {DType::kFloat32, info.shape}; }

absl::StatusOr<LoadedStage> LoadStage(const MxqStage& stage) {
  LoadedStage loaded;
  if (stage.npu) {
    // Every mode has the same layers.
    QB_ASSIGN_OR_RETURN(loaded.program,
                        npu::LoadProgram(stage.programs.begin()->second, stage.weights));
    const integer::Network& network = loaded.program->network;
    for (const int tensor : network.outputs) {
      loaded.outputs.push_back(RealType(network.tensors[static_cast<size_t>(tensor)]));
    }
    return loaded;
  }
  QB_ASSIGN_OR_RETURN(loaded.graph,
                      GraphFromOnnx(stage.model, stage.weights, nullptr, stage.weights_name));
  for (const Node* output : loaded.graph.outputs()) {
    loaded.outputs.push_back(output->type());
  }
  return loaded;
}

int64_t OpsetFor(const std::vector<LoadedStage>& stages) {
  int64_t opset = 0;
  for (const LoadedStage& stage : stages) {
    opset =
        std::max(opset, stage.program != nullptr ? QdqOpset(stage.program->network) : kPlainOpset);
  }
  return opset;
}

// A value of the model that is being built.
struct ModelValue {
  std::string name;
  TensorType type;
};

class MxqExporter {
 public:
  explicit MxqExporter(const MxqSize& size) : size_(size) {}

  absl::StatusOr<std::string> Run() {
    for (const MxqStage& stage : size_.stages) {
      absl::StatusOr<LoadedStage> loaded = LoadStage(stage);
      if (!loaded.ok()) {
        return WithFailureCode(loaded.status(), FailureCode::kModelParseError);
      }
      stages_.push_back(*std::move(loaded));
    }
    OnnxBuilder builder("quantized", OpsetFor(stages_));
    QB_RETURN_IF_ERROR(size_.results.empty() ? ExportOne(builder) : ExportStages(builder));
    return builder.Finish();
  }

 private:
  // One program with the model's own border.
  absl::Status ExportOne(OnnxBuilder& builder) {
    const integer::Network& network = stages_.front().program->network;
    const auto info = [&](int tensor) -> const integer::TensorInfo& {
      return network.tensors[static_cast<size_t>(tensor)];
    };
    for (const int tensor : network.outputs) {
      builder.Reserve(info(tensor).name);
    }
    std::vector<std::string> inputs;
    for (const int tensor : network.inputs) {
      builder.Reserve(info(tensor).name);
      inputs.push_back(builder.AddInput(info(tensor).name, RealType(info(tensor))));
    }
    QB_ASSIGN_OR_RETURN(const std::vector<std::string> outputs,
                        ExportNetwork(network, inputs, builder));
    for (size_t i = 0; i < outputs.size(); ++i) {
      const integer::TensorInfo& output = info(network.outputs[i]);
      builder.AddOutput(output.name, outputs[i], RealType(output));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<ModelValue> ValueOf(const ValueRef& ref) const {
    const std::vector<ModelValue>& values = values_[static_cast<size_t>(ref.stage + 1)];
    if (ref.index >= static_cast<int64_t>(values.size())) {
      return Failure(FailureCode::kModelParseError,
                     absl::StrCat("stage ", ref.stage, " has no value ", ref.index));
    }
    return values[static_cast<size_t>(ref.index)];
  }

  absl::Status ExportStage(size_t index, OnnxBuilder& builder) {
    const LoadedStage& stage = stages_[index];
    std::vector<std::string> inputs;
    for (const ValueRef& ref : size_.stages[index].inputs) {
      QB_ASSIGN_OR_RETURN(const ModelValue value, ValueOf(ref));
      inputs.push_back(value.name);
    }
    const size_t wanted = stage.program != nullptr ? stage.program->network.inputs.size()
                                                   : stage.graph.inputs().size();
    if (inputs.size() != wanted) {
      return Failure(FailureCode::kModelParseError,
                     absl::StrCat("stage '", size_.stages[index].name, "' takes ", wanted,
                                  " values, the manifest names ", inputs.size()));
    }
    QB_ASSIGN_OR_RETURN(const std::vector<std::string> outputs,
                        stage.program != nullptr
                            ? ExportNetwork(stage.program->network, inputs, builder)
                            : ExportGraph(stage.graph, inputs, builder));
    std::vector<ModelValue> values;
    for (size_t i = 0; i < outputs.size(); ++i) {
      values.push_back({outputs[i], stage.outputs[i]});
    }
    values_.push_back(std::move(values));
    return absl::OkStatus();
  }

  // Whether an NPU stage reads the input.
  bool FeedsNpu(size_t input) const {
    return std::any_of(size_.stages.begin(), size_.stages.end(), [&](const MxqStage& stage) {
      return stage.npu &&
             std::any_of(stage.inputs.begin(), stage.inputs.end(), [&](const ValueRef& ref) {
               return ref.stage == -1 && ref.index == static_cast<int64_t>(input);
             });
    });
  }

  absl::Status ExportStages(OnnxBuilder& builder) {
    for (const std::string& output : size_.outputs) {
      builder.Reserve(output);
    }
    std::vector<ModelValue> inputs;
    for (const MxqBorder& input : size_.inputs) {
      builder.Reserve(input.name);
      // Bytes are real numbers here, as with one program.
      const TensorType type{input.type.dtype == DType::kUint8 && FeedsNpu(inputs.size())
                                ? DType::kFloat32
                                : input.type.dtype,
                            input.type.shape};
      inputs.push_back({builder.AddInput(input.name, type), type});
    }
    values_.push_back(std::move(inputs));
    for (size_t i = 0; i < stages_.size(); ++i) {
      QB_RETURN_IF_ERROR(ExportStage(i, builder));
    }
    for (size_t i = 0; i < size_.results.size(); ++i) {
      QB_ASSIGN_OR_RETURN(const ModelValue value, ValueOf(size_.results[i]));
      builder.AddOutput(size_.outputs[i], value.name, value.type);
    }
    return absl::OkStatus();
  }

  const MxqSize& size_;
  std::vector<LoadedStage> stages_;
  std::vector<std::vector<ModelValue>> values_;  // by stage, that of the inputs first
};

}  // namespace

absl::StatusOr<std::string> MxqToQdqOnnx(const MxqFile& file) {
  if (file.sizes().size() != 1) {
    return Failure(FailureCode::kArgumentError,
                   absl::StrCat("the executable has ", file.sizes().size(),
                                " sizes; one of a single size can be exported"));
  }
  return MxqExporter(file.sizes().front()).Run();
}

}  // namespace qb
