// Transpose, DepthToSpace, SpaceToDepth: permutations of dimensions.
#include <vector>

#include "core/execute/kernels/all_kernels.h"
#include "core/execute/kernels/permute.h"
#include "core/ops/movement.h"

namespace qb::execute {

KernelOr MakeTranspose(const KernelRequest& request) {
  return MakePermutation(request.node->type().dtype, request.operand_shape(0).dims(),
                         request.node->attrs<TransposeAttrs>().transpose_axes);
}

// The depth splits into (row block, column block, channel) for kDcr, (channel, row block, column
// block) for kCrd; the blocks move beside their spatial dimension.
KernelOr MakeDepthToSpace(const KernelRequest& request) {
  const auto& attrs = request.node->attrs<DepthSpaceAttrs>();
  const Shape& x = request.operand_shape(0);
  const int64_t b = attrs.block_size;
  const DType dtype = request.node->type().dtype;
  const bool dcr = attrs.order == DepthOrder::kDcr;
  if (attrs.channel_last) {
    const int64_t c = x[3] / (b * b);
    return dcr ? MakePermutation(dtype, {x[0], x[1], x[2], b, b, c}, {0, 1, 3, 2, 4, 5})
               : MakePermutation(dtype, {x[0], x[1], x[2], c, b, b}, {0, 1, 4, 2, 5, 3});
  }
  const int64_t c = x[1] / (b * b);
  return dcr ? MakePermutation(dtype, {x[0], b, b, c, x[2], x[3]}, {0, 3, 4, 1, 5, 2})
             : MakePermutation(dtype, {x[0], c, b, b, x[2], x[3]}, {0, 1, 4, 2, 5, 3});
}

KernelOr MakeSpaceToDepth(const KernelRequest& request) {
  const auto& attrs = request.node->attrs<DepthSpaceAttrs>();
  const Shape& x = request.operand_shape(0);
  const int64_t b = attrs.block_size;
  const DType dtype = request.node->type().dtype;
  if (attrs.channel_last) {
    return MakePermutation(dtype, {x[0], x[1] / b, b, x[2] / b, b, x[3]}, {0, 1, 3, 2, 4, 5});
  }
  return MakePermutation(dtype, {x[0], x[1], x[2] / b, b, x[3] / b, b}, {0, 3, 5, 1, 2, 4});
}

}  // namespace qb::execute
