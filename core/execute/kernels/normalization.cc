// Batch normalization and softmax.
#include "core/ops/normalization.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/execute/kernels/all_kernels.h"
#include "core/execute/kernels/axis_view.h"
#include "core/execute/kernels/exponential.h"
#include "core/execute/kernels/row_reduction.h"

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

// Softmax of a contiguous row; x may be y.
void SoftmaxRow(const float* x, float* y, int64_t count, float beta) {
  for (int64_t k = 0; k < count; ++k) {
    y[k] = beta * x[k];
  }
  const float largest = CombineRow(y, count, Largest<float>());
  for (int64_t k = 0; k < count; ++k) {
    y[k] = Exponential(y[k] - largest);
  }
  const float factor = 1.0f / CombineRow(y, count, Sum<float>());
  for (int64_t k = 0; k < count; ++k) {
    y[k] *= factor;
  }
}

// Softmax along an outer axis for up to kColumns neighbouring columns at a time: the loops run
// along the columns, so they vectorize. x may be y.
constexpr int64_t kColumns = 64;

void SoftmaxColumns(const float* x, float* y, const AxisView& view, int64_t columns, float beta) {
  float largest[kColumns];
  float sum[kColumns];
  std::fill_n(largest, columns, -std::numeric_limits<float>::infinity());
  std::fill_n(sum, columns, 0.0f);
  for (int64_t k = 0; k < view.axis; ++k) {
    for (int64_t i = 0; i < columns; ++i) {
      const float scaled = beta * x[k * view.inner + i];
      largest[i] = scaled > largest[i] ? scaled : largest[i];
    }
  }
  for (int64_t k = 0; k < view.axis; ++k) {
    for (int64_t i = 0; i < columns; ++i) {
      const float power = Exponential(beta * x[k * view.inner + i] - largest[i]);
      y[k * view.inner + i] = power;
      sum[i] += power;
    }
  }
  for (int64_t i = 0; i < columns; ++i) {
    sum[i] = 1.0f / sum[i];
  }
  for (int64_t k = 0; k < view.axis; ++k) {
    for (int64_t i = 0; i < columns; ++i) {
      y[k * view.inner + i] *= sum[i];
    }
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
          shift[c] =
              static_cast<float>(static_cast<double>(beta[c]) - a * static_cast<double>(mean[c]));
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
        const float* x = args.operand<float>(0);
        float* y = args.output<float>();
        const int64_t block = view.axis * view.inner;
        for (int64_t o = 0; o < view.outer; ++o, x += block, y += block) {
          if (view.inner == 1) {
            SoftmaxRow(x, y, view.axis, beta);
            continue;
          }
          for (int64_t i = 0; i < view.inner; i += kColumns) {
            SoftmaxColumns(x + i, y + i, view, std::min(kColumns, view.inner - i), beta);
          }
        }
      },
      {.in_place = true});
}

}  // namespace qb::execute
