#include "core/npu/simulator.h"

#include <algorithm>
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

// The runs one after the other.
void Gather(const uint8_t* from, const ByteRuns& runs, std::vector<uint8_t>& to) {
  to.resize(static_cast<size_t>(runs.bytes()));
  for (int64_t i = 0; i < runs.count; ++i) {
    std::memcpy(to.data() + i * runs.run, from + runs.offset + i * runs.pitch,
                static_cast<size_t>(runs.run));
  }
}

void Scatter(const std::vector<uint8_t>& from, const ByteRuns& runs, uint8_t* to) {
  for (int64_t i = 0; i < runs.count; ++i) {
    std::memcpy(to + runs.offset + i * runs.pitch, from.data() + i * runs.run,
                static_cast<size_t>(runs.run));
  }
}

}  // namespace

void Simulator::Context::Free::operator()(uint8_t* memory) const { std::free(memory); }

absl::StatusOr<std::unique_ptr<Simulator>> Simulator::Create(absl::string_view program,
                                                             absl::string_view weights,
                                                             integer::KernelLevel level) {
  QB_ASSIGN_OR_RETURN(std::unique_ptr<LoadedProgram> loaded, LoadProgram(program, weights));
  std::unique_ptr<Simulator> simulator(new Simulator(std::move(loaded)));
  const integer::Network& network = simulator->program_->network;
  QB_RETURN_IF_ERROR(simulator->MakeKernels(level));
  QB_RETURN_IF_ERROR(simulator->MakeSteps(level));
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

absl::Status Simulator::MakeKernels(integer::KernelLevel level) {
  const integer::Network& network = program_->network;
  kernels_.resize(network.layers.size());
  for (size_t i = 0; i < network.layers.size(); ++i) {
    const integer::Layer& layer = network.layers[i];
    const bool needed = program_->schedule.empty() ||
                        program_->schedule[i].axis == CutAxis::kNone ||
                        RunsAsRows(layer, program_->schedule[i].axis);
    if (needed) {
      QB_ASSIGN_OR_RETURN(kernels_[i], integer::LayerKernel::Create(layer, network, level));
    }
  }
  return absl::OkStatus();
}

absl::Status Simulator::MakeSteps(integer::KernelLevel level) {
  const integer::Network& network = program_->network;
  for (size_t i = 0; i < program_->schedule.size(); ++i) {
    const ScheduledLayer& scheduled = program_->schedule[i];
    std::vector<Step> steps;
    for (const ScheduledPart& part : scheduled.parts) {
      Step step{i, part.range, scheduled.axis, nullptr, std::nullopt};
      if (!kernels_[i].has_value()) {
        step.part = std::make_unique<const PartLayer>(
            MakePart(network.layers[i], network, scheduled.axis, part.range, /*with_weights=*/true));
        QB_ASSIGN_OR_RETURN(step.kernel, integer::LayerKernel::Create(step.part->layer,
                                                                      step.part->network, level));
      }
      steps.push_back(std::move(step));
    }
    steps_.push_back(std::move(steps));
  }
  return absl::OkStatus();
}

const void* Simulator::Read(const uint8_t* arena, int tensor) const {
  const int64_t address = program_->addresses[At(tensor)];
  return address < 0 ? constants_[At(tensor)] : arena + address;
}

void Simulator::RunStep(Context& context, uint8_t* arena, const Step& step) const {
  const integer::Layer& layer = program_->network.layers[step.layer];
  uint8_t* output = arena + program_->addresses[At(layer.output)];
  std::vector<const void*> operands;
  if (step.part == nullptr) {
    for (const int input : layer.inputs) {
      operands.push_back(Read(arena, input));
    }
    const integer::LayerKernel& kernel = *kernels_[step.layer];
    if (step.axis == CutAxis::kNone) {
      kernel.Run(operands, output, context.scratch_);
    } else {
      kernel.RunRows(operands, output, step.range.begin, step.range.begin + step.range.extent,
                     context.scratch_);
    }
    return;
  }
  const PartLayer& part = *step.part;
  context.gathered_.resize(std::max(context.gathered_.size(), layer.inputs.size()));
  for (size_t i = 0; i < layer.inputs.size(); ++i) {
    const uint8_t* from = static_cast<const uint8_t*>(Read(arena, layer.inputs[i]));
    if (part.reads[i].contiguous()) {
      operands.push_back(from + part.reads[i].offset);
    } else {
      Gather(from, part.reads[i], context.gathered_[i]);
      operands.push_back(context.gathered_[i].data());
    }
  }
  if (part.write.contiguous()) {
    step.kernel->Run(operands, output + part.write.offset, context.scratch_);
  } else {
    context.piece_.resize(static_cast<size_t>(part.write.bytes()));
    step.kernel->Run(operands, context.piece_.data(), context.scratch_);
    Scatter(context.piece_, part.write, output);
  }
}

void Simulator::RunLayers(Context& context, uint8_t* arena, const Observer& observer) const {
  const integer::Network& network = program_->network;
  if (!steps_.empty() && !observer) {
    for (const PartNumber& number : program_->order) {
      RunStep(context, arena, steps_[number.layer][number.part]);
    }
    return;
  }
  for (size_t i = 0; i < network.layers.size(); ++i) {
    if (steps_.empty()) {
      RunStep(context, arena, Step{i, {}, CutAxis::kNone, nullptr, std::nullopt});
    } else {
      for (const Step& step : steps_[i]) {
        RunStep(context, arena, step);
      }
    }
    if (observer) {
      const int output = network.layers[i].output;
      observer(static_cast<int64_t>(i), network.tensors[At(output)], Read(arena, output));
    }
  }
}

absl::Status Simulator::Run(Context& context, absl::Span<const void* const> inputs,
                            absl::Span<void* const> outputs, const Observer& observer) const {
  const integer::Network& network = program_->network;
  const size_t samples = static_cast<size_t>(program_->samples);
  QB_RETURN_IF_ERROR(CheckCount("inputs", inputs.size(), samples * network.inputs.size()));
  QB_RETURN_IF_ERROR(CheckCount("outputs", outputs.size(), samples * network.outputs.size()));
  for (size_t sample = 0; sample < samples; ++sample) {
    uint8_t* arena = context.arena_.get() +
                     static_cast<int64_t>(sample) * (program_->arena_bytes / program_->samples);
    for (size_t i = 0; i < network.inputs.size(); ++i) {
      const int tensor = network.inputs[i];
      std::memcpy(arena + program_->addresses[At(tensor)],
                  inputs[sample * network.inputs.size() + i],
                  static_cast<size_t>(network.tensors[At(tensor)].size_bytes()));
    }
    RunLayers(context, arena, sample == 0 ? observer : Observer());
    for (size_t i = 0; i < network.outputs.size(); ++i) {
      const int tensor = network.outputs[i];
      std::memcpy(outputs[sample * network.outputs.size() + i], Read(arena, tensor),
                  static_cast<size_t>(network.tensors[At(tensor)].size_bytes()));
    }
  }
  return absl::OkStatus();
}

}  // namespace qb::npu
