#include "core/quantization/hessian/layer_moments.h"

#include <algorithm>
#include <utility>

#include "core/quantization/hessian/tap_matrix.h"
#include "core/quantization/hessian/tap_products.h"

namespace qb {
namespace {

// Elements of an unfolded input that lie in memory at once.
constexpr int64_t kMostUnfolded = int64_t{1} << 22;

std::vector<int16_t> WithoutZeroPoint(const LayerInputs& inputs, size_t sample) {
  const int64_t count = inputs.window.rows * inputs.window.columns * inputs.window.channels;
  std::vector<int16_t> values(static_cast<size_t>(count));
  if (inputs.dtype == DType::kInt16) {
    const auto* codes = static_cast<const int16_t*>(inputs.codes[sample]);
    std::copy(codes, codes + count, values.begin());
    return values;
  }
  const auto* codes = static_cast<const int8_t*>(inputs.codes[sample]);
  for (int64_t i = 0; i < count; ++i) {
    values[static_cast<size_t>(i)] = static_cast<int16_t>(codes[i] - inputs.zero_point);
  }
  return values;
}

// The float value less the quantized one, in steps of 1 / resolution codes.
std::vector<int16_t> Mismatch(const LayerInputs& inputs, const std::vector<int16_t>& quantized,
                              size_t sample) {
  const std::vector<int16_t>& real = (*inputs.real)[sample];
  std::vector<int16_t> off(quantized.size());
  for (size_t i = 0; i < off.size(); ++i) {
    const int64_t difference = int64_t{real[i]} - int64_t{quantized[i]} * inputs.resolution;
    off[i] = static_cast<int16_t>(std::clamp<int64_t>(difference, -32767, 32767));
  }
  return off;
}

void Divide(std::vector<double>& values, int64_t by) {
  for (double& value : values) {
    value /= static_cast<double>(by);
  }
}

std::vector<InputMoments> DepthwiseMoments(const LayerInputs& inputs, ThreadPool& pool) {
  const int64_t taps = inputs.window.kernel_h * inputs.window.kernel_w;
  const auto cells = static_cast<size_t>(taps * taps);
  const size_t all = cells * static_cast<size_t>(inputs.window.channels);
  // Sums are exact, so each worker may have its own.
  std::vector<std::vector<double>> h(static_cast<size_t>(pool.threads())), shift(h.size());
  pool.ParallelFor(static_cast<int64_t>(inputs.codes.size()), [&](int64_t sample, int worker) {
    const size_t at = static_cast<size_t>(worker);
    h[at].resize(all, 0.0);
    const std::vector<int16_t> x = WithoutZeroPoint(inputs, static_cast<size_t>(sample));
    AddDepthwiseProducts(inputs.window, x, x, h[at]);
    if (inputs.real != nullptr) {
      shift[at].resize(all, 0.0);
      AddDepthwiseProducts(inputs.window, Mismatch(inputs, x, static_cast<size_t>(sample)), x,
                           shift[at]);
    }
  });
  std::vector<InputMoments> moments(static_cast<size_t>(inputs.window.channels));
  for (size_t c = 0; c < moments.size(); ++c) {
    moments[c].taps = taps;
    moments[c].h.assign(cells, 0.0);
    moments[c].shift.assign(inputs.real != nullptr ? cells : 0, 0.0);
    for (size_t worker = 0; worker < h.size(); ++worker) {
      for (size_t i = 0; i < cells; ++i) {
        moments[c].h[i] += h[worker].empty() ? 0.0 : h[worker][c * cells + i];
        if (!shift[worker].empty()) {
          moments[c].shift[i] += shift[worker][c * cells + i];
        }
      }
    }
    Divide(moments[c].shift, inputs.resolution);
  }
  return moments;
}

InputMoments MomentsOfGroup(const LayerInputs& inputs, int64_t group, ThreadPool& pool) {
  const WindowGeometry& window = inputs.window;
  InputMoments moments;
  moments.taps = window.taps() / inputs.groups;
  const int64_t run =
      std::max<int64_t>(64, kMostUnfolded / std::max<int64_t>(1, moments.taps) / 2 * 2);
  TapProducts h(moments.taps), shift(inputs.real != nullptr ? moments.taps : 0);
  for (size_t sample = 0; sample < inputs.codes.size(); ++sample) {
    const std::vector<int16_t> x = WithoutZeroPoint(inputs, sample);
    const std::vector<int16_t> off =
        inputs.real != nullptr ? Mismatch(inputs, x, sample) : std::vector<int16_t>();
    for (int64_t first = 0; first < window.positions(); first += run) {
      const TapRange range{first, std::min(run, window.positions() - first), group, inputs.groups};
      const TapMatrix met = UnfoldTaps(window, x, range);
      h.Add(met, met, pool);
      if (inputs.real != nullptr) {
        shift.Add(UnfoldTaps(window, off, range), met, pool);
      }
    }
  }
  moments.h = std::move(h.sums());
  moments.shift = std::move(shift.sums());
  Divide(moments.shift, inputs.resolution);
  return moments;
}

}  // namespace

std::vector<InputMoments> MomentsOf(const LayerInputs& inputs, ThreadPool& pool) {
  if (inputs.groups > 1 && inputs.groups == inputs.window.channels) {
    return DepthwiseMoments(inputs, pool);
  }
  std::vector<InputMoments> moments;
  moments.reserve(static_cast<size_t>(inputs.groups));
  for (int64_t group = 0; group < inputs.groups; ++group) {
    moments.push_back(MomentsOfGroup(inputs, group, pool));
  }
  return moments;
}

}  // namespace qb
