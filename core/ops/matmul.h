// Matrix product with optional bias.
#pragma once

#include "core/ops/activation.h"
#include "core/ops/op_def.h"

namespace qb {

// Operands: a [..., M, K], b [..., K, N], bias [N] (optional) -> [..., M, N]; the leading
// dimensions broadcast; a 1-D operand follows the rules of numpy.matmul (then without bias).
// Transposes of ONNX Gemm are nodes of their own, folded when the operand is constant. Source: ONNX
// MatMul, Gemm.
struct MatMulAttrs final : AttributesOf<MatMulAttrs> {
  static constexpr int64_t kA = 0, kB = 1, kBias = 2;

  Activation activation;

  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    Activation::VisitFields(self.activation, visit);
  }
};

absl::StatusOr<TensorType> InferMatMul(const InferenceInput& input);

// True when the right side is one constant float32 matrix, the bias (if any) is constant too and the
// left side varies: a fully connected layer. Precondition: node.op() is kMatMul.
bool IsProductWithConstant(const Node& node);

}  // namespace qb
