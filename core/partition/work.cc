#include "core/partition/work.h"

#include "core/ops/convolution.h"
#include "core/ops/matmul.h"
#include "core/ops/transpose_convolution.h"

namespace qb {
namespace {

// Elements of a weight tensor for each of its result channels, which come first.
int64_t TapsOf(const Shape& weights) {
  return weights.rank() == 0 || weights[0] == 0 ? 0 : weights.elements() / weights[0];
}

}  // namespace

int64_t MacsOf(const Node& node) {
  switch (node.op()) {
    case OpKind::kConvolution:
      return node.shape().elements() * TapsOf(node.operand(ConvolutionAttrs::kWeights)->shape());
    case OpKind::kTransposeConvolution: {
      // Each input element meets the taps of its group once for each result channel of the group.
      const auto& attrs = node.attrs<TransposeConvolutionAttrs>();
      const Shape& input = node.operand(TransposeConvolutionAttrs::kInput)->shape();
      const Shape& weights = node.operand(TransposeConvolutionAttrs::kWeights)->shape();
      return attrs.group_number == 0 || weights.rank() == 0
                 ? 0
                 : input.elements() * attrs.h_kernel * attrs.w_kernel *
                       (weights[0] / attrs.group_number);
    }
    case OpKind::kMatMul: {
      const Shape& a = node.operand(MatMulAttrs::kA)->shape();
      return a.rank() == 0 ? 0 : node.shape().elements() * a[a.rank() - 1];
    }
    default:
      return 0;
  }
}

}  // namespace qb
