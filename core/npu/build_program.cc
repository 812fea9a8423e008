#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/check.h"
#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/integer/validate.h"
#include "core/npu/border.h"
#include "core/npu/liveness.h"
#include "core/npu/lookup_unit.h"
#include "core/npu/program.h"
#include "core/npu/program_codec.h"
#include "core/npu/schedule.h"

namespace qb::npu {
namespace {

using integer::Layer;
using integer::Network;

void Encode(const Cost& cost, v1::Estimate* message) {
  message->set_cycles(static_cast<uint64_t>(cost.cycles));
  message->set_compute_cycles(static_cast<uint64_t>(cost.compute_cycles));
  message->set_dma_cycles(static_cast<uint64_t>(cost.dma_cycles));
  message->set_dma_bytes(static_cast<uint64_t>(cost.dma_bytes));
  message->set_macs(static_cast<uint64_t>(cost.macs));
  message->set_halo_bytes(static_cast<uint64_t>(cost.halo_bytes));
  message->set_gather_bytes(static_cast<uint64_t>(cost.gather_bytes));
}

void Encode(const Tiling& tiling, v1::Tile* message) {
  message->set_height(tiling.height);
  message->set_width(tiling.width);
  message->set_channels(tiling.channels);
  message->set_count(tiling.count);
  message->set_sram_bytes(tiling.sram_bytes);
}

void Encode(const ScheduledPart& part, v1::Part* message) {
  message->set_core(static_cast<uint32_t>(part.core));
  message->set_begin(part.range.begin);
  message->set_extent(part.range.extent);
  message->mutable_wait_events()->Add(part.waits.begin(), part.waits.end());
  message->set_signal_event(part.signal);
  Encode(part.tiling, message->mutable_tile());
  Encode(part.tiling.cost, message->mutable_estimate());
}

int64_t CoresOfASample(CoreMode mode) {
  return mode == CoreMode::kGlobal4 ? 4 : (mode == CoreMode::kGlobal8 ? 8 : 1);
}

// Builds the message step by step; each step needs those before it.
class Builder {
 public:
  Builder(const Network& network, const TargetSpec& target) : network_(network), target_(target) {}

  absl::StatusOr<NpuProgram> Run(CoreMode mode) {
    message_.set_format_major(kFormatMajor);
    message_.set_format_minor(kFormatMinor);
    message_.set_name(network_.name);
    message_.set_target(target_.name);
    message_.set_core_mode(std::string(CoreModeName(mode)));
    result_.samples = mode == CoreMode::kMulti ? target_.cores_per_cluster : 1;
    message_.set_samples(static_cast<uint32_t>(result_.samples));
    QB_RETURN_IF_ERROR(PlanArena());
    AddTensors();
    const int64_t cores = CoresOfASample(mode);
    QB_RETURN_IF_ERROR(cores == 1 ? AddLayers() : AddCutLayers(cores));
    Encode(result_.estimate, message_.mutable_estimate());
    result_.weights = weights_.Finish();
    message_.set_weights_bytes(result_.weights.size());
    QB_RETURN_IF_ERROR(CheckDram());
    Serialize();
    return std::move(result_);
  }

 private:
  absl::Status PlanArena() {
    liveness_ = ComputeLiveness(network_);
    const MemoryPlan plan = PlanMemory(liveness_.buffers);
    addresses_.assign(network_.tensors.size(), -1);
    for (size_t i = 0; i < addresses_.size(); ++i) {
      const int buffer = liveness_.buffer_of[i];
      addresses_[i] = buffer < 0 ? -1 : plan.offsets[static_cast<size_t>(buffer)];
    }
    // Our own plan: an overlap is a bug, but one that must not reach a file.
    QB_RETURN_IF_ERROR(WithFailureCode(CheckAddresses(network_, addresses_, plan.peak_bytes),
                                       FailureCode::kInternalError));
    // Each sample has an arena of its own.
    result_.memory = {result_.samples * plan.peak_bytes, result_.samples * plan.lower_bound_bytes};
    v1::Memory* memory = message_.mutable_memory();
    memory->set_peak_bytes(static_cast<uint64_t>(result_.memory.peak_bytes));
    memory->set_lower_bound_bytes(static_cast<uint64_t>(result_.memory.lower_bound_bytes));
    message_.set_arena_bytes(memory->peak_bytes());
    return absl::OkStatus();
  }

  // Tensors that nothing touches any more get no row; the others are numbered anew.
  void AddTensors() {
    numbers_.assign(network_.tensors.size(), -1);
    std::vector<const integer::ConstantTensor*> constant(network_.tensors.size(), nullptr);
    for (const integer::ConstantTensor& value : network_.constants) {
      constant[static_cast<size_t>(value.tensor)] = &value;
    }
    for (size_t i = 0; i < network_.tensors.size(); ++i) {
      if (addresses_[i] < 0 && constant[i] == nullptr) {
        continue;
      }
      numbers_[i] = message_.tensors_size();
      v1::Tensor* tensor = message_.add_tensors();
      EncodeTensor(network_.tensors[i], tensor);
      if (constant[i] != nullptr) {
        tensor->set_space(v1::SPACE_WEIGHTS);
        tensor->set_address(weights_.Append(constant[i]->bytes.data(), constant[i]->bytes.size()));
      } else {
        tensor->set_space(v1::SPACE_ARENA);
        tensor->set_address(static_cast<uint64_t>(addresses_[i]));
      }
    }
    for (const int input : network_.inputs) {
      message_.add_inputs(Number(input));
      result_.inputs.push_back(network_.tensors[static_cast<size_t>(input)]);
    }
    for (const int output : network_.outputs) {
      message_.add_outputs(Number(output));
      result_.outputs.push_back(network_.tensors[static_cast<size_t>(output)]);
    }
  }

  uint32_t Number(int tensor) const {
    const int number = numbers_[static_cast<size_t>(tensor)];
    QB_CHECK(number >= 0);
    return static_cast<uint32_t>(number);
  }

  // On one core the order of the list is the order of execution; events name the data that a layer
  // waits for, so that the layers of one program can later be spread over cores.
  absl::Status AddLayers() {
    std::vector<uint32_t> event_of(network_.tensors.size(), 0);
    for (size_t i = 0; i < network_.layers.size(); ++i) {
      const Layer& layer = network_.layers[i];
      QB_ASSIGN_OR_RETURN(const Tiling tiling,
                          ChooseTiling(layer, network_, target_, liveness_.in_place[i]));
      v1::Layer* message = AddLayer(layer);
      message->set_core(0);
      std::vector<uint32_t> waits;
      for (const int input : layer.inputs) {
        const uint32_t event = event_of[static_cast<size_t>(input)];
        if (event != 0 && std::find(waits.begin(), waits.end(), event) == waits.end()) {
          waits.push_back(event);
        }
      }
      message->mutable_wait_events()->Add(waits.begin(), waits.end());
      message->set_signal_event(static_cast<uint32_t>(i) + 1);
      event_of[static_cast<size_t>(layer.output)] = message->signal_event();
      Encode(tiling, message->mutable_tile());
      Encode(tiling.cost, message->mutable_estimate());
      result_.estimate += tiling.cost;
      result_.layers.push_back({layer.name, integer::LayerKindName(layer.params), tiling});
    }
    // The cores work at the same time, each for its sample.
    result_.estimate.dma_bytes *= result_.samples;
    result_.estimate.macs *= result_.samples;
    return absl::OkStatus();
  }

  // All but who runs it.
  v1::Layer* AddLayer(const Layer& layer) {
    v1::Layer* message = message_.add_layers();
    message->set_name(layer.name);
    for (const int input : layer.inputs) {
      message->add_inputs(Number(input));
    }
    message->set_output(Number(layer.output));
    EncodeOperation(layer.params, weights_, message);
    return message;
  }

  absl::Status AddCutLayers(int64_t cores) {
    QB_ASSIGN_OR_RETURN(const Schedule schedule,
                        MakeSchedule(network_, target_, addresses_, liveness_.in_place, cores));
    for (size_t i = 0; i < network_.layers.size(); ++i) {
      const Layer& layer = network_.layers[i];
      const ScheduledLayer& scheduled = schedule.layers[i];
      v1::Layer* message = AddLayer(layer);
      message->set_cut(static_cast<v1::Cut>(scheduled.axis));
      LayerEstimate estimate{layer.name, integer::LayerKindName(layer.params), {}, scheduled.axis,
                             static_cast<int64_t>(scheduled.parts.size())};
      for (const ScheduledPart& part : scheduled.parts) {
        Encode(part, message->add_parts());
        Include(part.tiling, estimate.tiling);
      }
      Encode(estimate.tiling, message->mutable_tile());
      Encode(estimate.tiling.cost, message->mutable_estimate());
      result_.layers.push_back(std::move(estimate));
    }
    result_.estimate = schedule.cost;
    // Our own schedule: a missing event is a bug, but one that must not reach a file.
    return WithFailureCode(CheckSchedule(network_, addresses_, schedule.layers),
                           FailureCode::kInternalError);
  }

  static void Include(const Tiling& part, Tiling& all) {
    const Cost before = all.cost;
    if (part.cost.cycles >= all.cost.cycles) {
      all = part;
    }
    const int64_t cycles = all.cost.cycles;
    all.cost = before;
    all.cost += part.cost;
    all.cost.cycles = cycles;
  }

  absl::Status CheckDram() const {
    const int64_t needed =
        result_.memory.peak_bytes + static_cast<int64_t>(result_.weights.size());
    if (needed > target_.dram_bytes) {
      return Failure(FailureCode::kTargetError,
                     absl::StrCat("the program needs ", needed, " bytes of DRAM (", 
                                  result_.memory.peak_bytes, " for activations); target ",
                                  target_.name, " has ", target_.dram_bytes));
    }
    return absl::OkStatus();
  }

  void Serialize() {
    google::protobuf::io::StringOutputStream stream(&result_.program);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    QB_CHECK(message_.SerializeToCodedStream(&coded));
  }

  const Network& network_;
  const TargetSpec& target_;
  v1::Program message_;
  WeightsWriter weights_;
  Liveness liveness_;
  std::vector<int64_t> addresses_;
  std::vector<int> numbers_;
  NpuProgram result_;
};

}  // namespace

absl::StatusOr<NpuProgram> BuildProgram(const Network& network, const TargetSpec& target,
                                        CoreMode mode) {
  QB_RETURN_IF_ERROR(CheckScheme(target, CoreModeName(mode)).status());
  QB_RETURN_IF_ERROR(integer::ValidateNetwork(network));
  QB_RETURN_IF_ERROR(CheckLookupUnit(network, target));
  if (target.integer_border) {
    return Builder(WithIntegerBorder(network), target).Run(mode);
  }
  return Builder(network, target).Run(mode);
}

absl::StatusOr<NpuPrograms> BuildPrograms(const Network& network, const TargetSpec& target,
                                          absl::Span<const CoreMode> modes) {
  NpuPrograms result;
  for (const CoreMode mode : modes) {
    QB_ASSIGN_OR_RETURN(NpuProgram program, BuildProgram(network, target, mode));
    std::string weights = std::move(program.weights);
    program.weights.clear();
    // A mode changes who does the work, not what is stored.
    QB_CHECK(result.programs.empty() || weights == result.weights);
    result.weights = std::move(weights);
    result.programs.push_back(std::move(program));
  }
  return result;
}

}  // namespace qb::npu
