// Normalizations by statistics of the sample: layers, groups of channels, root mean squares.
#include <cmath>
#include <type_traits>

#include "core/execute/kernels/all_kernels.h"
#include "core/execute/kernels/dtype_dispatch.h"
#include "core/execute/kernels/row_reduction.h"
#include "core/ops/normalization.h"

namespace qb::execute {
namespace {

struct SumOfSquares {
  template <typename T>
  static T Of(const T* x, int64_t count, T mean) {
    constexpr int64_t kLanes = 16;
    T lanes[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      for (int64_t k = 0; k < kLanes; ++k) {
        const T d = x[i + k] - mean;
        lanes[k] += d * d;
      }
    }
    for (int64_t k = 0; i < count; ++i, ++k) {
      const T d = x[i] - mean;
      lanes[k] += d * d;
    }
    return CombineRow(lanes, kLanes, Sum<T>());
  }
};

// [rows, length]: y = (x - mean) * factor, with mean 0 for root mean squares.
template <typename T>
void Standardize(const T* x, T* y, int64_t length, T epsilon, bool centered) {
  const T count = static_cast<T>(length);
  const T mean = centered ? CombineRow(x, length, Sum<T>()) / count : T{0};
  const T variance = SumOfSquares::Of(x, length, mean) / count;
  const T factor = T{1} / std::sqrt(variance + epsilon);
  for (int64_t i = 0; i < length; ++i) {
    y[i] = (x[i] - mean) * factor;
  }
}

template <typename Body>
KernelOr DispatchFloats(const KernelRequest& request, Body&& body) {
  return DispatchArithmetic(request.node->type().dtype, [&](auto tag) -> KernelOr {
    if constexpr (std::is_floating_point_v<typename decltype(tag)::type>) {
      return body(tag);
    } else {
      return absl::UnimplementedError("no kernel for integers");
    }
  });
}

}  // namespace

KernelOr MakeLayerNormalization(const KernelRequest& request) {
  const bool centered = request.node->op() == OpKind::kLayerNormalization;
  const float epsilon = centered ? request.node->attrs<LayerNormalizationAttrs>().epsilon
                                 : request.node->attrs<RmsNormalizationAttrs>().epsilon;
  const int64_t length = request.operand_shape(1).elements();
  const int64_t rows = request.node->shape().elements() / length;
  const bool has_bias = request.node->operand_count() > LayerNormalizationAttrs::kBias;
  return DispatchFloats(request, [=](auto tag) -> KernelOr {
    using T = typename decltype(tag)::type;
    return MakeBodyKernel([=](const KernelArgs& args) {
      const T* x = args.operand<T>(0);
      const T* scale = args.operand<T>(LayerNormalizationAttrs::kScale);
      const T* bias = has_bias ? args.operand<T>(LayerNormalizationAttrs::kBias) : nullptr;
      T* y = args.output<T>();
      for (int64_t r = 0; r < rows; ++r, x += length, y += length) {
        Standardize(x, y, length, static_cast<T>(epsilon), centered);
        for (int64_t i = 0; i < length; ++i) {
          y[i] = y[i] * scale[i] + (bias != nullptr ? bias[i] : T{0});
        }
      }
    });
  });
}

KernelOr MakeGroupNormalization(const KernelRequest& request) {
  const auto& attrs = request.node->attrs<GroupNormalizationAttrs>();
  const Shape& shape = request.node->shape();
  const int64_t channels = shape[1];
  const int64_t pixels = shape.elements() / (shape[0] * channels);
  const int64_t channels_a_group = channels / attrs.num_groups;
  const int64_t groups = shape[0] * attrs.num_groups;
  return DispatchFloats(request, [=, epsilon = attrs.epsilon](auto tag) -> KernelOr {
    using T = typename decltype(tag)::type;
    return MakeBodyKernel([=](const KernelArgs& args) {
      const T* scale = args.operand<T>(GroupNormalizationAttrs::kScale);
      const T* bias = args.operand<T>(GroupNormalizationAttrs::kBias);
      const T* x = args.operand<T>(0);
      T* y = args.output<T>();
      const int64_t length = channels_a_group * pixels;
      for (int64_t g = 0; g < groups; ++g, x += length, y += length) {
        Standardize(x, y, length, static_cast<T>(epsilon), /*centered=*/true);
        for (int64_t c = 0; c < channels_a_group; ++c) {
          const int64_t channel = (g * channels_a_group + c) % channels;
          for (int64_t i = c * pixels; i < (c + 1) * pixels; ++i) {
            y[i] = y[i] * scale[channel] + bias[channel];
          }
        }
      }
    });
  });
}

}  // namespace qb::execute
