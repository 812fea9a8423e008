// Batch normalization and softmax.
#include "core/ops/normalization.h"

#include <cmath>
#include <limits>

#include "core/execute/kernels/all_kernels.h"
#include "core/execute/kernels/axis_view.h"
#include "core/execute/kernels/exponential.h"

namespace qb::execute {
namespace {

// y = x * scale[c] + shift[c] over a value seen as [outer, C, inner].
void ScaleChannels(const AxisView& view, const float* scale, const float* shift, const float* x,
                   float* y) {
  if (view.inner == 1) {
    for (int64_t o = 0; o < view.outer; ++o, x += view.axis, y += view.axis) {
      for (int64_t c = 0; c < view.axis; ++c) {
        y[c] = x[c] * scale[c] + shift[c];
      }
    }
    return;
  }
  for (int64_t row = 0; row < view.outer * view.axis; ++row, x += view.inner, y += view.inner) {
    const float a = scale[row % view.axis];
    const float b = shift[row % view.axis];
    for (int64_t i = 0; i < view.inner; ++i) {
      y[i] = x[i] * a + b;
    }
  }
}

// Softmax along the axis, one column of `inner` at a time; `line` holds `axis` floats.
void SoftmaxLine(const float* x, float* y, int64_t axis, int64_t stride, float beta, float* line) {
  float largest = -std::numeric_limits<float>::infinity();
  for (int64_t k = 0; k < axis; ++k) {
    line[k] = beta * x[k * stride];
    largest = line[k] > largest ? line[k] : largest;
  }
  for (int64_t k = 0; k < axis; ++k) {
    line[k] = Exponential(line[k] - largest);
  }
  double sum = 0.0;
  for (int64_t k = 0; k < axis; ++k) {
    sum += static_cast<double>(line[k]);
  }
  const float factor = static_cast<float>(1.0 / sum);
  for (int64_t k = 0; k < axis; ++k) {
    y[k * stride] = line[k] * factor;
  }
}

absl::Status RequireFloat(const KernelRequest& request) {
  if (request.node->type().dtype != DType::kFloat32) {
    return absl::UnimplementedError(absl::StrCat(
        "no kernel for ", DTypeName(request.node->type().dtype), "; there is float32"));
  }
  return absl::OkStatus();
}

}  // namespace

KernelOr MakeBatchnorm(const KernelRequest& request) {
  if (absl::Status status = RequireFloat(request); !status.ok()) {
    return status;
  }
  const auto& attrs = request.node->attrs<BatchnormAttrs>();
  const AxisView view = ViewAlong(request.node->shape(), attrs.axis);
  const double epsilon = static_cast<double>(attrs.epsilon);
  const int64_t table_bytes = 2 * view.axis * static_cast<int64_t>(sizeof(float));
  return MakeBodyKernel(
      [view, epsilon](const KernelArgs& args) {
        float* scale = static_cast<float*>(args.scratch);
        float* shift = scale + view.axis;
        const float* gamma = args.operand<float>(BatchnormAttrs::kGamma);
        const float* beta = args.operand<float>(BatchnormAttrs::kBeta);
        const float* mean = args.operand<float>(BatchnormAttrs::kMean);
        const float* variance = args.operand<float>(BatchnormAttrs::kVariance);
        for (int64_t c = 0; c < view.axis; ++c) {
          const double a =
              static_cast<double>(gamma[c]) / std::sqrt(static_cast<double>(variance[c]) + epsilon);
          scale[c] = static_cast<float>(a);
          shift[c] = static_cast<float>(static_cast<double>(beta[c]) -
                                        a * static_cast<double>(mean[c]));
        }
        ScaleChannels(view, scale, shift, args.operand<float>(BatchnormAttrs::kInput),
                      args.output<float>());
      },
      {.scratch_bytes = table_bytes, .in_place = true});
}

KernelOr MakeSoftmax(const KernelRequest& request) {
  if (absl::Status status = RequireFloat(request); !status.ok()) {
    return status;
  }
  const auto& attrs = request.node->attrs<SoftmaxAttrs>();
  const AxisView view = ViewAlong(request.node->shape(), attrs.axis);
  const float beta = attrs.beta;
  return MakeBodyKernel(
      [view, beta](const KernelArgs& args) {
        float* line = static_cast<float*>(args.scratch);
        for (int64_t o = 0; o < view.outer; ++o) {
          for (int64_t i = 0; i < view.inner; ++i) {
            const int64_t at = o * view.axis * view.inner + i;
            SoftmaxLine(args.operand<float>(0) + at, args.output<float>() + at, view.axis,
                        view.inner, beta, line);
          }
        }
      },
      {.scratch_bytes = view.axis * static_cast<int64_t>(sizeof(float)), .in_place = true});
}

}  // namespace qb::execute
