#include "core/npu/load_program.h"

#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/integer/validate.h"
#include "core/npu/hazards.h"
#include "core/npu/liveness.h"
#include "core/npu/program_codec.h"

namespace qb::npu {
namespace {

constexpr uint64_t kMostArenaBytes = uint64_t{1} << 34;

template <typename... Args>
absl::Status Bad(const Args&... args) {
  return absl::DataLossError(absl::StrCat("program: ", args...));
}

// Numbers of reports only: saturated, never trusted.
int64_t Number(uint64_t value) {
  return static_cast<int64_t>(std::min<uint64_t>(value, uint64_t{1} << 62));
}

Cost DecodeCost(const v1::Estimate& message) {
  return {Number(message.cycles()), Number(message.compute_cycles()), Number(message.dma_cycles()),
          Number(message.dma_bytes()), Number(message.macs()), Number(message.halo_bytes()),
          Number(message.gather_bytes())};
}

Tiling DecodeTiling(const v1::Layer& message) {
  Tiling tiling;
  tiling.height = message.tile().height();
  tiling.width = message.tile().width();
  tiling.channels = message.tile().channels();
  tiling.count = message.tile().count();
  tiling.sram_bytes = message.tile().sram_bytes();
  tiling.cost = DecodeCost(message.estimate());
  return tiling;
}

// The order in which cores that take their layers in turn, each as soon as its events are there, run
// them; of cores that are ready at once the lowest runs first.
absl::StatusOr<std::vector<int>> ExecutionOrder(const v1::Program& message) {
  std::map<uint32_t, std::deque<int>> queues;  // by core
  std::set<uint32_t> signals;
  for (int i = 0; i < message.layers_size(); ++i) {
    const v1::Layer& layer = message.layers(i);
    queues[layer.core()].push_back(i);
    if (layer.signal_event() != 0 && !signals.insert(layer.signal_event()).second) {
      return Bad("layer '", layer.name(), "': event ", layer.signal_event(), " is signalled twice");
    }
  }
  if (queues.size() > 64) {
    return Bad(queues.size(), " cores; accepted: at most 64");
  }
  std::vector<int> order;
  std::set<uint32_t> signalled;
  while (static_cast<int>(order.size()) < message.layers_size()) {
    const size_t before = order.size();
    for (auto& [core, queue] : queues) {
      while (!queue.empty()) {
        const v1::Layer& layer = message.layers(queue.front());
        const bool ready = std::all_of(
            layer.wait_events().begin(), layer.wait_events().end(),
            [&](uint32_t event) { return signalled.find(event) != signalled.end(); });
        if (!ready) {
          break;
        }
        order.push_back(queue.front());
        signalled.insert(layer.signal_event());
        queue.pop_front();
      }
    }
    if (order.size() == before) {
      return Bad("the remaining ", message.layers_size() - static_cast<int>(order.size()),
                 " layers wait for each other");
    }
  }
  return order;
}

// Each core takes its parts in the order of the layers, each as soon as its events are there; of cores
// that are ready at once the lowest runs first.
absl::StatusOr<std::vector<PartNumber>> PartOrder(const std::vector<ScheduledLayer>& layers) {
  std::array<std::deque<PartNumber>, kMostCores> queues;
  size_t parts = 0;
  for (size_t i = 0; i < layers.size(); ++i) {
    for (size_t j = 0; j < layers[i].parts.size(); ++j, ++parts) {
      queues[static_cast<size_t>(layers[i].parts[j].core)].push_back({i, j});
    }
  }
  std::vector<PartNumber> order;
  std::set<uint32_t> signalled;
  while (order.size() < parts) {
    const size_t before = order.size();
    for (std::deque<PartNumber>& queue : queues) {
      while (!queue.empty()) {
        const PartNumber next = queue.front();
        const ScheduledPart& part = layers[next.layer].parts[next.part];
        if (!std::all_of(part.waits.begin(), part.waits.end(), [&](uint32_t event) {
              return signalled.find(event) != signalled.end();
            })) {
          break;
        }
        order.push_back(next);
        signalled.insert(part.signal);
        queue.pop_front();
      }
    }
    if (order.size() == before) {
      return Bad("the remaining ", parts - order.size(), " parts wait for each other");
    }
  }
  return order;
}

ScheduledPart DecodePart(const v1::Part& message) {
  ScheduledPart part;
  part.core = static_cast<int>(std::min<uint32_t>(message.core(), 1 << 16));
  part.range = {message.begin(), message.extent()};
  part.waits.assign(message.wait_events().begin(), message.wait_events().end());
  part.signal = message.signal_event();
  part.tiling.height = message.tile().height();
  part.tiling.width = message.tile().width();
  part.tiling.channels = message.tile().channels();
  part.tiling.count = message.tile().count();
  part.tiling.sram_bytes = message.tile().sram_bytes();
  part.tiling.cost = DecodeCost(message.estimate());
  return part;
}

// The schedule of a program with parts; nothing is checked yet.
absl::Status ReadSchedule(const v1::Program& message, LoadedProgram& program) {
  const bool has_parts = std::any_of(message.layers().begin(), message.layers().end(),
                                     [](const v1::Layer& layer) { return layer.parts_size() > 0; });
  if (!has_parts) {
    return absl::OkStatus();
  }
  for (const v1::Layer& layer : message.layers()) {
    if (layer.parts_size() == 0) {
      return Bad("layer '", layer.name(), "' has no parts, others have");
    }
    if (!v1::Cut_IsValid(layer.cut())) {
      return Bad("layer '", layer.name(), "': there is no cut ", static_cast<int>(layer.cut()));
    }
    ScheduledLayer scheduled;
    scheduled.axis = static_cast<CutAxis>(layer.cut());
    for (const v1::Part& part : layer.parts()) {
      scheduled.parts.push_back(DecodePart(part));
    }
    program.schedule.push_back(std::move(scheduled));
  }
  return absl::OkStatus();
}

absl::StatusOr<int> TensorNumber(uint32_t number, const v1::Program& message) {
  if (number >= static_cast<uint32_t>(message.tensors_size())) {
    return Bad("there is no tensor ", number);
  }
  return static_cast<int>(number);
}

absl::Status ReadHeader(const v1::Program& message, absl::string_view weights,
                        LoadedProgram& program) {
  if (message.format_major() > kFormatMajor) {
    return absl::InvalidArgumentError(
        absl::StrCat("program: format ", message.format_major(), ".", message.format_minor(),
                     " is newer than this compiler; accepted: up to ", kFormatMajor));
  }
  if (message.format_major() == 0) {
    return Bad("there is no format version");
  }
  if (message.weights_bytes() != weights.size()) {
    return Bad("the weights have ", weights.size(), " bytes; written were ",
               message.weights_bytes());
  }
  if (message.arena_bytes() > kMostArenaBytes) {
    return Bad("an arena of ", message.arena_bytes(), " bytes; accepted: up to 2^34");
  }
  QB_RETURN_IF_ERROR(CoreModeFromName(message.core_mode()).status());
  program.samples = std::max<uint32_t>(1, message.samples());
  if (message.samples() > kMostCores ||
      message.arena_bytes() % (static_cast<uint64_t>(kAlignment * program.samples)) != 0) {
    return Bad("an arena of ", message.arena_bytes(), " bytes for ", message.samples(),
               " samples; accepted: up to ", kMostCores, " equal shares in multiples of 64");
  }
  program.target = message.target();
  program.core_mode = message.core_mode();
  program.arena_bytes = static_cast<int64_t>(message.arena_bytes());
  program.memory = {Number(message.memory().peak_bytes()),
                    Number(message.memory().lower_bound_bytes())};
  program.estimate = DecodeCost(message.estimate());
  program.network.name = message.name();
  return absl::OkStatus();
}

// All but the bytes of constants, whose sizes are known once the tensors are checked.
absl::Status ReadTensors(const v1::Program& message, LoadedProgram& program) {
  for (const v1::Tensor& tensor : message.tensors()) {
    QB_ASSIGN_OR_RETURN(integer::TensorInfo info, DecodeTensor(tensor));
    program.network.tensors.push_back(std::move(info));
    if (tensor.space() == v1::SPACE_ARENA) {
      if (tensor.address() > kMostArenaBytes) {
        return Bad("tensor '", tensor.name(), "': address ", tensor.address());
      }
      program.addresses.push_back(static_cast<int64_t>(tensor.address()));
    } else if (tensor.space() == v1::SPACE_WEIGHTS) {
      program.addresses.push_back(-1);
    } else {
      return Bad("tensor '", tensor.name(), "': there is no memory space ",
                 static_cast<int>(tensor.space()));
    }
  }
  for (const uint32_t input : message.inputs()) {
    QB_ASSIGN_OR_RETURN(const int number, TensorNumber(input, message));
    program.network.inputs.push_back(number);
  }
  for (const uint32_t output : message.outputs()) {
    QB_ASSIGN_OR_RETURN(const int number, TensorNumber(output, message));
    program.network.outputs.push_back(number);
  }
  return absl::OkStatus();
}

absl::Status ReadLayers(const v1::Program& message, absl::string_view weights,
                        LoadedProgram& program) {
  QB_RETURN_IF_ERROR(ReadSchedule(message, program));
  std::vector<int> order(static_cast<size_t>(message.layers_size()));
  std::iota(order.begin(), order.end(), 0);
  if (program.schedule.empty()) {
    QB_ASSIGN_OR_RETURN(order, ExecutionOrder(message));
  }
  for (const int index : order) {
    const v1::Layer& from = message.layers(index);
    integer::Layer layer;
    layer.name = from.name();
    for (const uint32_t input : from.inputs()) {
      QB_ASSIGN_OR_RETURN(const int number, TensorNumber(input, message));
      layer.inputs.push_back(number);
    }
    QB_ASSIGN_OR_RETURN(layer.output, TensorNumber(from.output(), message));
    QB_ASSIGN_OR_RETURN(layer.params, DecodeOperation(from, weights));
    program.layers.push_back(
        {layer.name, integer::LayerKindName(layer.params), DecodeTiling(from),
         program.schedule.empty() ? CutAxis::kNone : static_cast<CutAxis>(from.cut()),
         std::max(1, from.parts_size())});
    program.network.layers.push_back(std::move(layer));
  }
  return absl::OkStatus();
}

absl::Status ReadConstants(const v1::Program& message, absl::string_view weights,
                           LoadedProgram& program) {
  for (int i = 0; i < message.tensors_size(); ++i) {
    if (message.tensors(i).space() != v1::SPACE_WEIGHTS) {
      continue;
    }
    const integer::TensorInfo& tensor = program.network.tensors[static_cast<size_t>(i)];
    QB_RETURN_IF_ERROR(integer::ValidateTensor(tensor));
    QB_ASSIGN_OR_RETURN(const absl::string_view bytes,
                        SliceOf(weights, message.tensors(i).address(),
                                static_cast<uint64_t>(tensor.size_bytes())));
    program.network.constants.push_back({i, std::vector<uint8_t>(bytes.begin(), bytes.end())});
  }
  return absl::OkStatus();
}

// All but the format: what it computes, where, and in which order.
absl::Status CheckProgram(LoadedProgram& program) {
  const absl::Status valid = integer::ValidateNetwork(program.network);
  if (!valid.ok()) {
    return Bad(valid.message());
  }
  QB_RETURN_IF_ERROR(CheckAddresses(program.network, program.addresses,
                                    program.arena_bytes / program.samples));
  if (!program.schedule.empty()) {
    QB_RETURN_IF_ERROR(CheckSchedule(program.network, program.addresses, program.schedule));
    QB_ASSIGN_OR_RETURN(program.order, PartOrder(program.schedule));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<LoadedProgram>> LoadProgram(absl::string_view program_bytes,
                                                           absl::string_view weights) {
  v1::Program message;
  if (program_bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max()) ||
      !message.ParseFromArray(program_bytes.data(), static_cast<int>(program_bytes.size()))) {
    return Bad("these ", program_bytes.size(), " bytes are no program");
  }
  auto program = std::make_unique<LoadedProgram>();
  QB_RETURN_IF_ERROR(ReadHeader(message, weights, *program));
  QB_RETURN_IF_ERROR(ReadTensors(message, *program));
  QB_RETURN_IF_ERROR(ReadConstants(message, weights, *program));
  QB_RETURN_IF_ERROR(ReadLayers(message, weights, *program));
  QB_RETURN_IF_ERROR(CheckProgram(*program));
  return program;
}

}  // namespace qb::npu
