#include "core/quantization/equivalent/scaled_layers.h"

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/ops/activation.h"
#include "core/ops/convolution.h"
#include "core/ops/matmul.h"
#include "core/ops/normalization.h"

namespace qb {
namespace {

bool HasConstantParameters(const Node& node) {
  for (int64_t i = 1; i < node.operand_count(); ++i) {
    if (!node.operand(i)->is_constant() || node.operand(i)->type().dtype != DType::kFloat32) {
      return false;
    }
  }
  return node.operand_count() > 1 && !node.operand(0)->is_constant();
}

const Activation& ActivationOf(const Node& node) {
  return node.op() == OpKind::kMatMul ? node.attrs<MatMulAttrs>().activation
                                      : node.attrs<ConvolutionAttrs>().activation;
}

// The factor of each element of a constant.
using FactorOf = std::function<double(int64_t index)>;

void ReplaceScaled(Graph& graph, Node* node, int64_t operand, const FactorOf& factor) {
  const Node& old = *node->operand(operand);
  Tensor scaled = Tensor::Allocate(old.type());
  const absl::Span<const float> values = old.constant().values<float>();
  for (size_t i = 0; i < values.size(); ++i) {
    scaled.mutable_data<float>()[i] =
        static_cast<float>(static_cast<double>(values[i]) * factor(static_cast<int64_t>(i)));
  }
  const std::string name = old.name();
  graph.ReplaceOperand(node, operand,
                       graph.AddConstant(absl::StrCat(name, "/scaled"), std::move(scaled)));
}

// Where an element of the weights stands.
struct WeightPlace {
  int64_t input = 0, output = 0;
};

WeightPlace PlaceOf(const Node& node, int64_t index) {
  const Shape& shape = node.operand(1)->shape();
  if (node.op() == OpKind::kMatMul) {
    const int64_t outputs = shape[shape.rank() - 1];
    return {index / outputs, index % outputs};
  }
  const int64_t inputs = shape[3];  // [M, Kh, Kw, C]
  return {index % inputs, index / (shape.elements() / shape[0])};
}

int64_t InputChannels(const Node& node) {
  const Shape& shape = node.operand(1)->shape();
  return node.op() == OpKind::kMatMul ? shape[shape.rank() - 2] : shape[3];
}

}  // namespace

bool TakesInputScale(const Node& node) {
  if (!HasConstantParameters(node)) {
    return false;
  }
  if (node.op() == OpKind::kMatMul) {
    return node.operand(1)->shape().rank() == 2;
  }
  return node.op() == OpKind::kConvolution && node.attrs<ConvolutionAttrs>().channel_last &&
         node.attrs<ConvolutionAttrs>().group_number == 1;
}

bool TakesOutputScale(const Node& node) {
  if (!TakesInputScale(node)) {
    return false;
  }
  const ActivationKind kind = ActivationOf(node).kind;
  return kind == ActivationKind::kNone || kind == ActivationKind::kRelu;
}

bool IsScalableNorm(const Node& node) {
  const int64_t last = node.shape().rank() - 1;
  const bool layer = node.op() == OpKind::kLayerNormalization &&
                     node.attrs<LayerNormalizationAttrs>().axis == last;
  const bool rms =
      node.op() == OpKind::kRmsNormalization && node.attrs<RmsNormalizationAttrs>().axis == last;
  return (layer || rms) && HasConstantParameters(node);
}

std::vector<std::vector<double>> WeightsByInput(const Node& node) {
  std::vector<std::vector<double>> weights(static_cast<size_t>(InputChannels(node)));
  const absl::Span<const float> values = node.operand(1)->constant().values<float>();
  for (size_t i = 0; i < values.size(); ++i) {
    weights[static_cast<size_t>(PlaceOf(node, static_cast<int64_t>(i)).input)].push_back(values[i]);
  }
  return weights;
}

void ScaleInputs(Graph& graph, Node* node, const std::vector<double>& factors) {
  QB_CHECK(TakesInputScale(*node) && static_cast<int64_t>(factors.size()) == InputChannels(*node));
  ReplaceScaled(graph, node, 1, [&](int64_t index) {
    return factors[static_cast<size_t>(PlaceOf(*node, index).input)];
  });
}

void ScaleOutputs(Graph& graph, Node* node, const std::vector<double>& factors) {
  if (IsScalableNorm(*node)) {
    for (int64_t operand = 1; operand < node->operand_count(); ++operand) {
      ReplaceScaled(graph, node, operand,
                    [&](int64_t index) { return factors[static_cast<size_t>(index)]; });
    }
    return;
  }
  QB_CHECK(TakesOutputScale(*node));
  ReplaceScaled(graph, node, 1, [&](int64_t index) {
    return factors[static_cast<size_t>(PlaceOf(*node, index).output)];
  });
  if (node->operand_count() > 2) {
    ReplaceScaled(graph, node, 2,
                  [&](int64_t index) { return factors[static_cast<size_t>(index)]; });
  }
}

}  // namespace qb
