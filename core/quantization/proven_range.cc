#include "core/quantization/proven_range.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/ops/activation.h"
#include "core/ops/convolution.h"
#include "core/ops/elementwise.h"
#include "core/ops/matmul.h"
#include "core/ops/movement.h"
#include "core/ops/pointwise.h"
#include "core/ops/transpose_convolution.h"

namespace qb {
namespace {

using Ranges = absl::flat_hash_map<const Node*, Interval>;

Interval Join(Interval a, Interval b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }

// Infinity minus infinity, or zero times infinity: nothing is known.
Interval WithoutNan(double low, double high) {
  return std::isnan(low) || std::isnan(high) ? Interval{} : Interval{low, high};
}

Interval AfterActivation(const Activation& activation, Interval x) {
  switch (activation.kind) {
    case ActivationKind::kNone:
      return x;
    case ActivationKind::kRelu:
      return {std::max(x.low, 0.0), std::max(x.high, 0.0)};
    case ActivationKind::kClip: {
      const double low = activation.min, high = activation.max;
      // Not std::clamp: a model may have min above max, which ONNX takes as max.
      return {std::min(std::max(x.low, low), high), std::min(std::max(x.high, low), high)};
    }
  }
  return x;
}

Interval OfConstant(const Tensor& tensor) {
  if (tensor.elements() == 0) {
    return {};
  }
  const auto values = tensor.values<float>();
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return WithoutNan(*low, *high);
}

Interval OfProduct(Interval a, Interval b) {
  const auto corners =
      std::to_array({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
  if (std::any_of(corners.begin(), corners.end(), [](double x) { return std::isnan(x); })) {
    // Zero times unbounded: signs may still be known.
    return {a.is_non_negative() && b.is_non_negative() ? 0.0 : Interval{}.low, Interval{}.high};
  }
  return {*std::min_element(corners.begin(), corners.end()),
          *std::max_element(corners.begin(), corners.end())};
}

Interval OfElementwise(const Node& node, Interval a, Interval b) {
  Interval y;
  switch (node.op()) {
    case OpKind::kAdding:
      y = WithoutNan(a.low + b.low, a.high + b.high);
      break;
    case OpKind::kSub:
      y = WithoutNan(a.low - b.high, a.high - b.low);
      break;
    case OpKind::kMultiply:
      y = OfProduct(a, b);
      break;
    case OpKind::kMaximum:
      y = {std::max(a.low, b.low), std::max(a.high, b.high)};
      break;
    case OpKind::kMinimum:
      y = {std::min(a.low, b.low), std::min(a.high, b.high)};
      break;
    default:
      break;
  }
  return AfterActivation(node.attrs<ElementwiseAttrs>().activation, y);
}

Interval OfPointwise(const Node& node, Interval x) {
  switch (node.op()) {
    case OpKind::kAbs:
      return {x.low >= 0.0 ? x.low : 0.0, x.largest_magnitude()};
    case OpKind::kNeg:
      return {-x.high, -x.low};
    case OpKind::kHardSwish:
      return {x.low >= 0.0 ? 0.0 : -0.375, std::max(x.high, 0.0)};
    case OpKind::kSwish:
      return {x.low >= 0.0 ? 0.0 : -0.28, std::max(x.high, 0.0)};
    case OpKind::kSqrt:
      return {0.0, std::sqrt(std::max(x.high, 0.0))};
    case OpKind::kLog:
      return {};
    case OpKind::kLeakyRelu:
      if (node.attrs<LeakyReluAttrs>().leaky_alpha < 0.0f) {
        return {};
      }
      break;
    case OpKind::kElu:
      if (node.attrs<EluAttrs>().leaky_alpha < 0.0f) {
        return {};
      }
      break;
    case OpKind::kSigmoid:
    case OpKind::kHardSigmoid:
      return {0.0, 1.0};
    default:
      break;
  }
  // The rest never decreases.
  return WithoutNan(EvaluatePointwise(node, x.low), EvaluatePointwise(node, x.high));
}

// Operators whose elements are elements (or means) of their operand.
bool KeepsRange(OpKind op) {
  switch (op) {
    case OpKind::kReshape:
    case OpKind::kTranspose:
    case OpKind::kSlice:
    case OpKind::kExpand:
    case OpKind::kGather:
    case OpKind::kDepthToSpace:
    case OpKind::kSpaceToDepth:
    case OpKind::kGlobalAveragePooling:
    case OpKind::kReduceMean:
    case OpKind::kReduceMax:
    case OpKind::kReduceMin:
    case OpKind::kOutput:
    case OpKind::kIdentity:
      return true;
    default:
      return false;
  }
}

Interval OfSum(const Node& node, Interval x) {
  const double count = static_cast<double>(node.operand(0)->shape().elements()) /
                       static_cast<double>(std::max<int64_t>(1, node.shape().elements()));
  return {x.low == 0.0 ? 0.0 : x.low * count, x.high == 0.0 ? 0.0 : x.high * count};
}

Interval OfNode(const Node& node, const Ranges& ranges) {
  const auto operand = [&](int64_t index) { return ranges.at(node.operand(index)); };
  if (KeepsRange(node.op())) {
    return operand(0);
  }
  if (IsPointwise(node.op())) {
    return OfPointwise(node, operand(0));
  }
  switch (node.op()) {
    case OpKind::kInputConstant:
      return OfConstant(node.constant());
    case OpKind::kConvolution:
      return AfterActivation(node.attrs<ConvolutionAttrs>().activation, {});
    case OpKind::kTransposeConvolution:
      return AfterActivation(node.attrs<TransposeConvolutionAttrs>().activation, {});
    case OpKind::kMatMul:
      return AfterActivation(node.attrs<MatMulAttrs>().activation, {});
    case OpKind::kAdding:
    case OpKind::kSub:
    case OpKind::kMultiply:
    case OpKind::kDiv:
    case OpKind::kPow:
    case OpKind::kMaximum:
    case OpKind::kMinimum:
      return OfElementwise(node, operand(0), operand(1));
    case OpKind::kSoftmax:
      return {0.0, 1.0};
    case OpKind::kPooling:  // an average may count padding zeros
      return Join(operand(0), {0.0, 0.0});
    case OpKind::kReduceSum:
      return OfSum(node, operand(0));
    case OpKind::kPad: {
      const double fill = node.attrs<PadAttrs>().constant;
      return Join(operand(0), {fill, fill});
    }
    case OpKind::kResize:
      return node.attrs<ResizeAttrs>().mode == ResizeMode::kCubic ? Interval{} : operand(0);
    case OpKind::kConcatenate: {
      Interval joined = operand(0);
      for (int64_t i = 1; i < node.operand_count(); ++i) {
        joined = Join(joined, operand(i));
      }
      return joined;
    }
    default:
      return {};
  }
}

}  // namespace

absl::flat_hash_map<const Node*, Interval> ProveRanges(const Graph& graph) {
  Ranges ranges;
  for (const Node* node : graph.TopologicalOrder()) {
    const Interval range =
        node->type().dtype == DType::kFloat32 ? OfNode(*node, ranges) : Interval{};
    ranges[node] = range;
  }
  return ranges;
}

}  // namespace qb
