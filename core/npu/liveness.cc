#include "core/npu/liveness.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/integer/run_layer.h"

namespace qb::npu {
namespace {

using integer::Layer;
using integer::Network;

size_t At(int index) { return static_cast<size_t>(index); }

// The step after which each tensor is not needed; -1 for one that nothing makes or reads.
std::vector<int64_t> LastSteps(const Network& network) {
  std::vector<int64_t> last(network.tensors.size(), -1);
  for (const int input : network.inputs) {
    last[At(input)] = 0;
  }
  for (size_t i = 0; i < network.layers.size(); ++i) {
    for (const int input : network.layers[i].inputs) {
      last[At(input)] = static_cast<int64_t>(i);
    }
    last[At(network.layers[i].output)] = static_cast<int64_t>(i);
  }
  for (const int output : network.outputs) {
    last[At(output)] = static_cast<int64_t>(network.layers.size());
  }
  return last;
}

std::vector<bool> AreConstant(const Network& network) {
  std::vector<bool> constant(network.tensors.size(), false);
  for (const integer::ConstantTensor& value : network.constants) {
    constant[At(value.tensor)] = true;
  }
  return constant;
}

// The operand that layer number `index` may write over, because it dies there; -1 when there is none
// that `accept` takes.
template <typename Accept>
int Replaced(const Network& network, size_t index, const std::vector<int64_t>& last,
             const std::vector<bool>& constant, const Accept& accept) {
  const Layer& layer = network.layers[index];
  for (size_t k = 0; k < layer.inputs.size(); ++k) {
    const int input = layer.inputs[k];
    if (!constant[At(input)] && last[At(input)] == static_cast<int64_t>(index) &&
        integer::MayRunInPlace(layer, network, static_cast<int>(k)) && accept(input)) {
      return input;
    }
  }
  return -1;
}

// Live memory by address.
class LiveMemory {
 public:
  LiveMemory(const Network& network, const std::vector<int64_t>& addresses, int64_t arena_bytes)
      : network_(network), addresses_(addresses), arena_bytes_(arena_bytes) {}

  // `replaced` (-1: none) may be overwritten if it has the same address and size.
  absl::Status Add(int tensor, int replaced) {
    const int64_t start = addresses_[At(tensor)];
    const int64_t size = network_.tensors[At(tensor)].size_bytes();
    if (start < 0 || start % kAlignment != 0 || size > arena_bytes_ || start > arena_bytes_ - size) {
      return Bad(tensor, absl::StrCat("lies at ", start, " with ", size, " bytes; accepted: ",
                                      "multiples of 64 within the arena of ", arena_bytes_));
    }
    auto next = live_.lower_bound(start);
    if (next != live_.end() && next->second == replaced && next->first == start) {
      next = live_.erase(next);
    }
    if (next != live_.end() && next->first < start + size) {
      return Bad(tensor, absl::StrCat("overwrites '", Name(next->second), "', which is needed"));
    }
    if (next != live_.begin()) {
      const auto previous = std::prev(next);
      if (previous->first + network_.tensors[At(previous->second)].size_bytes() > start) {
        return Bad(tensor, absl::StrCat("overwrites '", Name(previous->second), "', which is needed"));
      }
    }
    live_.emplace(start, tensor);
    return absl::OkStatus();
  }

  void Remove(int tensor) {
    const auto found = live_.find(addresses_[At(tensor)]);
    if (found != live_.end() && found->second == tensor) {
      live_.erase(found);
    }
  }

 private:
  const std::string& Name(int tensor) const { return network_.tensors[At(tensor)].name; }
  absl::Status Bad(int tensor, const std::string& what) const {
    return absl::DataLossError(
        absl::StrCat("program memory: tensor ", tensor, " '", Name(tensor), "' ", what));
  }

  const Network& network_;
  const std::vector<int64_t>& addresses_;
  int64_t arena_bytes_;
  std::map<int64_t, int> live_;  // by start
};

}  // namespace

Liveness ComputeLiveness(const Network& network) {
  const std::vector<int64_t> last = LastSteps(network);
  const std::vector<bool> constant = AreConstant(network);
  Liveness result;
  result.buffer_of.assign(network.tensors.size(), -1);
  const auto add = [&](int tensor, int64_t first) {
    result.buffer_of[At(tensor)] = static_cast<int>(result.buffers.size());
    result.buffers.push_back(
        {network.tensors[At(tensor)].size_bytes(), first, last[At(tensor)]});
  };
  for (const int input : network.inputs) {
    add(input, 0);
  }
  for (size_t i = 0; i < network.layers.size(); ++i) {
    const Layer& layer = network.layers[i];
    const int replaced = Replaced(network, i, last, constant, [](int) { return true; });
    if (replaced >= 0) {
      const int buffer = result.buffer_of[At(replaced)];
      result.buffer_of[At(layer.output)] = buffer;
      result.buffers[At(buffer)].last = last[At(layer.output)];
    } else {
      add(layer.output, static_cast<int64_t>(i));
    }
    result.in_place.push_back(replaced >= 0);
  }
  return result;
}

absl::Status CheckAddresses(const Network& network, const std::vector<int64_t>& addresses,
                            int64_t arena_bytes) {
  const std::vector<int64_t> last = LastSteps(network);
  const std::vector<bool> constant = AreConstant(network);
  LiveMemory memory(network, addresses, arena_bytes);
  for (const int input : network.inputs) {
    QB_RETURN_IF_ERROR(memory.Add(input, -1));
  }
  for (size_t i = 0; i < network.layers.size(); ++i) {
    const Layer& layer = network.layers[i];
    const auto in_place = [&](int input) {
      return addresses[At(input)] == addresses[At(layer.output)];
    };
    QB_RETURN_IF_ERROR(memory.Add(layer.output, Replaced(network, i, last, constant, in_place)));
    for (const int input : layer.inputs) {
      if (last[At(input)] == static_cast<int64_t>(i)) {
        memory.Remove(input);
      }
    }
    if (last[At(layer.output)] == static_cast<int64_t>(i)) {
      memory.Remove(layer.output);
    }
  }
  return absl::OkStatus();
}

}  // namespace qb::npu
