// Conversion between element types.
#include <cmath>
#include <cstring>
#include <type_traits>

#include "core/execute/kernels/all_kernels.h"
#include "core/execute/kernels/clamp.h"
#include "core/execute/kernels/dtype_dispatch.h"
#include "core/execute/kernels/float16.h"

namespace qb::execute {
namespace {

// Calls visit(TypeTag<T>{}) for every dtype; Half and bool stand for themselves.
template <typename Visitor>
KernelOr DispatchAny(DType dtype, Visitor&& visit) {
  switch (dtype) {
    case DType::kFloat32:
      return visit(TypeTag<float>{});
    case DType::kUint8:
      return visit(TypeTag<uint8_t>{});
    case DType::kInt8:
      return visit(TypeTag<int8_t>{});
    case DType::kUint16:
      return visit(TypeTag<uint16_t>{});
    case DType::kInt16:
      return visit(TypeTag<int16_t>{});
    case DType::kInt32:
      return visit(TypeTag<int32_t>{});
    case DType::kInt64:
      return visit(TypeTag<int64_t>{});
    case DType::kBool:
      return visit(TypeTag<bool>{});
    case DType::kFloat16:
      return visit(TypeTag<Float16>{});
    case DType::kFloat64:
      return visit(TypeTag<double>{});
    case DType::kUint32:
      return visit(TypeTag<uint32_t>{});
    case DType::kUint64:
      return visit(TypeTag<uint64_t>{});
    case DType::kUndefined:
      break;
  }
  return absl::UnimplementedError(absl::StrCat("no conversion for ", DTypeName(dtype)));
}

template <typename To, typename From>
To Convert(From value) {
  if constexpr (std::is_same_v<From, Float16>) {
    return Convert<To>(FloatFromHalf(value));
  } else if constexpr (std::is_same_v<To, Float16>) {
    return HalfFromFloat(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From{0};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return ClampCast<To>(static_cast<double>(value));
  } else {
    return static_cast<To>(value);  // between integers: modulo 2^bits
  }
}

// A bool from a file may hold any byte; reading it as bool would be undefined.
template <typename T>
T Load(const void* base, int64_t index) {
  if constexpr (std::is_same_v<T, bool>) {
    return static_cast<const uint8_t*>(base)[index] != 0;
  } else {
    return static_cast<const T*>(base)[index];
  }
}

}  // namespace

KernelOr MakeCast(const KernelRequest& request) {
  const int64_t count = request.node->shape().elements();
  return DispatchAny(request.operand_type(0).dtype, [&](auto from_tag) {
    using From = typename decltype(from_tag)::type;
    return DispatchAny(request.node->type().dtype, [&](auto to_tag) -> KernelOr {
      using To = typename decltype(to_tag)::type;
      return MakeBodyKernel([count](const KernelArgs& args) {
        To* out = args.output<To>();
        for (int64_t i = 0; i < count; ++i) {
          out[i] = Convert<To>(Load<From>(args.operands[0], i));
        }
      });
    });
  });
}

}  // namespace qb::execute
