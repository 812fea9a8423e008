#include "core/quantization/table_shift.h"

#include <algorithm>
#include <cmath>

#include "core/integer/requant.h"
#include "core/integer/tables.h"

namespace qb {
namespace {

constexpr int kMostSteps = 6;
// Below this share of the table's steepest slope a mean says nothing about a shift.
constexpr double kLeastSlope = 1.0 / 64.0;

// The table of one channel over shifted counts.
class ChannelTable {
 public:
  ChannelTable(const integer::LutParams& table, const integer::TensorInfo& y, size_t channel,
               absl::Span<const int64_t> counts)
      : counts_(counts) {
    const integer::Requant requant = table.requant[table.requant.size() == 1 ? 0 : channel];
    const double step = static_cast<double>(y.scale) *
                        (y.channel_factors.empty() ? 1.0 : y.channel_factors[channel]);
    const int32_t low = integer::LeastCode(y.dtype) - y.zero_point;
    const int32_t high = integer::MostCode(y.dtype) - y.zero_point;
    const double multiplier = integer::MultiplierOf(requant);
    for (size_t knot = 0; knot < table.knots.size(); ++knot) {
      const double codes = table.knots[knot] * multiplier * (1 << integer::kKnotBits);
      values_.push_back(std::clamp<double>(codes, low, high) * step);
    }
    for (size_t knot = 1; knot < values_.size(); ++knot) {
      steepest_ = std::max(steepest_, std::abs(values_[knot] - values_[knot - 1]) / kKnotCodes);
    }
    double sum = 0.0, squares = 0.0;
    for (size_t bin = 0; bin < counts_.size(); ++bin) {
      const double weight = static_cast<double>(counts_[bin]);
      total_ += weight;
      sum += weight * CodeOfBin(bin);
      squares += weight * CodeOfBin(bin) * CodeOfBin(bin);
    }
    if (total_ > 0.0) {
      const double mean = sum / total_;
      deviation_ = std::sqrt(std::max(squares / total_ - mean * mean, 0.0));
    }
  }

  double deviation() const { return deviation_; }
  bool is_empty() const { return total_ == 0.0 || steepest_ == 0.0; }

  struct Point {
    double mean = 0.0, slope = 0.0;  // of the table's results, by code of the shift
  };
  Point At(double shift) const {
    Point point;
    for (size_t bin = 0; bin < counts_.size(); ++bin) {
      if (counts_[bin] == 0) {
        continue;
      }
      const double place = std::clamp(CodeOfBin(bin) + shift + 32768.0, 0.0, 65535.0) / kKnotCodes;
      const size_t knot = std::min(static_cast<size_t>(place), values_.size() - 2);
      const double rise = values_[knot + 1] - values_[knot];
      const double weight = static_cast<double>(counts_[bin]) / total_;
      point.mean += weight * (values_[knot] + rise * (place - static_cast<double>(knot)));
      point.slope += weight * rise / kKnotCodes;
    }
    return point;
  }
  bool IsFlat(double slope) const { return std::abs(slope) < kLeastSlope * steepest_; }

 private:
  static constexpr double kKnotCodes = 1 << integer::kKnotBits;

  static double CodeOfBin(size_t bin) {
    constexpr double kBin = 1 << CodeCounts::kBinBits;
    return static_cast<double>(bin) * kBin - 32768.0 + (kBin - 1.0) / 2.0;
  }

  absl::Span<const int64_t> counts_;
  std::vector<double> values_;  // at the knots, as the codes hold them
  double steepest_ = 0.0, total_ = 0.0, deviation_ = 0.0;
};

double ShiftForMean(const ChannelTable& channel, double want) {
  if (channel.is_empty()) {
    return 0.0;
  }
  const double most = channel.deviation();
  double shift = 0.0, best = 0.0;
  ChannelTable::Point point = channel.At(0.0);
  double least = std::abs(point.mean - want);
  for (int step = 0; step < kMostSteps && !channel.IsFlat(point.slope); ++step) {
    shift = std::clamp(shift - (point.mean - want) / point.slope, -most, most);
    point = channel.At(shift);
    if (std::abs(point.mean - want) >= least) {
      break;
    }
    least = std::abs(point.mean - want);
    best = shift;
  }
  return best;
}

}  // namespace

void CodeCounts::Add(absl::Span<const int16_t> codes) {
  size_t channel = 0;
  for (const int16_t code : codes) {
    const size_t bin = static_cast<size_t>((code + 32768) >> kBinBits);
    ++counts_[channel * kBins + bin];
    channel = channel + 1 == channels_ ? 0 : channel + 1;
  }
}

void CodeCounts::Add(const CodeCounts& other) {
  for (size_t i = 0; i < counts_.size(); ++i) {
    counts_[i] += other.counts_[i];
  }
}

std::vector<double> ShiftsForMeans(const integer::LutParams& table, const integer::TensorInfo& y,
                                   const CodeCounts& counts, absl::Span<const double> want) {
  std::vector<double> shifts;
  for (size_t channel = 0; channel < counts.channels(); ++channel) {
    shifts.push_back(
        ShiftForMean(ChannelTable(table, y, channel, counts.of_channel(channel)), want[channel]));
  }
  return shifts;
}

}  // namespace qb
