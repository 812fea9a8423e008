#include "core/tuning/one_layer_graph.h"

#include <cstdint>
#include <vector>

#include "core/ops/matmul.h"

namespace qb {
namespace {

constexpr int64_t kWeights = 1;
constexpr int64_t kBias = 2;

// [M, taps], as the codes lie.
Tensor CodedWeights(const LinearForm& form, const integer::ConvParams& conv) {
  Tensor weights = Tensor::Allocate(form.weights.type());
  float* to = weights.mutable_data<float>();
  for (int64_t i = 0; i < conv.weight_count(); ++i) {
    to[i] = conv.weight_scales[static_cast<size_t>(i / form.products())] *
            static_cast<float>(conv.weight(i));
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

Graph GraphWithCodedWeights(const Node& node, const LinearForm& form,
                            const integer::ConvParams& conv, const std::vector<double>* tap_means) {
  static_assert(MatMulAttrs::kB == kWeights && MatMulAttrs::kBias == kBias);
  LinearForm coded = form;
  coded.weights = CodedWeights(form, conv);
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
  Node* const layer =
      graph.AddNode(node.op(), node.name(), operands, node.attributes().Clone(), node.type());
  graph.AddOutput("result", layer);
  return graph;
}

}  // namespace qb
