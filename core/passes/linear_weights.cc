#include "core/passes/linear_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/ops/build.h"
#include "core/ops/convolution.h"
#include "core/ops/matmul.h"
#include "core/ops/transpose_convolution.h"
#include "core/ops/window.h"

namespace qb {
namespace {

bool HasConstantOperands(const Node& node) {
  if (node.type().dtype != DType::kFloat32) {
    return false;
  }
  for (int64_t i = 1; i < node.operand_count(); ++i) {
    if (!node.operand(i)->is_constant()) {
      return false;
    }
  }
  return true;
}

std::vector<double> ToDoubles(const Tensor& tensor) {
  const absl::Span<const float> values = tensor.values<float>();
  return std::vector<double>(values.begin(), values.end());
}

std::vector<float> ToFloats(const std::vector<double>& values) {
  return std::vector<float>(values.begin(), values.end());
}

// Null for operators that are not linear.
Activation* ActivationOf(OpKind op, Attributes& attrs) {
  switch (op) {
    case OpKind::kConvolution:
      return &static_cast<ConvolutionAttrs&>(attrs).activation;
    case OpKind::kTransposeConvolution:
      return &static_cast<TransposeConvolutionAttrs&>(attrs).activation;
    case OpKind::kMatMul:
      return &static_cast<MatMulAttrs&>(attrs).activation;
    default:
      return nullptr;
  }
}

// The window of a convolution, plain or transposed.
struct Window {
  bool channel_last;
  int64_t groups, taps;
  // Whether border pixels of the result see fewer taps than the others.
  bool has_padding;
};

Window WindowOf(const Node& node) {
  if (node.op() == OpKind::kTransposeConvolution) {
    const auto& attrs = node.attrs<TransposeConvolutionAttrs>();
    return {attrs.channel_last, attrs.group_number, attrs.h_kernel * attrs.w_kernel, true};
  }
  const auto& attrs = node.attrs<ConvolutionAttrs>();
  return {attrs.channel_last, attrs.group_number, attrs.h_kernel * attrs.w_kernel,
          attrs.north_padding + attrs.south_padding + attrs.west_padding + attrs.east_padding > 0};
}

}  // namespace

std::optional<LinearWeights> LinearWeights::Of(Node* node) {
  const bool is_product = node->op() == OpKind::kMatMul;
  const std::unique_ptr<Attributes> attributes = node->attributes().Clone();
  const Activation* activation = ActivationOf(node->op(), *attributes);
  if (activation == nullptr || !HasConstantOperands(*node) ||
      activation->kind != ActivationKind::kNone) {
    return std::nullopt;
  }
  LinearWeights linear;
  linear.node_ = node;
  linear.is_product_ = is_product;
  const Shape& weights = node->operand(1)->shape();
  if (is_product) {
    if (weights.rank() != 2 || node->operand(0)->shape().rank() < 2) {
      return std::nullopt;
    }
    linear.outputs_ = weights[1];
    linear.group_inputs_ = linear.inner_ = weights[0];
    linear.channel_axis_ = node->shape().rank() - 1;
  } else {
    const Window window = WindowOf(*node);
    const ImageAxes axes = AxesOfImage(window.channel_last);
    linear.channel_last_ = window.channel_last;
    linear.channel_axis_ = axes.channel;
    linear.groups_ = window.groups;
    linear.outputs_ = weights[0];
    linear.group_inputs_ = weights[axes.channel];
    linear.window_ = window.taps;
    linear.inner_ = linear.window_ * linear.group_inputs_;
    linear.has_padding_ = window.has_padding;
  }
  linear.weights_ = node->operand(1)->constant();
  linear.bias_.assign(static_cast<size_t>(linear.outputs_), 0.0);
  if (node->operand_count() > 2) {
    linear.bias_ = ToDoubles(node->operand(2)->constant());
  }
  return linear;
}

int64_t LinearWeights::InputOf(int64_t output, int64_t inner) const {
  const int64_t within = channel_last_ ? inner % group_inputs_ : inner / window_;
  return output / (outputs_ / groups_) * group_inputs_ + within;
}

float* LinearWeights::MutableWeights() {
  if (!owns_weights_) {
    Tensor copy = Tensor::Allocate(weights_.type());
    std::memcpy(copy.mutable_raw(), weights_.raw(), static_cast<size_t>(copy.size_bytes()));
    weights_ = std::move(copy);
    owns_weights_ = true;
  }
  return weights_.mutable_data<float>();
}

void LinearWeights::ScaleOutputs(absl::Span<const float> scale) {
  float* weights = MutableWeights();
  for (int64_t m = 0; m < outputs_; ++m) {
    const float factor = scale[static_cast<size_t>(m)];
    bias_[static_cast<size_t>(m)] *= factor;
    for (int64_t i = 0; i < inner_; ++i) {
      weights[IndexOf(m, i)] *= factor;
    }
  }
}

void LinearWeights::ShiftOutputs(absl::Span<const float> shift) {
  for (size_t m = 0; m < bias_.size(); ++m) {
    bias_[m] += shift[m];
  }
}

void LinearWeights::ScaleInputs(absl::Span<const float> scale) {
  float* weights = MutableWeights();
  for (int64_t m = 0; m < outputs_; ++m) {
    for (int64_t i = 0; i < inner_; ++i) {
      weights[IndexOf(m, i)] *= scale[static_cast<size_t>(InputOf(m, i))];
    }
  }
}

void LinearWeights::ShiftInputs(absl::Span<const float> shift) {
  QB_CHECK(!has_padding_);
  const float* weights = weights_.data<float>();
  for (int64_t m = 0; m < outputs_; ++m) {
    double sum = 0.0;
    for (int64_t i = 0; i < inner_; ++i) {
      sum +=
          static_cast<double>(weights[IndexOf(m, i)]) * shift[static_cast<size_t>(InputOf(m, i))];
    }
    bias_[static_cast<size_t>(m)] += sum;
  }
}

bool LinearWeights::IsFinite() const {
  const absl::Span<const float> weights = weights_.values<float>();
  return std::all_of(weights.begin(), weights.end(), [](float v) { return std::isfinite(v); }) &&
         std::all_of(bias_.begin(), bias_.end(),
                     [](double v) { return std::isfinite(static_cast<float>(v)); });
}

absl::StatusOr<Node*> LinearWeights::Rebuild(Graph& graph, Node* input,
                                             const Activation& activation,
                                             absl::string_view name) const {
  Node* old_weights = node_->operand(1);
  Node* weights = owns_weights_ ? graph.AddConstant(old_weights->name(), weights_) : old_weights;
  const std::string bias_name =
      node_->operand_count() > 2 ? node_->operand(2)->name() : absl::StrCat(name, "/bias");
  Node* bias = graph.AddConstant(bias_name, Tensor::OfFloats({outputs_}, ToFloats(bias_)));
  std::unique_ptr<Attributes> attrs = node_->attributes().Clone();
  *ActivationOf(node_->op(), *attrs) = activation;
  return AddOp(graph, node_->op(), name, {input, weights, bias}, std::move(attrs));
}

}  // namespace qb
