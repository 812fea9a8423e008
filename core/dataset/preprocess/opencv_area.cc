#include "core/dataset/preprocess/opencv_area.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <vector>

namespace qb {
namespace {

template <typename T>
T FromFloat(float value) {
  if constexpr (sizeof(T) == 1) {
    return static_cast<T>(std::clamp(std::nearbyint(value), 0.f, 255.f));
  } else {
    return value;
  }
}

// A share of a source pixel in an output pixel.
struct Share {
  int64_t from, to;
  float weight;
};

std::vector<Share> SharesOf(int64_t in, int64_t out, double scale) {
  std::vector<Share> shares;
  for (int64_t i = 0; i < out; ++i) {
    const double begin = static_cast<double>(i) * scale;
    const double end = begin + scale;
    const double cell = std::min(scale, static_cast<double>(in) - begin);
    int64_t first = static_cast<int64_t>(std::ceil(begin));
    const int64_t last = std::min(static_cast<int64_t>(std::floor(end)), in - 1);
    first = std::min(first, last);
    if (static_cast<double>(first) - begin > 1e-3) {
      shares.push_back(
          {first - 1, i, static_cast<float>((static_cast<double>(first) - begin) / cell)});
    }
    for (int64_t x = first; x < last; ++x) {
      shares.push_back({x, i, static_cast<float>(1.0 / cell)});
    }
    const double rest = end - static_cast<double>(last);
    if (rest > 1e-3) {
      shares.push_back({last, i, static_cast<float>(std::min(std::min(rest, 1.0), cell) / cell)});
    }
  }
  return shares;
}

template <typename T>
Tensor ByShares(const Tensor& image, ImageSize to, double scale_y, double scale_x) {
  const int64_t width = image.shape()[1], channels = image.shape()[2];
  const std::vector<Share> columns = SharesOf(width, to.width, scale_x);
  const std::vector<Share> rows = SharesOf(image.shape()[0], to.height, scale_y);
  const int64_t row = to.width * channels;
  Tensor result = Tensor::Allocate({image.dtype(), Shape{to.height, to.width, channels}});
  std::vector<float> line(static_cast<size_t>(row)), sum(static_cast<size_t>(row));
  const auto store = [&](int64_t y) {
    T* target = result.mutable_data<T>() + y * row;
    for (size_t x = 0; x < sum.size(); ++x) {
      target[x] = FromFloat<T>(sum[x]);
    }
  };
  for (size_t k = 0; k < rows.size(); ++k) {
    const T* source = image.data<T>() + rows[k].from * width * channels;
    std::fill(line.begin(), line.end(), 0.f);
    for (const Share& share : columns) {
      for (int64_t c = 0; c < channels; ++c) {
        line[static_cast<size_t>(share.to * channels + c)] +=
            static_cast<float>(source[share.from * channels + c]) * share.weight;
      }
    }
    const bool begins = k == 0 || rows[k].to != rows[k - 1].to;
    if (begins && k > 0) {
      store(rows[k - 1].to);
    }
    for (size_t x = 0; x < sum.size(); ++x) {
      const float product = rows[k].weight * line[x];
      sum[x] = begins ? product : sum[x] + product;
    }
  }
  if (!rows.empty()) {
    store(rows.back().to);
  }
  return result;
}

// Both scales are integers: plain sums of blocks.
template <typename T, typename Sum>
Tensor ByBlocks(const Tensor& image, ImageSize to, int64_t block_y, int64_t block_x) {
  const int64_t width = image.shape()[1], channels = image.shape()[2];
  const float scale = 1.f / static_cast<float>(block_y * block_x);
  const bool halves =
      sizeof(T) == 1 && block_y == 2 && block_x == 2 && channels != 2 && channels <= 4;
  Tensor result = Tensor::Allocate({image.dtype(), Shape{to.height, to.width, channels}});
  T* target = result.mutable_data<T>();
  for (int64_t y = 0; y < to.height; ++y) {
    for (int64_t x = 0; x < to.width; ++x) {
      const T* corner = image.data<T>() + (y * block_y * width + x * block_x) * channels;
      for (int64_t c = 0; c < channels; ++c) {
        Sum sum = 0;
        for (int64_t dy = 0; dy < block_y; ++dy) {
          for (int64_t dx = 0; dx < block_x; ++dx) {
            sum += corner[(dy * width + dx) * channels + c];
          }
        }
        *target++ = halves ? static_cast<T>((static_cast<int32_t>(sum) + 2) >> 2)
                           : FromFloat<T>(static_cast<float>(sum) * scale);
      }
    }
  }
  return result;
}

}  // namespace

Tensor OpencvAreaShrink(const Tensor& image, ImageSize to) {
  const bool bytes = image.dtype() == DType::kUint8;
  const auto scale_of = [](int64_t in, int64_t out) {
    return 1.0 / (static_cast<double>(out) / static_cast<double>(in));
  };
  const double scale_y = scale_of(image.shape()[0], to.height);
  const double scale_x = scale_of(image.shape()[1], to.width);
  const int64_t block_y = std::llround(scale_y), block_x = std::llround(scale_x);
  if (std::abs(scale_x - static_cast<double>(block_x)) < DBL_EPSILON &&
      std::abs(scale_y - static_cast<double>(block_y)) < DBL_EPSILON) {
    return bytes ? ByBlocks<uint8_t, int32_t>(image, to, block_y, block_x)
                 : ByBlocks<float, float>(image, to, block_y, block_x);
  }
  return bytes ? ByShares<uint8_t>(image, to, scale_y, scale_x)
               : ByShares<float>(image, to, scale_y, scale_x);
}

}  // namespace qb
