#include "core/evaluate/simulated_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/evaluate/codes.h"
#include "core/evaluate/input_bytes.h"
#include "core/npu/simulator.h"

namespace qb {
namespace {

// Codes, and bytes that no letterbox changes, are shown as the real numbers that they stand for.
InputSpec SpecOf(const integer::TensorInfo& info, bool letterbox) {
  const bool stands_for_real = HoldsCodes(info) || (info.dtype == DType::kUint8 && !letterbox);
  return {info.name, {stands_for_real ? DType::kFloat32 : info.dtype, info.shape}};
}

}  // namespace

struct SimulatedModel::State {
  std::unique_ptr<npu::Simulator> simulator;
  // One a worker; Run takes its own.
  mutable std::vector<npu::Simulator::Context> contexts;
  std::vector<InputSpec> inputs;
  std::vector<InputSpec> outputs;
  std::vector<Uint8Input> bytes;  // by input; looked at where the program takes uint8
};

SimulatedModel::SimulatedModel(std::unique_ptr<State> state) : state_(std::move(state)) {}
SimulatedModel::~SimulatedModel() = default;

absl::StatusOr<std::unique_ptr<SimulatedModel>> SimulatedModel::CreateFromProgram(
    absl::string_view program, absl::string_view weights, int threads,
    absl::Span<const Uint8Input> bytes) {
  auto state = std::make_unique<State>();
  absl::StatusOr<std::unique_ptr<npu::Simulator>> simulator =
      npu::Simulator::Create(program, weights);
  if (!simulator.ok()) {
    return WithFailureCode(simulator.status(), FailureCode::kModelParseError);
  }
  state->simulator = *std::move(simulator);
  for (int i = 0; i < threads; ++i) {
    QB_ASSIGN_OR_RETURN(npu::Simulator::Context context, state->simulator->NewContext());
    state->contexts.push_back(std::move(context));
  }
  for (const integer::TensorInfo& info : state->simulator->inputs()) {
    QB_ASSIGN_OR_RETURN(Uint8Input meaning, BytesOfInput(info, bytes));
    state->inputs.push_back(SpecOf(info, meaning.letterbox.has_value()));
    state->bytes.push_back(std::move(meaning));
  }
  for (const integer::TensorInfo& info : state->simulator->outputs()) {
    state->outputs.push_back(SpecOf(info, false));
  }
  return std::unique_ptr<SimulatedModel>(new SimulatedModel(std::move(state)));
}

absl::StatusOr<std::unique_ptr<SimulatedModel>> SimulatedModel::Create(const MxqFile& file,
                                                                       const std::string& core_mode,
                                                                       int threads) {
  std::vector<std::string> modes;
  for (const auto& [mode, program] : file.programs()) {
    modes.push_back(mode);
  }
  const auto found = core_mode.empty() && modes.size() == 1 ? file.programs().begin()
                                                            : file.programs().find(core_mode);
  if (found == file.programs().end()) {
    return Failure(
        FailureCode::kArgumentError,
        absl::StrCat(core_mode.empty()
                         ? "the executable has several core modes: choose one with "
                           "--core-mode"
                         : absl::StrCat("the executable has no core mode '", core_mode, "'"),
                     "; it has ", absl::StrJoin(modes, ", ")));
  }
  return CreateFromProgram(found->second, file.weights(), threads,
                           BytesOfInputs(file.manifest()["inputs"]));
}

namespace {

// What the simulator reads for one input: the tensor, or its codes.
absl::StatusOr<Tensor> ToProgram(const Tensor& input, const InputSpec& spec,
                                 const integer::TensorInfo& info, const Uint8Input& bytes) {
  if (input.type() != spec.type) {
    return absl::InvalidArgumentError(absl::StrCat("input '", info.name, "': got ",
                                                   input.type().ToString(), ", the program takes ",
                                                   spec.type.ToString()));
  }
  if (info.dtype == DType::kUint8 && !bytes.letterbox.has_value()) {
    return BytesOf(input, bytes);
  }
  if (!HoldsCodes(info)) {
    return input;
  }
  return QuantizeTensor(input, info);
}

Tensor FromProgram(const Tensor& output, const integer::TensorInfo& info) {
  return HoldsCodes(info) ? DequantizeTensor(output, info) : output;
}

}  // namespace

int64_t SimulatedModel::batch() const { return state_->simulator->samples(); }

absl::StatusOr<std::vector<Tensor>> SimulatedModel::Run(absl::Span<const Tensor> inputs,
                                                        int worker) const {
  const std::vector<Tensor> sample(inputs.begin(), inputs.end());
  QB_ASSIGN_OR_RETURN(std::vector<std::vector<Tensor>> outputs, RunBatch({sample}, worker));
  return std::move(outputs[0]);
}

absl::StatusOr<std::vector<std::vector<Tensor>>> SimulatedModel::RunBatch(
    absl::Span<const std::vector<Tensor>> samples, int worker) const {
  const npu::Simulator& simulator = *state_->simulator;
  const size_t batch = static_cast<size_t>(simulator.samples());
  if (samples.empty() || samples.size() > batch) {
    return absl::InvalidArgumentError(
        absl::StrCat("got ", samples.size(), " samples, the program takes 1 to ", batch));
  }
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  for (size_t n = 0; n < batch; ++n) {
    const std::vector<Tensor>& sample = samples[std::min(n, samples.size() - 1)];
    if (sample.size() != state_->inputs.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "got ", sample.size(), " inputs, the program takes ", state_->inputs.size()));
    }
    for (size_t i = 0; i < sample.size(); ++i) {
      QB_ASSIGN_OR_RETURN(Tensor input, ToProgram(sample[i], state_->inputs[i],
                                                  simulator.inputs()[i], state_->bytes[i]));
      inputs.push_back(std::move(input));
    }
    for (const integer::TensorInfo& info : simulator.outputs()) {
      outputs.push_back(Tensor::Allocate({info.dtype, info.shape}));
    }
  }
  std::vector<const void*> input_data;
  std::vector<void*> output_data;
  input_data.reserve(inputs.size());
  output_data.reserve(outputs.size());
  for (const Tensor& input : inputs) {
    input_data.push_back(input.raw());
  }
  for (Tensor& output : outputs) {
    output_data.push_back(output.mutable_raw());
  }
  npu::Simulator::Context& context = state_->contexts[static_cast<size_t>(worker)];
  QB_RETURN_IF_ERROR(simulator.Run(context, input_data, output_data));
  std::vector<std::vector<Tensor>> results(samples.size());
  const size_t count = simulator.outputs().size();
  for (size_t n = 0; n < samples.size(); ++n) {
    for (size_t i = 0; i < count; ++i) {
      results[n].push_back(FromProgram(outputs[n * count + i], simulator.outputs()[i]));
    }
  }
  return results;
}

const std::vector<InputSpec>& SimulatedModel::inputs() const { return state_->inputs; }
const std::vector<InputSpec>& SimulatedModel::outputs() const { return state_->outputs; }
const integer::Network& SimulatedModel::network() const {
  return state_->simulator->program().network;
}

}  // namespace qb
