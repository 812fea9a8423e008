#include "core/npu/border.h"

#include <algorithm>
#include <vector>

namespace qb::npu {
namespace {

using integer::Layer;
using integer::Network;
using integer::TensorInfo;

int64_t Readers(const Network& network, int tensor) {
  int64_t readers = std::count(network.outputs.begin(), network.outputs.end(), tensor);
  for (const Layer& layer : network.layers) {
    readers += std::count(layer.inputs.begin(), layer.inputs.end(), tensor);
  }
  return readers;
}

// The names of the model stay at its border.
void Rename(Network& network, int codes, int real) {
  network.tensors[static_cast<size_t>(codes)].name =
      network.tensors[static_cast<size_t>(real)].name;
}

}  // namespace

Network WithIntegerBorder(const Network& network) {
  Network result = network;
  std::vector<bool> dropped(result.layers.size(), false);
  for (size_t i = 0; i < result.layers.size(); ++i) {
    const Layer& layer = result.layers[i];
    if (std::holds_alternative<integer::QuantizeParams>(layer.params)) {
      const auto input = std::find(result.inputs.begin(), result.inputs.end(), layer.inputs[0]);
      const TensorInfo& real = result.tensors[static_cast<size_t>(layer.inputs[0])];
      if (input != result.inputs.end() && real.dtype == DType::kFloat32 &&
          Readers(network, layer.inputs[0]) == 1) {
        Rename(result, layer.output, layer.inputs[0]);
        *input = layer.output;
        dropped[i] = true;
      }
    } else if (std::holds_alternative<integer::DequantizeParams>(layer.params)) {
      const auto output = std::find(result.outputs.begin(), result.outputs.end(), layer.output);
      if (output != result.outputs.end() && Readers(network, layer.output) == 1) {
        Rename(result, layer.inputs[0], layer.output);
        *output = layer.inputs[0];
        dropped[i] = true;
      }
    }
  }
  std::vector<Layer> kept;
  for (size_t i = 0; i < result.layers.size(); ++i) {
    if (!dropped[i]) {
      kept.push_back(std::move(result.layers[i]));
    }
  }
  result.layers = std::move(kept);
  return result;
}

}  // namespace qb::npu
