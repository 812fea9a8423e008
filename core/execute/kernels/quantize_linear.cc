// QuantizeLinear, DequantizeLinear.
#include "core/ops/quantize_linear.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/execute/kernels/all_kernels.h"
#include "core/execute/kernels/axis_view.h"
#include "core/execute/kernels/clamp.h"
#include "core/execute/kernels/float16.h"

namespace qb::execute {
namespace {

// One element of any integer or float type as a double, which holds every value exactly that
// quantized models use.
double ReadNumber(const void* values, DType dtype, int64_t at) {
  switch (dtype) {
    case DType::kFloat32:
      return static_cast<const float*>(values)[at];
    case DType::kFloat64:
      return static_cast<const double*>(values)[at];
    case DType::kFloat16:
      return FloatFromHalf(static_cast<const Float16*>(values)[at]);
    case DType::kInt8:
      return static_cast<const int8_t*>(values)[at];
    case DType::kUint8:
      return static_cast<const uint8_t*>(values)[at];
    case DType::kInt16:
      return static_cast<const int16_t*>(values)[at];
    case DType::kUint16:
      return static_cast<const uint16_t*>(values)[at];
    case DType::kInt32:
      return static_cast<const int32_t*>(values)[at];
    case DType::kUint32:
      return static_cast<const uint32_t*>(values)[at];
    default:
      return static_cast<double>(static_cast<const int64_t*>(values)[at]);
  }
}

void WriteNumber(void* values, DType dtype, int64_t at, double value) {
  switch (dtype) {
    case DType::kFloat32:
      static_cast<float*>(values)[at] = static_cast<float>(value);
      break;
    case DType::kFloat64:
      static_cast<double*>(values)[at] = value;
      break;
    case DType::kFloat16:
      static_cast<Float16*>(values)[at] = HalfFromFloat(static_cast<float>(value));
      break;
    case DType::kInt8:
      static_cast<int8_t*>(values)[at] = ClampCast<int8_t>(value);
      break;
    case DType::kUint8:
      static_cast<uint8_t*>(values)[at] = ClampCast<uint8_t>(value);
      break;
    case DType::kInt16:
      static_cast<int16_t*>(values)[at] = ClampCast<int16_t>(value);
      break;
    case DType::kUint16:
      static_cast<uint16_t*>(values)[at] = ClampCast<uint16_t>(value);
      break;
    case DType::kInt32:
      static_cast<int32_t*>(values)[at] = ClampCast<int32_t>(value);
      break;
    case DType::kUint32:
      static_cast<uint32_t*>(values)[at] = ClampCast<uint32_t>(value);
      break;
    default:
      static_cast<int64_t*>(values)[at] = ClampCast<int64_t>(value);
      break;
  }
}

// Where the scale of each element is.
struct ScalePlace {
  AxisView view;
  int64_t block = 0;     // elements along the axis with one scale; 0: one scale for all
  bool per_row = false;  // the scales have the other axes too (blocks)

  int64_t Of(int64_t at) const {
    if (block == 0) {
      return 0;
    }
    const int64_t along = at / view.inner % view.axis;
    if (!per_row) {
      return along;
    }
    const int64_t blocks = (view.axis + block - 1) / block;
    const int64_t outer = at / (view.inner * view.axis);
    return (outer * blocks + along / block) * view.inner + at % view.inner;
  }
};

ScalePlace PlaceOf(const KernelRequest& request) {
  const auto& attrs = request.node->attrs<QuantizeLinearAttrs>();
  ScalePlace place;
  if (attrs.block_size > 0 || request.operand_shape(QuantizeLinearAttrs::kScale).elements() != 1) {
    place.view = ViewAlong(request.node->shape(), attrs.axis);
    place.block = std::max<int64_t>(attrs.block_size, 1);
    place.per_row = attrs.block_size > 0;
  }
  return place;
}

struct Types {
  DType x, scale, zero_point, result;
};

Types TypesOf(const KernelRequest& request) {
  return {request.operand_type(0).dtype, request.operand_type(1).dtype,
          request.operand_type(2).dtype, request.node->type().dtype};
}

}  // namespace

KernelOr MakeQuantizeLinear(const KernelRequest& request) {
  const int64_t count = request.node->shape().elements();
  return MakeBodyKernel(
      [=, place = PlaceOf(request), types = TypesOf(request)](const KernelArgs& args) {
        for (int64_t i = 0; i < count; ++i) {
          const int64_t at = place.Of(i);
          // In float, as the models were made: the rounding of the quotient decides ties.
          const float quotient = static_cast<float>(ReadNumber(args.operands[0], types.x, i)) /
                                 static_cast<float>(ReadNumber(args.operands[1], types.scale, at));
          const double code = std::nearbyint(static_cast<double>(quotient)) +
                              ReadNumber(args.operands[2], types.zero_point, at);
          WriteNumber(args.result, types.result, i, code);
        }
      });
}

KernelOr MakeDequantizeLinear(const KernelRequest& request) {
  const int64_t count = request.node->shape().elements();
  return MakeBodyKernel(
      [=, place = PlaceOf(request), types = TypesOf(request)](const KernelArgs& args) {
        for (int64_t i = 0; i < count; ++i) {
          const int64_t at = place.Of(i);
          const double steps = ReadNumber(args.operands[0], types.x, i) -
                               ReadNumber(args.operands[2], types.zero_point, at);
          WriteNumber(args.result, types.result, i,
                      steps * ReadNumber(args.operands[1], types.scale, at));
        }
      });
}

}  // namespace qb::execute
