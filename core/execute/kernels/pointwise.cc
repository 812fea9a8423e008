// One operand, element by element.
#include "core/ops/pointwise.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "core/execute/kernels/all_kernels.h"
#include "core/execute/kernels/clamp.h"
#include "core/execute/kernels/dtype_dispatch.h"
#include "core/execute/kernels/exponential.h"
#include "core/execute/kernels/onednn_pointwise.h"

namespace qb::execute {
namespace {

constexpr float kSqrtHalf = 0.70710678f;

template <typename T>
bool IsBelowZero(T x) {
  if constexpr (std::is_signed_v<T>) {
    return x < T{0};
  } else {
    return false;
  }
}

template <typename T, typename Function>
std::unique_ptr<Kernel> MakeLoop(const KernelRequest& request, Function function) {
  const int64_t count = request.node->shape().elements();
  return MakeBodyKernel(
      [count, function](const KernelArgs& args) {
        const T* x = args.operand<T>(0);
        T* y = args.output<T>();
        for (int64_t i = 0; i < count; ++i) {
          y[i] = function(x[i]);
        }
      },
      {.in_place = true});
}

// By the definition in double: functions that no network spends its time in.
template <typename T>
KernelOr MakeByDefinition(const KernelRequest& request) {
  return MakeLoop<T>(request, [node = request.node](T x) {
    return static_cast<T>(EvaluatePointwise(*node, static_cast<double>(x)));
  });
}

// Clamps and piecewise linear functions: plain loops that the compiler vectorizes.
template <typename T>
KernelOr MakeLinear(const KernelRequest& request) {
  const Node& node = *request.node;
  switch (node.op()) {
    case OpKind::kRelu: {
      Clamp<T> clamp;
      clamp.low = T{0};
      return MakeLoop<T>(request, clamp);
    }
    case OpKind::kClip: {
      const auto& attrs = node.attrs<ClipAttrs>();
      return MakeLoop<T>(request, Clamp<T>{ClampCast<T>(attrs.clip_min_value),
                                           ClampCast<T>(attrs.clip_max_value)});
    }
    case OpKind::kLeakyRelu: {
      const T alpha = static_cast<T>(node.attrs<LeakyReluAttrs>().leaky_alpha);
      return MakeLoop<T>(request, [alpha](T x) { return x < T{0} ? alpha * x : x; });
    }
    case OpKind::kHardSigmoid: {
      const auto& attrs = node.attrs<HardSigmoidAttrs>();
      const T alpha = static_cast<T>(attrs.alpha);
      const T beta = static_cast<T>(attrs.beta);
      const Clamp<T> unit{T{0}, T{1}};
      return MakeLoop<T>(request, [=](T x) { return unit(alpha * x + beta); });
    }
    case OpKind::kHardSwish: {
      const Clamp<T> unit{T{0}, T{1}};
      return MakeLoop<T>(request, [=](T x) { return x * unit(x / T{6} + T{0.5}); });
    }
    case OpKind::kAbs:
      return MakeLoop<T>(request, [](T x) { return std::abs(x); });
    case OpKind::kNeg:
      return MakeLoop<T>(request, [](T x) { return -x; });
    case OpKind::kSqrt:
      return MakeLoop<T>(request, [](T x) { return std::sqrt(x); });
    case OpKind::kCeil:
      return MakeLoop<T>(request, [](T x) { return std::ceil(x); });
    case OpKind::kFloor:
      return MakeLoop<T>(request, [](T x) { return std::floor(x); });
    case OpKind::kRound:
      return MakeLoop<T>(request, [](T x) { return std::nearbyint(x); });
    case OpKind::kThresholdedRelu: {
      const T alpha = static_cast<T>(node.attrs<ThresholdedReluAttrs>().alpha);
      return MakeLoop<T>(request, [alpha](T x) { return x > alpha ? x : T{0}; });
    }
    default:
      return MakeByDefinition<T>(request);
  }
}

template <typename T>
KernelOr MakeTranscendental(const KernelRequest& request) {
  const Node& node = *request.node;
  switch (node.op()) {
    case OpKind::kSigmoid: {
      const T alpha = static_cast<T>(node.attrs<SigmoidAttrs>().alpha);
      return MakeLoop<T>(request, [alpha](T x) { return T{1} / (T{1} + std::exp(-alpha * x)); });
    }
    case OpKind::kTanh:
      return MakeLoop<T>(request, [](T x) { return std::tanh(x); });
    case OpKind::kSwish:
      return MakeLoop<T>(request, [](T x) { return x / (T{1} + std::exp(-x)); });
    case OpKind::kElu: {
      const T alpha = static_cast<T>(node.attrs<EluAttrs>().leaky_alpha);
      return MakeLoop<T>(request, [alpha](T x) { return x < T{0} ? alpha * std::expm1(x) : x; });
    }
    case OpKind::kExp:
      return MakeLoop<T>(request, [](T x) { return std::exp(x); });
    case OpKind::kLog:
      return MakeLoop<T>(request, [](T x) { return std::log(x); });
    case OpKind::kErf:
      if constexpr (std::is_same_v<T, float>) {
        return MakeLoop<T>(request, [](float x) { return ErrorFunction(x); });
      } else {
        return MakeLoop<T>(request, [](T x) { return std::erf(x); });
      }
    case OpKind::kGelu:
      if constexpr (std::is_same_v<T, float>) {
        if (!node.attrs<GeluAttrs>().approximate) {
          return MakeLoop<float>(
              request, [](float x) { return 0.5f * x * (1.0f + ErrorFunction(x * kSqrtHalf)); });
        }
      }
      return MakeByDefinition<T>(request);
    case OpKind::kSoftplus:
      // log(1 + e^x) without overflow for large x.
      return MakeLoop<T>(
          request, [](T x) { return std::log1p(std::exp(-std::abs(x))) + (x > T{0} ? x : T{0}); });
    default:
      return MakeLinear<T>(request);
  }
}

// Integers: what shapes and indices are computed with. Two's complement wraps in Abs and Neg.
template <typename T>
KernelOr MakeInteger(const KernelRequest& request) {
  using U = std::make_unsigned_t<T>;
  switch (request.node->op()) {
    case OpKind::kRelu:
      return MakeLoop<T>(request, [](T x) { return std::max(x, T{0}); });
    case OpKind::kSign:
      return MakeLoop<T>(request, [](T x) { return static_cast<T>((x > T{0}) - IsBelowZero(x)); });
    case OpKind::kShrink:
      return MakeLoop<T>(request, [node = request.node](T x) {
        return ClampCast<T>(EvaluatePointwise(*node, static_cast<double>(x)));
      });
    case OpKind::kClip: {
      const auto& attrs = request.node->attrs<ClipAttrs>();
      return MakeLoop<T>(request, Clamp<T>{ClampCast<T>(attrs.clip_min_value),
                                           ClampCast<T>(attrs.clip_max_value)});
    }
    case OpKind::kAbs:
      return MakeLoop<T>(request, [](T x) {
        return IsBelowZero(x) ? static_cast<T>(U{0} - static_cast<U>(x)) : x;
      });
    case OpKind::kNeg:
      return MakeLoop<T>(request, [](T x) { return static_cast<T>(U{0} - static_cast<U>(x)); });
    default:
      return absl::UnimplementedError("no kernel for integers");
  }
}

}  // namespace

KernelOr MakePointwise(const KernelRequest& request) {
  const DType dtype = request.node->type().dtype;
  if (dtype == DType::kFloat32 && HasOnednnPointwise(*request.node)) {
    return MakeOnednnPointwise(request);
  }
  return DispatchArithmetic(dtype, [&](auto tag) -> KernelOr {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>) {
      return MakeInteger<T>(request);
    } else {
      return MakeTranscendental<T>(request);
    }
  });
}

}  // namespace qb::execute
