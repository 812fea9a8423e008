#include "core/npu/border.h"

#include <algorithm>
#include <utility>
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

// The codes take the place of `real` at the border, and its name. False when they bear the name of
// another input or output already.
bool TakeName(Network& network, int codes, int real, std::vector<bool>& named) {
  if (named[static_cast<size_t>(codes)]) {
    return false;
  }
  named[static_cast<size_t>(codes)] = true;
  network.tensors[static_cast<size_t>(codes)].name =
      network.tensors[static_cast<size_t>(real)].name;
  return true;
}

// The layer copies the codes that it turned into real numbers: a value that is two outputs, or an
// input and an output, is there twice, under either name.
void MakeCopy(Network& network, Layer& layer) {
  TensorInfo copy = network.tensors[static_cast<size_t>(layer.inputs[0])];
  copy.name = network.tensors[static_cast<size_t>(layer.output)].name;
  network.tensors[static_cast<size_t>(layer.output)] = std::move(copy);
  layer.params = integer::ReshapeParams{};
}

}  // namespace

Network WithIntegerBorder(const Network& network) {
  Network result = network;
  std::vector<bool> dropped(result.layers.size(), false);
  std::vector<bool> named(result.tensors.size(), false);
  for (size_t i = 0; i < result.layers.size(); ++i) {
    Layer& layer = result.layers[i];
    if (std::holds_alternative<integer::QuantizeParams>(layer.params)) {
      const auto input = std::find(result.inputs.begin(), result.inputs.end(), layer.inputs[0]);
      const TensorInfo& real = result.tensors[static_cast<size_t>(layer.inputs[0])];
      if (input != result.inputs.end() && real.dtype == DType::kFloat32 &&
          Readers(network, layer.inputs[0]) == 1 &&
          TakeName(result, layer.output, layer.inputs[0], named)) {
        *input = layer.output;
        dropped[i] = true;
      }
    } else if (std::holds_alternative<integer::DequantizeParams>(layer.params)) {
      const auto output = std::find(result.outputs.begin(), result.outputs.end(), layer.output);
      if (output != result.outputs.end() && Readers(network, layer.output) == 1) {
        if (TakeName(result, layer.inputs[0], layer.output, named)) {
          *output = layer.inputs[0];
          dropped[i] = true;
        } else {
          MakeCopy(result, layer);
        }
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
