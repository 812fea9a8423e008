#include "core/evaluate/staged_model.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/evaluate/float_model.h"
#include "core/evaluate/input_bytes.h"
#include "core/evaluate/simulated_model.h"
#include "core/package/graph_onnx.h"

namespace qb {
namespace {

using Values = std::vector<std::vector<Tensor>>;  // by stage (that of the inputs first) and index

// One stage, with what it takes and gives.
struct Stage {
  std::string name;
  std::unique_ptr<ModelUnderTest> model;
  std::vector<InputSpec> inputs, outputs;
  std::vector<ValueRef> sources;
  const integer::Network* network = nullptr;  // of an NPU stage
};

absl::Status Damaged(absl::string_view what) {
  return Failure(FailureCode::kModelParseError, what);
}

absl::Status OpenNpu(const MxqStage& part, const std::string& core_mode, int threads,
                     absl::Span<const Uint8Input> bytes, Stage& stage) {
  std::vector<std::string> modes;
  for (const auto& [mode, program] : part.programs) {
    modes.push_back(mode);
  }
  const auto found = core_mode.empty() && modes.size() == 1 ? part.programs.begin()
                                                            : part.programs.find(core_mode);
  if (found == part.programs.end()) {
    return Failure(
        FailureCode::kArgumentError,
        absl::StrCat(core_mode.empty()
                         ? "the executable has several core modes: choose one with "
                           "--core-mode"
                         : absl::StrCat("the executable has no core mode '", core_mode, "'"),
                     "; it has ", absl::StrJoin(modes, ", ")));
  }
  QB_ASSIGN_OR_RETURN(
      std::unique_ptr<SimulatedModel> model,
      SimulatedModel::CreateFromProgram(found->second, part.weights, threads, bytes));
  stage.inputs = model->inputs();
  stage.outputs = model->outputs();
  stage.network = &model->network();
  stage.model = std::move(model);
  return absl::OkStatus();
}

absl::Status OpenCpu(const MxqStage& part, int threads, Stage& stage) {
  absl::StatusOr<Graph> graph = GraphFromOnnx(part.model, part.weights, nullptr, part.weights_name);
  if (!graph.ok()) {
    return WithFailureCode(graph.status(), FailureCode::kModelParseError);
  }
  for (const Node* input : graph->inputs()) {
    stage.inputs.push_back({input->name(), input->type()});
  }
  for (const Node* output : graph->outputs()) {
    stage.outputs.push_back({output->name(), output->type()});
  }
  QB_ASSIGN_OR_RETURN(stage.model, FloatModel::Create(*std::move(graph), threads));
  return absl::OkStatus();
}

}  // namespace

struct StagedModel::State {
  std::vector<Stage> stages;
  std::vector<ValueRef> results;
  std::vector<InputSpec> inputs, outputs;
  int64_t batch = 1;

  // What a reference stands for; null when there is no such value.
  const InputSpec* SpecOf(const ValueRef& ref) const {
    const std::vector<InputSpec>& specs =
        ref.stage == -1 ? inputs : stages[static_cast<size_t>(ref.stage)].outputs;
    return ref.index < static_cast<int64_t>(specs.size()) ? &specs[static_cast<size_t>(ref.index)]
                                                          : nullptr;
  }

  absl::Status Add(const MxqStage& part, const std::string& core_mode, int threads,
                   absl::Span<const Uint8Input> bytes) {
    Stage stage;
    stage.name = part.name;
    stage.sources = part.inputs;
    QB_RETURN_IF_ERROR(part.npu ? OpenNpu(part, core_mode, threads, bytes, stage)
                                : OpenCpu(part, threads, stage));
    batch = std::max(batch, stage.model->batch());
    stages.push_back(std::move(stage));
    return absl::OkStatus();
  }

  absl::Status CheckSources(const Stage& stage) const {
    if (stage.sources.size() != stage.inputs.size()) {
      return Damaged(absl::StrCat("stage '", stage.name, "' takes ", stage.inputs.size(),
                                  " values, the manifest names ", stage.sources.size()));
    }
    for (size_t i = 0; i < stage.sources.size(); ++i) {
      const InputSpec* source = SpecOf(stage.sources[i]);
      if (source == nullptr || source->type != stage.inputs[i].type) {
        return Damaged(absl::StrCat(
            "stage '", stage.name, "' takes '", stage.inputs[i].name, "' of ",
            stage.inputs[i].type.ToString(), ", the manifest names ",
            source == nullptr ? "a value that does not exist" : source->type.ToString()));
      }
    }
    return absl::OkStatus();
  }

  // One stage for all samples of a batch.
  absl::Status RunStage(size_t index, std::vector<Values>& samples, int worker) const {
    const Stage& stage = stages[index];
    std::vector<std::vector<Tensor>> taken;
    for (const Values& values : samples) {
      std::vector<Tensor> inputs;
      for (const ValueRef& ref : stage.sources) {
        inputs.push_back(
            values[static_cast<size_t>(ref.stage + 1)][static_cast<size_t>(ref.index)]);
      }
      taken.push_back(std::move(inputs));
    }
    // A stage that takes fewer samples at once runs several times.
    const size_t at_once = static_cast<size_t>(stage.model->batch());
    for (size_t first = 0; first < taken.size(); first += at_once) {
      const size_t count = std::min(at_once, taken.size() - first);
      QB_ASSIGN_OR_RETURN(
          std::vector<std::vector<Tensor>> given,
          stage.model->RunBatch(absl::MakeConstSpan(taken).subspan(first, count), worker));
      for (size_t n = 0; n < count; ++n) {
        samples[first + n].push_back(std::move(given[n]));
      }
    }
    return absl::OkStatus();
  }
};

StagedModel::StagedModel(std::unique_ptr<State> state) : state_(std::move(state)) {}
StagedModel::~StagedModel() = default;

absl::StatusOr<std::unique_ptr<StagedModel>> StagedModel::Create(const MxqSize& size,
                                                                 const std::string& core_mode,
                                                                 int threads) {
  auto state = std::make_unique<State>();
  const std::vector<Uint8Input> bytes = BytesOfInputs(size.input_list);
  for (const MxqBorder& input : size.inputs) {
    const bool real = std::any_of(bytes.begin(), bytes.end(), [&](const Uint8Input& entry) {
      return entry.input == input.name && !entry.letterbox.has_value();
    });
    // Bytes are shown as the real numbers that they stand for.
    state->inputs.push_back(
        {input.name, real ? TensorType{DType::kFloat32, input.type.shape} : input.type});
  }
  for (const MxqStage& part : size.stages) {
    QB_RETURN_IF_ERROR(state->Add(part, core_mode, threads, bytes));
  }
  if (size.results.empty()) {
    // One program with the model's own border.
    Stage& only = state->stages.front();
    state->inputs = only.inputs;
    state->outputs = only.outputs;
    for (size_t i = 0; i < only.inputs.size(); ++i) {
      only.sources.push_back({-1, static_cast<int64_t>(i)});
    }
    for (size_t i = 0; i < only.outputs.size(); ++i) {
      state->results.push_back({0, static_cast<int64_t>(i)});
    }
    return std::unique_ptr<StagedModel>(new StagedModel(std::move(state)));
  }
  for (const Stage& stage : state->stages) {
    QB_RETURN_IF_ERROR(state->CheckSources(stage));
  }
  for (size_t i = 0; i < size.results.size(); ++i) {
    const InputSpec* source = state->SpecOf(size.results[i]);
    if (source == nullptr) {
      return Damaged(absl::StrCat("output '", size.outputs[i], "' is a value that does not exist"));
    }
    state->outputs.push_back({size.outputs[i], source->type});
  }
  state->results = size.results;
  return std::unique_ptr<StagedModel>(new StagedModel(std::move(state)));
}

const integer::Network* StagedModel::network() const {
  return state_->stages.size() == 1 ? state_->stages.front().network : nullptr;
}
int64_t StagedModel::batch() const { return state_->batch; }
const std::vector<InputSpec>& StagedModel::inputs() const { return state_->inputs; }
const std::vector<InputSpec>& StagedModel::outputs() const { return state_->outputs; }

absl::StatusOr<std::vector<Tensor>> StagedModel::Run(absl::Span<const Tensor> inputs,
                                                     int worker) const {
  const std::vector<Tensor> sample(inputs.begin(), inputs.end());
  QB_ASSIGN_OR_RETURN(std::vector<std::vector<Tensor>> outputs, RunBatch({sample}, worker));
  return std::move(outputs[0]);
}

absl::StatusOr<std::vector<std::vector<Tensor>>> StagedModel::RunBatch(
    absl::Span<const std::vector<Tensor>> samples, int worker) const {
  std::vector<Values> values;
  for (const std::vector<Tensor>& sample : samples) {
    if (sample.size() != state_->inputs.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("got ", sample.size(), " inputs, the model takes ", state_->inputs.size()));
    }
    for (size_t i = 0; i < sample.size(); ++i) {
      if (sample[i].type() != state_->inputs[i].type) {
        return absl::InvalidArgumentError(
            absl::StrCat("input '", state_->inputs[i].name, "': got ", sample[i].type().ToString(),
                         ", the model takes ", state_->inputs[i].type.ToString()));
      }
    }
    values.push_back({sample});
  }
  for (size_t stage = 0; stage < state_->stages.size(); ++stage) {
    QB_RETURN_IF_ERROR(state_->RunStage(stage, values, worker));
  }
  std::vector<std::vector<Tensor>> results(samples.size());
  for (size_t n = 0; n < samples.size(); ++n) {
    for (const ValueRef& ref : state_->results) {
      results[n].push_back(
          values[n][static_cast<size_t>(ref.stage + 1)][static_cast<size_t>(ref.index)]);
    }
  }
  return results;
}

namespace {

std::string SizeText(const std::vector<MxqBorder>& inputs) {
  std::vector<std::string> texts;
  texts.reserve(inputs.size());
  for (const MxqBorder& input : inputs) {
    texts.push_back(absl::StrCat(input.name, " ", input.type.shape.ToString()));
  }
  return absl::StrJoin(texts, ", ");
}

bool HasShapes(const std::vector<MxqBorder>& inputs, const std::vector<Shape>& shapes) {
  return std::equal(
      inputs.begin(), inputs.end(), shapes.begin(), shapes.end(),
      [](const MxqBorder& input, const Shape& shape) { return input.type.shape == shape; });
}

}  // namespace

absl::StatusOr<Executable> OpenExecutable(const MxqFile& file, const std::string& core_mode,
                                          int threads, const std::vector<Shape>& shapes) {
  std::vector<std::string> found;
  for (const MxqSize& size : file.sizes()) {
    if (file.sizes().size() == 1 || HasShapes(size.inputs, shapes)) {
      QB_ASSIGN_OR_RETURN(std::unique_ptr<StagedModel> model,
                          StagedModel::Create(size, core_mode, threads));
      Executable executable;
      executable.inputs = model->inputs();
      executable.outputs = model->outputs();
      executable.network = model->network();
      executable.model = std::move(model);
      return executable;
    }
    found.push_back(SizeText(size.inputs));
  }
  return Failure(FailureCode::kArgumentError,
                 absl::StrCat("the executable has several sizes, and the data fits none of them: ",
                              absl::StrJoin(found, "; ")));
}

}  // namespace qb
