// Max and average pooling, global average pooling.
#include "core/ops/pooling.h"

#include <algorithm>
#include <limits>

#include "core/execute/kernels/all_kernels.h"
#include "core/execute/kernels/onednn_pooling.h"

namespace qb::execute {
namespace {

// One spatial dimension of a window: operand positions start, start + dilation, ... below `end`,
// all inside the operand.
struct Window {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t divisor = 0;  // positions that an average counts
};

struct Span1D {
  int64_t size, kernel, stride, dilation, pad_before, pad_after;
};

Window WindowAt(const Span1D& span, int64_t position, bool count_padding) {
  const int64_t start = position * span.stride - span.pad_before;
  const int64_t stop = start + (span.kernel - 1) * span.dilation + 1;
  Window window;
  window.begin = start;
  if (window.begin < 0) {
    window.begin += (-start + span.dilation - 1) / span.dilation * span.dilation;
  }
  window.end = std::min(stop, span.size);
  const auto positions = [&](int64_t begin, int64_t end) {
    return end <= begin ? 0 : (end - begin + span.dilation - 1) / span.dilation;
  };
  // Padding counts up to the padded border; what ceil_mode adds beyond it never does.
  window.divisor = count_padding ? positions(start, std::min(stop, span.size + span.pad_after))
                                 : positions(window.begin, window.end);
  return window;
}

struct PoolGeometry {
  int64_t batch, channels;
  Span1D rows, columns;
  int64_t result_rows, result_columns;
  PoolType type;
  bool count_padding;
};

PoolGeometry GeometryOf(const KernelRequest& request) {
  const auto& attrs = request.node->attrs<PoolingAttrs>();
  const Shape& x = request.operand_shape(0);
  const Shape& y = request.node->shape();
  const int64_t h = attrs.channel_last ? 1 : 2;
  PoolGeometry pool;
  pool.batch = x[0];
  pool.channels = attrs.channel_last ? x[3] : x[1];
  pool.rows = {x[h],
               attrs.h_kernel,
               attrs.h_stride,
               attrs.h_dilation,
               attrs.north_padding,
               attrs.south_padding};
  pool.columns = {x[h + 1],         attrs.w_kernel,     attrs.w_stride,
                  attrs.w_dilation, attrs.west_padding, attrs.east_padding};
  pool.result_rows = y[h];
  pool.result_columns = y[h + 1];
  pool.type = attrs.pool_type;
  pool.count_padding = attrs.is_include_pad;
  return pool;
}

// An image of interleaved channels: element (row, column, c) is at
// data[row * row_stride + column * channels + c].
struct Image {
  const float* data;
  int64_t row_stride;
  int64_t channels;
};

struct Combine {
  PoolType type;
  float operator()(float combined, float cell) const {
    if (type == PoolType::kAverage) {
      return combined + cell;
    }
    return combined < cell ? cell : combined;
  }
};

// Combines the window into one value for each channel.
void PoolWindow(const PoolGeometry& pool, const Window& rows, const Window& columns,
                const Image& image, float* y) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  const Combine combine{pool.type};
  // NOLINTNEXTLINE(bugprone-narrowing-conversions): infinity is a float
  std::fill_n(y, image.channels, pool.type == PoolType::kMax ? kLowest : 0.0f);
  for (int64_t r = rows.begin; r < rows.end; r += pool.rows.dilation) {
    for (int64_t c = columns.begin; c < columns.end; c += pool.columns.dilation) {
      const float* cell = image.data + r * image.row_stride + c * image.channels;
      for (int64_t k = 0; k < image.channels; ++k) {
        y[k] = combine(y[k], cell[k]);
      }
    }
  }
  if (pool.type == PoolType::kAverage) {
    const float divisor = static_cast<float>(std::max<int64_t>(rows.divisor * columns.divisor, 1));
    for (int64_t k = 0; k < image.channels; ++k) {
      y[k] /= divisor;
    }
  }
}

// `planes` images of `channels` interleaved channels each: NHWC is (N, C), NCHW is (N C, 1).
KernelOr MakeLoops(const PoolGeometry& pool, int64_t planes, int64_t channels) {
  return MakeBodyKernel([pool, planes, channels](const KernelArgs& args) {
    Image image{args.operand<float>(0), pool.columns.size * channels, channels};
    float* y = args.output<float>();
    for (int64_t p = 0; p < planes; ++p, image.data += pool.rows.size * image.row_stride) {
      for (int64_t r = 0; r < pool.result_rows; ++r) {
        const Window rows = WindowAt(pool.rows, r, pool.count_padding);
        for (int64_t c = 0; c < pool.result_columns; ++c, y += channels) {
          PoolWindow(pool, rows, WindowAt(pool.columns, c, pool.count_padding), image, y);
        }
      }
    }
  });
}

absl::Status RequireFloat(const KernelRequest& request) {
  if (request.node->type().dtype != DType::kFloat32) {
    return absl::UnimplementedError(absl::StrCat(
        "no kernel for ", DTypeName(request.node->type().dtype), "; there is float32"));
  }
  return absl::OkStatus();
}

}  // namespace

KernelOr MakePooling(const KernelRequest& request) {
  if (absl::Status status = RequireFloat(request); !status.ok()) {
    return status;
  }
  if (OnednnPoolingMatches(*request.node)) {
    KernelOr primitive = MakeOnednnPooling(request);
    if (primitive.ok()) {
      return primitive;
    }
  }
  const PoolGeometry pool = GeometryOf(request);
  return request.node->attrs<PoolingAttrs>().channel_last
             ? MakeLoops(pool, pool.batch, pool.channels)
             : MakeLoops(pool, pool.batch * pool.channels, 1);
}

KernelOr MakeGlobalAveragePooling(const KernelRequest& request) {
  if (absl::Status status = RequireFloat(request); !status.ok()) {
    return status;
  }
  const Shape& x = request.operand_shape(0);
  const bool channel_last = request.node->attrs<GlobalAveragePoolingAttrs>().channel_last;
  const int64_t planes = channel_last ? x[0] : x[0] * x[1];
  const int64_t channels = channel_last ? x[3] : 1;
  const int64_t cells = x.elements() / std::max<int64_t>(planes * channels, 1);
  if (cells == 0) {
    return absl::InvalidArgumentError("the operand has no elements");
  }
  return MakeBodyKernel(
      [planes, channels, cells](const KernelArgs& args) {
        const float* x = args.operand<float>(0);
        double* sums = static_cast<double*>(args.scratch);
        float* y = args.output<float>();
        for (int64_t p = 0; p < planes; ++p, y += channels) {
          std::fill_n(sums, channels, 0.0);
          for (int64_t cell = 0; cell < cells; ++cell, x += channels) {
            for (int64_t c = 0; c < channels; ++c) {
              sums[c] += static_cast<double>(x[c]);
            }
          }
          for (int64_t c = 0; c < channels; ++c) {
            y[c] = static_cast<float>(sums[c] / static_cast<double>(cells));
          }
        }
      },
      {.scratch_bytes = channels * static_cast<int64_t>(sizeof(double))});
}

}  // namespace qb::execute
