// Two operands with NumPy broadcasting.
#include "core/ops/elementwise.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include "core/execute/kernels/all_kernels.h"
#include "core/execute/kernels/binary_loop.h"
#include "core/execute/kernels/clamp.h"
#include "core/execute/kernels/dtype_dispatch.h"

namespace qb::execute {
namespace {

// Integers wrap around as in two's complement, which signed arithmetic of C++ does not promise.
template <typename T>
using Wrapping = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>,
                                             std::type_identity<T>>::type;

struct Add {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
  }
};
struct Subtract {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
  }
};
struct Multiply {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
  }
};
struct Divide {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_signed_v<T> && std::is_integral_v<T>) {
      // Zero was refused before the loop; the smallest number divided by -1 wraps.
      return b == -1 ? Subtract()(T{0}, a) : static_cast<T>(a / b);
    } else {
      return a / b;
    }
  }
};
struct Power {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(ClampCast<T>(std::pow(static_cast<double>(a), static_cast<double>(b))));
    } else {
      return std::pow(a, b);
    }
  }
};
struct Square {
  template <typename T>
  T operator()(T a, T /*two*/) const {
    return Multiply()(a, a);
  }
};
struct Maximum {
  template <typename T>
  T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};
struct Minimum {
  template <typename T>
  T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};

template <typename T>
bool ContainsZero(const T* values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if (values[i] == 0) {
      return true;
    }
  }
  return false;
}

template <typename T, typename Op>
std::unique_ptr<Kernel> MakeLoop(const KernelRequest& request, Op op) {
  const Clamp<T> clamp = ClampOf<T>(request.node->attrs<ElementwiseAttrs>().activation);
  // The divisors to look at before the loop; none where zero is fine.
  constexpr bool kRefusesZero = std::is_integral_v<T> && std::is_same_v<Op, Divide>;
  const int64_t checked = kRefusesZero ? request.operand_shape(1).elements() : 0;
  return MakeBodyKernel(
      [loop = BroadcastLoop(request), clamp, op, checked](const KernelArgs& args) -> absl::Status {
        if (ContainsZero(args.operand<T>(1), checked)) {
          return absl::InvalidArgumentError("integer division by zero");
        }
        RunBinaryLoop<T, T>(loop, args,
                            [clamp, op](T left, T right) { return clamp(op(left, right)); });
        return absl::OkStatus();
      },
      {.in_place = true});
}

template <typename T>
KernelOr MakePower(const KernelRequest& request) {
  const Tensor* exponent = request.constant(1);
  if (exponent != nullptr && exponent->elements() == 1 && exponent->values<T>()[0] == T{2}) {
    return MakeLoop<T>(request, Square());
  }
  return MakeLoop<T>(request, Power());
}

template <typename T>
KernelOr MakeTyped(const KernelRequest& request) {
  switch (request.node->op()) {
    case OpKind::kAdding:
      return MakeLoop<T>(request, Add());
    case OpKind::kSub:
      return MakeLoop<T>(request, Subtract());
    case OpKind::kMultiply:
      return MakeLoop<T>(request, Multiply());
    case OpKind::kDiv:
      return MakeLoop<T>(request, Divide());
    case OpKind::kPow:
      return MakePower<T>(request);
    case OpKind::kMaximum:
      return MakeLoop<T>(request, Maximum());
    default:
      QB_CHECK(request.node->op() == OpKind::kMinimum);
      return MakeLoop<T>(request, Minimum());
  }
}

}  // namespace

KernelOr MakeElementwise(const KernelRequest& request) {
  return DispatchArithmetic(request.node->type().dtype, [&](auto tag) {
    return MakeTyped<typename decltype(tag)::type>(request);
  });
}

}  // namespace qb::execute
