#include "worker/qbcompiler/commands/model_choice.h"

#include <utility>

#include "core/base/status_macros.h"
#include "core/compiler/input_preparation.h"
#include "core/compiler/load_model.h"
#include "core/evaluate/float_model.h"
#include "core/evaluate/staged_model.h"
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

namespace {

// The shapes of the size that the samples fit; none where there is one size or none fits.
std::vector<Shape> ShapesFor(const MxqFile& file, const std::string& data) {
  if (file.sizes().size() == 1) {
    return {};
  }
  NullProgressSink quiet;
  for (const MxqSize& size : file.sizes()) {
    std::vector<InputSpec> specs;
    std::vector<Shape> shapes;
    for (const MxqBorder& input : size.inputs) {
      specs.push_back({input.name, input.type});
      shapes.push_back(input.type.shape);
    }
    if (OpenDataset(data, specs, quiet).ok()) {
      return shapes;
    }
  }
  return {};
}

}  // namespace

absl::StatusOr<OpenedModel> OpenExecutable(const std::string& path, const std::string& core_mode,
                                           int threads, const std::string& data) {
  OpenedModel opened;
  QB_ASSIGN_OR_RETURN(opened.mxq, MxqFile::Open(path));
  QB_ASSIGN_OR_RETURN(Executable executable, qb::OpenExecutable(*opened.mxq, core_mode, threads,
                                                                ShapesFor(*opened.mxq, data)));
  opened.inputs = std::move(executable.inputs);
  opened.outputs = std::move(executable.outputs);
  opened.network = executable.network;
  opened.model = std::move(executable.model);
  return opened;
}

absl::StatusOr<FoldedInputs> ExecutableFolds(const MxqFile& mxq,
                                             absl::Span<const InputSpec> inputs) {
  QB_ASSIGN_OR_RETURN(const DatasetOptions options, DatasetOptionsOf(mxq.config_yaml(), inputs));
  return FoldedInputsOf(inputs, options);
}

namespace {

// The inputs as the settings speak of them: float32 where a folded letterbox makes them bytes.
std::vector<InputSpec> AsModelInputs(const MxqFile* mxq, absl::Span<const InputSpec> inputs) {
  std::vector<InputSpec> specs(inputs.begin(), inputs.end());
  for (InputSpec& spec : specs) {
    for (const Json& border :
         mxq == nullptr ? std::vector<Json>() : mxq->manifest()["inputs"].items()) {
      if (border["name"].as_string() == spec.name && border.contains("letterbox")) {
        spec.type.dtype = DType::kFloat32;
      }
    }
  }
  return specs;
}

}  // namespace

absl::StatusOr<DatasetOptions> DataOptions(CommandContext& context, const MxqFile* mxq,
                                           absl::Span<const InputSpec> taken, int threads) {
  const ParsedFlags& flags = context.flags;
  const std::vector<InputSpec> inputs = AsModelInputs(mxq, taken);
  DatasetOptions options;
  if (flags.GetSwitch("preprocessing").value_or(true)) {
    if (flags.Has("compile-config") || flags.Has("config-preset")) {
      QB_ASSIGN_OR_RETURN(const CompileConfig config, ResolveConfig(flags, context.reporter));
      QB_ASSIGN_OR_RETURN(options, DatasetOptionsOf(config, inputs));
    } else if (mxq != nullptr) {
      QB_ASSIGN_OR_RETURN(options, DatasetOptionsOf(mxq->config_yaml(), inputs));
    }
  }
  if (mxq != nullptr) {
    options = BeforeFolding(std::move(options));
  }
  options.threads = threads;
  options.cancel = &context.cancel;
  return options;
}

}  // namespace qb::worker
