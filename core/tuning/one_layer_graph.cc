#include "core/tuning/one_layer_graph.h"

#include <cstdint>
#include <vector>

#include "core/ops/matmul.h"

namespace qb {
namespace {

constexpr int64_t kWeights = 1;
constexpr int64_t kBias = 2;

// [M, taps], as the codes lie.
Tensor CodedWeights(const LinearForm& form, const CodedLayer& layer) {
  Tensor weights = Tensor::Allocate(form.weights.type());
  float* to = weights.mutable_data<float>();
  const std::vector<float>& read = layer.input.channel_factors;
  const std::vector<float>& written = layer.output.channel_factors;
  const int64_t inputs = form.window.channels / form.groups;
  const int64_t group_out = form.channels_out() / form.groups;
  for (int64_t i = 0; i < layer.conv.weight_count(); ++i) {
    const int64_t m = i / form.products();
    const int64_t channel = m / group_out * inputs + i % inputs;
    const float gained = written.empty() ? 1.0f : written[static_cast<size_t>(m)];
    const float taken = read.empty() ? 1.0f : read[static_cast<size_t>(channel)];
    to[i] = layer.conv.weight_scales[static_cast<size_t>(m)] * gained / taken *
            static_cast<float>(layer.conv.weight(i));
  }
  return weights;
}

// In the order of the node's own constant: [K, N] for a matrix product.
Tensor AsConstantOf(const Node& node, const Tensor& weights) {
  if (node.op() != OpKind::kMatMul) {
    return weights;
  }
  Tensor turned = Tensor::Allocate(node.operand(kWeights)->type());
  const int64_t outputs = weights.shape()[0];
  const int64_t products = weights.elements() / outputs;
  for (int64_t i = 0; i < weights.elements(); ++i) {
    turned.mutable_data<float>()[i % products * outputs + i / products] = weights.data<float>()[i];
  }
  return turned;
}

}  // namespace

Graph GraphWithCodedWeights(const Node& node, const LinearForm& form, const CodedLayer& layer,
                            const std::vector<double>* tap_means) {
  static_assert(MatMulAttrs::kB == kWeights && MatMulAttrs::kBias == kBias);
  LinearForm coded = form;
  coded.weights = CodedWeights(form, layer);
  if (tap_means != nullptr) {
    const std::vector<double> want = MeanBeforeActivation(form, *tap_means);
    const std::vector<double> got = MeanBeforeActivation(coded, *tap_means);
    for (size_t m = 0; m < want.size(); ++m) {
      coded.bias[m] += static_cast<float>(want[m] - got[m]);
    }
  }
  Graph graph(node.name());
  const std::vector<Node*> operands = {
      graph.AddInput(form.input->name(), form.input->type()),
      graph.AddConstant("weights", AsConstantOf(node, coded.weights)),
      graph.AddConstant("bias", Tensor::OfFloats({form.channels_out()}, coded.bias))};
  Node* const coded_node =
      graph.AddNode(node.op(), node.name(), operands, node.attributes().Clone(), node.type());
  graph.AddOutput("result", coded_node);
  return graph;
}

}  // namespace qb
