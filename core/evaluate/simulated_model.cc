#include "core/evaluate/simulated_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/npu/simulator.h"

namespace qb {
namespace {

// What the application does in front of a target with an integer border: the same rounding as the
// Quantize layer of a float border.
void QuantizeTensor(const Tensor& real, const integer::TensorInfo& info, int8_t* codes) {
  const absl::Span<const float> values = real.values<float>();
  for (size_t i = 0; i < values.size(); ++i) {
    const float code = std::nearbyint(values[i] / info.scale);
    const float shifted = code + static_cast<float>(info.zero_point);
    codes[i] = static_cast<int8_t>(std::clamp(shifted, -128.0f, 127.0f));
  }
}

void DequantizeTensor(const int8_t* codes, const integer::TensorInfo& info, Tensor& real) {
  float* values = real.mutable_data<float>();
  for (int64_t i = 0; i < real.elements(); ++i) {
    values[i] = info.scale * static_cast<float>(static_cast<int32_t>(codes[i]) - info.zero_point);
  }
}

InputSpec SpecOf(const integer::TensorInfo& info) {
  // Codes are shown as the real numbers that they stand for.
  const bool codes = info.dtype == DType::kInt8;
  return {info.name, {codes ? DType::kFloat32 : info.dtype, info.shape}};
}

}  // namespace

struct SimulatedModel::State {
  std::unique_ptr<npu::Simulator> simulator;
  // One a worker; Run takes its own.
  mutable std::vector<npu::Simulator::Context> contexts;
  std::vector<InputSpec> inputs;
  std::vector<InputSpec> outputs;
};

SimulatedModel::SimulatedModel(std::unique_ptr<State> state) : state_(std::move(state)) {}
SimulatedModel::~SimulatedModel() = default;

absl::StatusOr<std::unique_ptr<SimulatedModel>> SimulatedModel::CreateFromProgram(
    absl::string_view program, absl::string_view weights, int threads) {
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
    state->inputs.push_back(SpecOf(info));
  }
  for (const integer::TensorInfo& info : state->simulator->outputs()) {
    state->outputs.push_back(SpecOf(info));
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
    return Failure(FailureCode::kArgumentError,
                   absl::StrCat(core_mode.empty()
                                    ? "the executable has several core modes: choose one with "
                                      "--core-mode"
                                    : absl::StrCat("the executable has no core mode '", core_mode,
                                                   "'"),
                                "; it has ", absl::StrJoin(modes, ", ")));
  }
  return CreateFromProgram(found->second, file.weights(), threads);
}

absl::StatusOr<std::vector<Tensor>> SimulatedModel::Run(absl::Span<const Tensor> inputs,
                                                        int worker) const {
  const npu::Simulator& simulator = *state_->simulator;
  if (inputs.size() != state_->inputs.size()) {
    return absl::InvalidArgumentError(absl::StrCat("got ", inputs.size(), " inputs, the program takes ",
                                                   state_->inputs.size()));
  }
  std::vector<Tensor> codes;
  std::vector<const void*> input_data;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const integer::TensorInfo& info = simulator.inputs()[i];
    if (inputs[i].type() != state_->inputs[i].type) {
      return absl::InvalidArgumentError(
          absl::StrCat("input '", info.name, "': got ", inputs[i].type().ToString(),
                       ", the program takes ", state_->inputs[i].type.ToString()));
    }
    if (info.dtype == DType::kInt8) {
      codes.push_back(Tensor::Allocate({DType::kInt8, info.shape}));
      QuantizeTensor(inputs[i], info, codes.back().mutable_data<int8_t>());
      input_data.push_back(codes.back().raw());
    } else {
      input_data.push_back(inputs[i].raw());
    }
  }
  std::vector<Tensor> raw_outputs;
  std::vector<void*> output_data;
  for (const integer::TensorInfo& info : simulator.outputs()) {
    raw_outputs.push_back(Tensor::Allocate({info.dtype, info.shape}));
    output_data.push_back(raw_outputs.back().mutable_raw());
  }
  npu::Simulator::Context& context = state_->contexts[static_cast<size_t>(worker)];
  QB_RETURN_IF_ERROR(simulator.Run(context, input_data, output_data));
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < raw_outputs.size(); ++i) {
    const integer::TensorInfo& info = simulator.outputs()[i];
    if (info.dtype == DType::kInt8) {
      outputs.push_back(Tensor::Allocate({DType::kFloat32, info.shape}));
      DequantizeTensor(raw_outputs[i].data<int8_t>(), info, outputs.back());
    } else {
      outputs.push_back(raw_outputs[i]);
    }
  }
  return outputs;
}

const std::vector<InputSpec>& SimulatedModel::inputs() const { return state_->inputs; }
const std::vector<InputSpec>& SimulatedModel::outputs() const { return state_->outputs; }

}  // namespace qb
