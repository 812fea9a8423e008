#include "core/evaluate/layer_sums.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/base/check.h"
#include "core/evaluate/codes.h"
#include "core/integer/element_steps.h"
#include "core/integer/requant.h"

namespace qb {
namespace {

constexpr int64_t kCodesOf8Bits = 256;

void Pool(OutputSums& total, const OutputSums& sums) {
  total.signal += sums.signal;
  total.noise += sums.noise;
  total.other += sums.other;
  total.product += sums.product;
}

template <typename T>
void Pool(std::vector<T>& total, const std::vector<T>& sums) {
  total.resize(std::max(total.size(), sums.size()));
  for (size_t i = 0; i < sums.size(); ++i) {
    total[i] += sums[i];
  }
}

// What the codes of one channel cover.
HistogramRange RangeOf(const integer::TensorInfo& info, const integer::ElementSteps& steps,
                       size_t channel) {
  const double scale = steps.scale(channel);
  const int32_t zero_point = steps.zero_point(channel);
  return {scale * (integer::LeastCode(info.dtype) - zero_point),
          scale * (integer::MostCode(info.dtype) - zero_point)};
}

}  // namespace

void LayerSums::Add(const LayerSums& other) {
  Pool(single, other.single);
  Pool(entire, other.entire);
  Pool(rounding, other.rounding);
  elements += other.elements;
  saturated += other.saturated;
  clipped += other.clipped;
  Pool(channel_errors, other.channel_errors);
  Pool(bins, other.bins);
  Pool(codes, other.codes);
}

double LayerSums::BiasShare() const {
  if (entire.noise <= 0 || channel_errors.empty() || elements == 0) {
    return 0;
  }
  const double count =
      static_cast<double>(elements) / static_cast<double>(channel_errors.size());  // of a channel
  double energy = 0;
  for (const double sum : channel_errors) {
    energy += sum * sum / count;
  }
  return std::min(1.0, energy / entire.noise);
}

double LayerSums::DeadCodeShare(const integer::TensorInfo& info) const {
  if (codes.empty()) {
    return 0;
  }
  // Symmetric codes leave -128 unused by design.
  const size_t least = info.zero_point == 0 ? 1 : 0;
  const int64_t dead =
      std::count(codes.begin() + static_cast<int64_t>(least), codes.end(), int64_t{0});
  return static_cast<double>(dead) / static_cast<double>(codes.size() - least);
}

double LayerSums::EffectiveBits() const {
  const double all = static_cast<double>(std::accumulate(codes.begin(), codes.end(), int64_t{0}));
  double bits = 0;
  for (const int64_t count : codes) {
    if (count > 0) {
      const double share = static_cast<double>(count) / all;
      bits -= share * std::log2(share);
    }
  }
  return bits;
}

HistogramRange CodeRangeOf(const integer::TensorInfo& info) {
  const integer::ElementSteps steps(info);
  HistogramRange widest = RangeOf(info, steps, 0);
  for (size_t channel = 1; channel < steps.channels(); ++channel) {
    const HistogramRange range = RangeOf(info, steps, channel);
    widest = {std::min(widest.low, range.low), std::max(widest.high, range.high)};
  }
  return widest;
}

HistogramRange HistogramRangeOf(const integer::TensorInfo& info) {
  const HistogramRange codes = CodeRangeOf(info);
  const double half = (codes.high - codes.low) / 2;
  return {codes.low - half, codes.high + half};
}

void CountValues(const Tensor& real, const integer::TensorInfo& info, LayerSums& sums) {
  const HistogramRange codes = CodeRangeOf(info);  // the histogram spans the widest channel
  const integer::ElementSteps steps(info);
  std::vector<HistogramRange> ranges;
  ranges.reserve(steps.channels());
  for (size_t channel = 0; channel < steps.channels(); ++channel) {
    ranges.push_back(RangeOf(info, steps, channel));
  }
  constexpr int64_t kFirst = kHistogramBins / 4, kEnd = kHistogramBins - kFirst;  // of the codes
  const double bins_a_unit = static_cast<double>(kEnd - kFirst) / (codes.high - codes.low);
  sums.elements = real.elements();
  sums.bins.assign(static_cast<size_t>(kHistogramBins), 0);
  const absl::Span<const float> values = real.values<float>();
  for (size_t i = 0; i < values.size(); ++i) {
    const double x = values[i];
    const size_t channel = steps.ChannelOf(i);
    const auto [low, high] = ranges[channel];
    // Half a step beyond the last code still rounds to it.
    const double half_step = static_cast<double>(steps.scale(channel)) / 2;
    const bool saturates = x < low - half_step || x > high + half_step;
    const double least = saturates ? 0 : kFirst, most = saturates ? kHistogramBins - 1 : kEnd - 1;
    const double bin = std::clamp(kFirst + std::floor((x - codes.low) * bins_a_unit), least, most);
    ++sums.bins[static_cast<size_t>(bin)];
    if (saturates) {
      const double error = x - std::clamp(x, low, high);
      ++sums.saturated;
      sums.clipped += error * error;
    }
  }
  const Tensor rounded = QuantizeTensor(real, info);
  sums.rounding = CompareOutputs(real, DequantizeTensor(rounded, info));
  if (info.dtype == DType::kInt8) {
    sums.codes.assign(static_cast<size_t>(kCodesOf8Bits), 0);
    for (const int8_t code : rounded.values<int8_t>()) {
      ++sums.codes[static_cast<size_t>(code + 128)];
    }
  }
}

void CountErrors(const Tensor& real, const Tensor& executable, LayerSums& sums) {
  const Shape& shape = real.shape();
  const size_t channels =
      static_cast<size_t>(shape.rank() == 0 ? 1 : std::max<int64_t>(1, shape[shape.rank() - 1]));
  sums.channel_errors.assign(channels, 0);
  const absl::Span<const float> x = real.values<float>(), y = executable.values<float>();
  for (size_t i = 0; i < x.size(); i += channels) {
    for (size_t c = 0; c < channels; ++c) {
      sums.channel_errors[c] += static_cast<double>(y[i + c]) - static_cast<double>(x[i + c]);
    }
  }
}

void OrderedLayerSums::Add(int64_t sample, std::vector<LayerSums> layers) {
  absl::MutexLock lock(&mutex_);
  QB_CHECK(layers.size() == total_.size());
  waiting_.emplace(sample, std::move(layers));
  for (auto first = waiting_.begin(); first != waiting_.end() && first->first == next_;
       first = waiting_.erase(first), ++next_) {
    for (size_t i = 0; i < total_.size(); ++i) {
      total_[i].Add(first->second[i]);
    }
  }
}

std::vector<LayerSums> OrderedLayerSums::Take() {
  absl::MutexLock lock(&mutex_);
  QB_CHECK(waiting_.empty());
  return std::move(total_);
}

}  // namespace qb
