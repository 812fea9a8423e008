#include "core/npu/simulator.h"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace qb::npu {
namespace {

size_t At(int index) { return static_cast<size_t>(index); }

absl::Status CheckCount(const char* what, size_t found, size_t wanted) {
  if (found != wanted) {
    return absl::InvalidArgumentError(
        absl::StrCat("simulator: there are ", found, " ", what, "; the program has ", wanted));
  }
  return absl::OkStatus();
}

}  // namespace

void Simulator::Context::Free::operator()(uint8_t* memory) const { std::free(memory); }

absl::StatusOr<std::unique_ptr<Simulator>> Simulator::Create(absl::string_view program,
                                                             absl::string_view weights,
                                                             integer::KernelLevel level) {
  QB_ASSIGN_OR_RETURN(std::unique_ptr<LoadedProgram> loaded, LoadProgram(program, weights));
  std::unique_ptr<Simulator> simulator(new Simulator(std::move(loaded)));
  const integer::Network& network = simulator->program_->network;
  for (const integer::Layer& layer : network.layers) {
    QB_ASSIGN_OR_RETURN(integer::LayerKernel kernel,
                        integer::LayerKernel::Create(layer, network, level));
    simulator->kernels_.push_back(std::move(kernel));
  }
  simulator->constants_.assign(network.tensors.size(), nullptr);
  for (const integer::ConstantTensor& constant : network.constants) {
    simulator->constants_[At(constant.tensor)] = constant.bytes.data();
  }
  for (const int input : network.inputs) {
    simulator->inputs_.push_back(network.tensors[At(input)]);
  }
  for (const int output : network.outputs) {
    simulator->outputs_.push_back(network.tensors[At(output)]);
  }
  return simulator;
}

absl::StatusOr<Simulator::Context> Simulator::NewContext() const {
  // At least one line, so that an empty arena is memory too.
  const size_t bytes = static_cast<size_t>((program_->arena_bytes + 127) / 64 * 64);
  Context context;
  context.arena_.reset(static_cast<uint8_t*>(std::aligned_alloc(64, bytes)));
  if (context.arena_ == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("simulator: no memory for an arena of ", bytes, " bytes"));
  }
  return context;
}

const void* Simulator::Read(const Context& context, int tensor) const {
  const int64_t address = program_->addresses[At(tensor)];
  return address < 0 ? constants_[At(tensor)] : context.arena_.get() + address;
}

absl::Status Simulator::Run(Context& context, absl::Span<const void* const> inputs,
                            absl::Span<void* const> outputs, const Observer& observer) const {
  const integer::Network& network = program_->network;
  QB_RETURN_IF_ERROR(CheckCount("inputs", inputs.size(), network.inputs.size()));
  QB_RETURN_IF_ERROR(CheckCount("outputs", outputs.size(), network.outputs.size()));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int tensor = network.inputs[i];
    std::memcpy(context.arena_.get() + program_->addresses[At(tensor)], inputs[i],
                static_cast<size_t>(network.tensors[At(tensor)].size_bytes()));
  }
  std::vector<const void*> operands;
  for (size_t i = 0; i < kernels_.size(); ++i) {
    const integer::Layer& layer = network.layers[i];
    operands.clear();
    for (const int input : layer.inputs) {
      operands.push_back(Read(context, input));
    }
    uint8_t* output = context.arena_.get() + program_->addresses[At(layer.output)];
    kernels_[i].Run(operands, output, context.scratch_);
    if (observer) {
      observer(static_cast<int64_t>(i), network.tensors[At(layer.output)], output);
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const int tensor = network.outputs[i];
    std::memcpy(outputs[i], Read(context, tensor),
                static_cast<size_t>(network.tensors[At(tensor)].size_bytes()));
  }
  return absl::OkStatus();
}

}  // namespace qb::npu
