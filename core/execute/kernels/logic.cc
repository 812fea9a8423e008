// Comparisons, logic, bits, the remainder and Where.
#include "core/ops/logic.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "core/execute/kernels/all_kernels.h"
#include "core/execute/kernels/binary_loop.h"
#include "core/execute/kernels/dtype_dispatch.h"

namespace qb::execute {
namespace {

template <typename T>
std::unique_ptr<Kernel> MakeComparison(const KernelRequest& request) {
  switch (request.node->attrs<TensorCmpAttrs>().kind) {
    case CmpKind::kEqual:
      return MakeBinaryLoop<T, uint8_t>(request, [](T a, T b) { return a == b; });
    case CmpKind::kNotEqual:
      return MakeBinaryLoop<T, uint8_t>(request, [](T a, T b) { return a != b; });
    case CmpKind::kLess:
      return MakeBinaryLoop<T, uint8_t>(request, [](T a, T b) { return a < b; });
    case CmpKind::kLessEqual:
      return MakeBinaryLoop<T, uint8_t>(request, [](T a, T b) { return a <= b; });
    case CmpKind::kGreater:
      return MakeBinaryLoop<T, uint8_t>(request, [](T a, T b) { return a > b; });
    case CmpKind::kGreaterEqual:
      break;
  }
  return MakeBinaryLoop<T, uint8_t>(request, [](T a, T b) { return a >= b; });
}

template <typename T>
T Shifted(T value, T by, bool left) {
  constexpr T kBits = sizeof(T) * 8;
  if (by >= kBits) {
    return T{0};
  }
  return left ? static_cast<T>(value << by) : static_cast<T>(value >> by);
}

// Of unsigned types; narrow ones came here as wider signed ones, whose values are not negative.
template <typename T>
std::unique_ptr<Kernel> MakeBits(const KernelRequest& request) {
  using U = std::make_unsigned_t<T>;
  switch (request.node->attrs<BitwiseAttrs>().kind) {
    case BitKind::kAnd:
      return MakeBinaryLoop<T, T>(request, [](T a, T b) { return static_cast<T>(a & b); });
    case BitKind::kOr:
      return MakeBinaryLoop<T, T>(request, [](T a, T b) { return static_cast<T>(a | b); });
    case BitKind::kXor:
      return MakeBinaryLoop<T, T>(request, [](T a, T b) { return static_cast<T>(a ^ b); });
    case BitKind::kShiftLeft:
      return MakeBinaryLoop<T, T>(request, [](T a, T b) {
        return static_cast<T>(Shifted(static_cast<U>(a), static_cast<U>(b), true));
      });
    case BitKind::kShiftRight:
      break;
  }
  return MakeBinaryLoop<T, T>(request, [](T a, T b) {
    return static_cast<T>(Shifted(static_cast<U>(a), static_cast<U>(b), false));
  });
}

template <typename T>
T Remainder(T a, T b, bool fmod) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fmod(a, b);
  } else if constexpr (std::is_unsigned_v<T>) {
    return static_cast<T>(a % b);
  } else {
    if (b == -1) {
      return T{0};  // the smallest number modulo -1 would overflow
    }
    const T remainder = static_cast<T>(a % b);
    const bool follows_divisor = remainder == 0 || (remainder < 0) == (b < 0);
    return fmod || follows_divisor ? remainder : static_cast<T>(remainder + b);
  }
}

template <typename T>
std::unique_ptr<Kernel> MakeRemainder(const KernelRequest& request) {
  const bool fmod = request.node->attrs<ModAttrs>().fmod;
  int64_t divisors = 0;  // to look at: dividing by 0 is fine for float types
  if constexpr (std::is_integral_v<T>) {
    divisors = request.operand_shape(1).elements();
  }
  return MakeBodyKernel(
      [loop = BroadcastLoop(request), fmod, divisors](const KernelArgs& args) -> absl::Status {
        const T* b = args.operand<T>(1);
        if (std::find(b, b + divisors, T{0}) != b + divisors) {
          return absl::InvalidArgumentError("a remainder of a division by zero");
        }
        RunBinaryLoop<T, T>(loop, args, [fmod](T x, T y) { return Remainder(x, y, fmod); });
        return absl::OkStatus();
      },
      {.in_place = true});
}

template <typename T>
std::unique_ptr<Kernel> MakeChoice(const KernelRequest& request) {
  const Shape& result = request.node->shape();
  StridedLoop<3> loop =
      JoinLoops<3>(result.dims(), {BroadcastStrides(request.operand_shape(0), result),
                                   BroadcastStrides(request.operand_shape(1), result),
                                   BroadcastStrides(request.operand_shape(2), result)});
  return MakeBodyKernel([loop = std::move(loop)](const KernelArgs& args) {
    const uint8_t* condition = args.operand<uint8_t>(0);
    const T* x = args.operand<T>(1);
    const T* y = args.operand<T>(2);
    T* out = args.output<T>();
    const int64_t c_stride = loop.strides[0].back();
    const int64_t x_stride = loop.strides[1].back();
    const int64_t y_stride = loop.strides[2].back();
    loop.ForEachRow([&](int64_t at, const std::array<int64_t, 3>& offsets) {
      for (int64_t i = 0; i < loop.inner(); ++i) {
        const T chosen = x[offsets[1] + i * x_stride];
        const T other = y[offsets[2] + i * y_stride];
        out[at + i] = condition[offsets[0] + i * c_stride] != 0 ? chosen : other;
      }
    });
  });
}

}  // namespace

KernelOr MakeTensorCmp(const KernelRequest& request) {
  if (request.operand_type(0).dtype == DType::kBool) {
    return MakeComparison<uint8_t>(request);
  }
  return DispatchArithmetic(request.operand_type(0).dtype, [&](auto tag) -> KernelOr {
    return MakeComparison<typename decltype(tag)::type>(request);
  });
}

KernelOr MakeLogical(const KernelRequest& request) {
  using Truth = uint8_t;
  switch (request.node->attrs<LogicalAttrs>().kind) {
    case LogicKind::kAnd:
      return MakeBinaryLoop<Truth, Truth>(request, [](Truth a, Truth b) { return a & b; });
    case LogicKind::kOr:
      return MakeBinaryLoop<Truth, Truth>(request, [](Truth a, Truth b) { return a | b; });
    case LogicKind::kXor:
      return MakeBinaryLoop<Truth, Truth>(request, [](Truth a, Truth b) { return a ^ b; });
    case LogicKind::kNot:
      break;
  }
  const int64_t count = request.node->shape().elements();
  return MakeBodyKernel(
      [count](const KernelArgs& args) {
        const Truth* x = args.operand<Truth>(0);
        std::transform(x, x + count, args.output<Truth>(), [](Truth value) { return value == 0; });
      },
      {.in_place = true});
}

KernelOr MakeBitwise(const KernelRequest& request) {
  return DispatchArithmetic(request.node->type().dtype, [&](auto tag) -> KernelOr {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>) {
      return MakeBits<T>(request);
    } else {
      return absl::UnimplementedError("no kernel for float types");
    }
  });
}

KernelOr MakeMod(const KernelRequest& request) {
  return DispatchArithmetic(request.node->type().dtype, [&](auto tag) -> KernelOr {
    return MakeRemainder<typename decltype(tag)::type>(request);
  });
}

KernelOr MakeWhere(const KernelRequest& request) {
  return DispatchSize(request.node->type().dtype, [&](auto tag) -> KernelOr {
    return MakeChoice<typename decltype(tag)::type>(request);
  });
}

}  // namespace qb::execute
