#include "core/calibration/histogram_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace qb {
namespace {

constexpr int kLeastPercent = 30;
constexpr double kFineStep = 0.002;
constexpr int kFineSteps = 5;  // each way: what the steps of 0.01 leave between them
constexpr double kGuard = 2.0;
constexpr int64_t kMostThresholds = 1024;

class Choice {
 public:
  Choice(const SignedHistogram& histogram, const HistogramRequest& request)
      : histogram_(histogram), request_(request), width_(histogram.bin_width()) {
    for (int64_t i = -histogram.bins(); i < histogram.bins(); ++i) {
      if (const int64_t count = histogram.count(i); count > 0) {
        filled_.push_back({(static_cast<double>(i) + 0.5) * width_, static_cast<double>(count)});
        total_ += count;
      }
    }
  }

  CodeEnds Run() const {
    switch (request_.objective) {
      case HistogramObjective::kMse:
        return LeastSquares();
      case HistogramObjective::kKl:
        return LeastDivergence();
      case HistogramObjective::kPercentile:
        return Percentiles();
    }
    return Extremes();
  }

 private:
  struct Bin {
    double center, count;
  };

  double largest() const { return std::max(request_.max, -request_.min); }

  // The ends at these shares of the extremes.
  CodeEnds At(double low_share, double high_share) const {
    if (request_.two_sided) {
      return {request_.min * low_share, request_.max * high_share};
    }
    const double threshold = largest() * high_share;
    return {request_.min < 0.0 ? -threshold : 0.0, threshold};
  }
  CodeEnds Extremes() const { return At(1.0, 1.0); }

  double Step(const CodeEnds& ends) const {
    return (request_.two_sided ? ends.high - ends.low : ends.high) / request_.levels;
  }

  double SquaredError(const CodeEnds& ends) const {
    const double step = Step(ends);
    if (!(step > 0.0)) {
      return std::numeric_limits<double>::infinity();
    }
    // A bin that is wide against the step says nothing about where between two codes values lie.
    const bool wide = 4.0 * width_ > step;
    const double rounding = step * step / 12.0;
    double error = 0.0;
    for (const Bin& bin : filled_) {
      const double held = std::clamp(bin.center, ends.low, ends.high);
      const double clipped = bin.center - held;
      const double rounded = held - std::nearbyint(held / step) * step;
      const double within = wide ? rounding : rounded * rounded;
      error += bin.count * (clipped * clipped + (clipped == 0.0 ? within : 0.0));
    }
    return error;
  }

  // The share in [0.30, 1] at which ends_at costs least; among equals the largest.
  template <typename EndsAt>
  double BestShare(const EndsAt& ends_at) const {
    double best = 1.0, least = SquaredError(ends_at(1.0));
    const auto attempt = [&](double share) {
      const double error = SquaredError(ends_at(share));
      if (error < least) {
        least = error;
        best = share;
      }
    };
    for (int percent = 99; percent >= kLeastPercent; --percent) {
      attempt(percent / 100.0);
    }
    const double coarse = best;
    for (int k = kFineSteps; k >= -kFineSteps; --k) {
      attempt(std::clamp(coarse + k * kFineStep, kLeastPercent / 100.0, 1.0));
    }
    return best;
  }

  CodeEnds LeastSquares() const {
    const double both = BestShare([&](double share) { return At(share, share); });
    if (!request_.two_sided) {
      return At(both, both);
    }
    const double high = BestShare([&](double share) { return At(both, share); });
    const double low = BestShare([&](double share) { return At(share, high); });
    return At(low, high);
  }

  // By magnitude, from zero outwards, up to the last filled bin.
  std::vector<double> Magnitudes() const {
    std::vector<double> counts(static_cast<size_t>(histogram_.bins()));
    for (int64_t i = 0; i < histogram_.bins(); ++i) {
      counts[static_cast<size_t>(i)] =
          static_cast<double>(histogram_.count(i) + histogram_.count(-1 - i));
    }
    while (counts.size() > 1 && counts.back() == 0.0) {
      counts.pop_back();
    }
    return counts;
  }

  CodeEnds ClippedAt(double threshold) const {
    if (request_.two_sided) {
      return {std::max(request_.min, -threshold), std::min(request_.max, threshold)};
    }
    const double held = std::min(threshold, largest());
    return {request_.min < 0.0 ? -held : 0.0, held};
  }

  CodeEnds LeastDivergence() const {
    const std::vector<double> counts = Magnitudes();
    const int64_t levels = request_.two_sided ? request_.levels / 2 + 1 : request_.levels + 1;
    const int64_t filled = static_cast<int64_t>(counts.size());
    const int64_t stride = std::max<int64_t>(1, (filled - levels) / kMostThresholds);
    int64_t best = filled;
    double least = std::numeric_limits<double>::infinity();
    for (int64_t kept = filled; kept >= levels; kept -= stride) {
      if (const double divergence = Divergence(counts, kept, levels); divergence < least) {
        least = divergence;
        best = kept;
      }
    }
    const CodeEnds chosen = ClippedAt(static_cast<double>(best) * width_);
    return SquaredError(chosen) > kGuard * SquaredError(Extremes()) ? Extremes() : chosen;
  }

  // KL(P || Q) over the first `kept` bins, in units of the total count.
  static double Divergence(const std::vector<double>& counts, int64_t kept, int64_t levels) {
    double clipped = 0.0, inside = 0.0;
    for (size_t i = 0; i < counts.size(); ++i) {
      (static_cast<int64_t>(i) < kept ? inside : clipped) += counts[i];
    }
    const double total = inside + clipped;
    if (!(inside > 0.0)) {
      return std::numeric_limits<double>::infinity();
    }
    double divergence = 0.0;
    for (int64_t level = 0; level < levels; ++level) {
      const int64_t begin = level * kept / levels, end = (level + 1) * kept / levels;
      const Level of_level = LevelOf(counts, begin, end);
      for (int64_t i = begin; i < end; ++i) {
        const double own = counts[static_cast<size_t>(i)];
        const double p = own + (i == kept - 1 ? clipped : 0.0);
        // An empty last bin that takes the clipped mass has no Q: less than one count of it.
        const double q = own > 0.0 ? of_level.mass / of_level.filled : 0.5;
        divergence += p > 0.0 ? p / total * std::log((p / total) / (q / inside)) : 0.0;
      }
    }
    return divergence;
  }

  struct Level {
    double mass = 0.0, filled = 0.0;
  };
  static Level LevelOf(const std::vector<double>& counts, int64_t begin, int64_t end) {
    Level level;
    for (int64_t i = begin; i < end; ++i) {
      level.mass += counts[static_cast<size_t>(i)];
      level.filled += counts[static_cast<size_t>(i)] > 0.0 ? 1.0 : 0.0;
    }
    return level;
  }

  CodeEnds Percentiles() const {
    if (request_.two_sided) {
      const double beyond = (1.0 - request_.percentile) / 2.0 * static_cast<double>(total_);
      return {-EndOf(beyond, true), EndOf(beyond, false)};
    }
    const double beyond = (1.0 - request_.percentile) * static_cast<double>(total_);
    const std::vector<double> counts = Magnitudes();
    double seen = 0.0;
    int64_t kept = static_cast<int64_t>(counts.size());
    while (kept > 0 && seen + counts[static_cast<size_t>(kept - 1)] <= beyond) {
      seen += counts[static_cast<size_t>(--kept)];
    }
    return ClippedAt(static_cast<double>(kept) * width_);
  }

  // The magnitude on one side that at most `beyond` values exceed.
  double EndOf(double beyond, bool negative) const {
    double seen = 0.0;
    int64_t kept = histogram_.bins();
    const auto count = [&](int64_t bin) {
      return static_cast<double>(histogram_.count(negative ? -1 - bin : bin));
    };
    while (kept > 0 && seen + count(kept - 1) <= beyond) {
      seen += count(--kept);
    }
    return std::min(static_cast<double>(kept) * width_, negative ? -request_.min : request_.max);
  }

  const SignedHistogram& histogram_;
  const HistogramRequest& request_;
  const double width_;
  std::vector<Bin> filled_;
  int64_t total_ = 0;
};

}  // namespace

int64_t CountBeyond(const SignedHistogram& histogram, double low, double high) {
  int64_t beyond = 0;
  for (int64_t i = 0; i < histogram.bins(); ++i) {
    const double edge = static_cast<double>(i) * histogram.bin_width();
    beyond +=
        (edge >= high ? histogram.count(i) : 0) + (-edge <= low ? histogram.count(-1 - i) : 0);
  }
  return beyond;
}

CodeEnds ChooseEnds(const SignedHistogram& histogram, const HistogramRequest& request) {
  return Choice(histogram, request).Run();
}

}  // namespace qb
