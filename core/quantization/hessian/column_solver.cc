#include "core/quantization/hessian/column_solver.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "core/quantization/hessian/inverse_factor.h"

namespace qb {
namespace {

constexpr int64_t kRowsAtOnce = 16;
// Up to so many taps, several roundings of each column are followed instead of the nearest alone.
constexpr int64_t kMostBeamTaps = 32;
constexpr size_t kBeamWidth = 32;
constexpr double kSmallestScale = 1e-30;

// to[j] += factor * from[j].
void AddScaled(double factor, const double* from, double* to, int64_t count) {
  for (int64_t j = 0; j < count; ++j) {
    to[j] += factor * from[j];
  }
}

std::vector<double> Permuted(const std::vector<double>& matrix, const std::vector<int64_t>& order) {
  const auto n = static_cast<int64_t>(order.size());
  std::vector<double> permuted(matrix.size());
  for (int64_t i = 0; i < static_cast<int64_t>(permuted.size()); ++i) {
    permuted[static_cast<size_t>(i)] = matrix[static_cast<size_t>(
        order[static_cast<size_t>(i / n)] * n + order[static_cast<size_t>(i % n)])];
  }
  return permuted;
}

double NearestCode(double value, double scale, int most) {
  return std::clamp(std::nearbyint(value / scale), -static_cast<double>(most),
                    static_cast<double>(most));
}

}  // namespace

// Rows [0, count) x columns, at one scale a row.
struct ColumnSolver::Batch {
  int64_t count = 0;
  int most = 127;
  const double* targets = nullptr;    // [count, taps]: what the weights are before rounding
  std::vector<double> scales;         // [count]
  std::vector<double> work;           // [count, taps]: weights as they are by now
  std::vector<double> codes, errors;  // [count, taps]
  std::vector<double> losses;         // [count]
};

ColumnSolver::ColumnSolver(const InputMoments& moments, const ColumnSolverOptions& options)
    : options_(options), taps_(moments.taps), order_(static_cast<size_t>(moments.taps)) {
  std::iota(order_.begin(), order_.end(), int64_t{0});
  const auto diagonal = [&](int64_t tap) {
    return moments.h[static_cast<size_t>(tap * moments.taps + tap)];
  };
  if (options.act_order) {
    std::stable_sort(order_.begin(), order_.end(),
                     [&](int64_t a, int64_t b) { return diagonal(a) > diagonal(b); });
  }
  h_ = Permuted(moments.h, order_);
  shift_ = Permuted(moments.shift, order_);
  double mean = 0.0;
  for (int64_t i = 0; i < taps_; ++i) {
    mean += diagonal(i) / static_cast<double>(taps_);
  }
  std::vector<double> damped = h_;
  for (int64_t i = 0; i < taps_; ++i) {
    // A tap that never meets anything has no say about the others.
    double& own = damped[static_cast<size_t>(i * taps_ + i)];
    own = own > 0.0 ? own : mean;
  }
  upper_ = FactorInverse(damped, taps_, std::max(options.damping_share, 1e-9) * mean).upper;
  if (options.solver != HessianSolver::kAsymmetricCausal) {
    return;
  }
  // Carried of column i: alpha * (strictly upper part of shift U^T)_i U.
  carry_.assign(static_cast<size_t>(taps_ * taps_), 0.0);
  for (int64_t i = 0; i < taps_; ++i) {
    for (int64_t k = i + 1; k < taps_; ++k) {
      const double* u = upper_.data() + k * taps_;
      double product = 0.0;
      for (int64_t f = k; f < taps_; ++f) {
        product += shift_[static_cast<size_t>(i * taps_ + f)] * u[f];
      }
      AddScaled(options.alpha * product, u + k, carry_.data() + i * taps_ + k, taps_ - k);
    }
  }
}

// Weights in the order of columns; refitted where the solver asks for it.
void ColumnSolver::FitTargets(absl::Span<const float> weights, std::vector<double>& targets) const {
  const auto rows = static_cast<int64_t>(weights.size()) / taps_;
  targets.resize(weights.size());
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < taps_; ++i) {
      targets[static_cast<size_t>(r * taps_ + i)] =
          weights[static_cast<size_t>(r * taps_ + order_[static_cast<size_t>(i)])];
    }
  }
  if (options_.solver != HessianSolver::kAsymmetricRefit) {
    return;
  }
  // w + w shift H^-1, with H^-1 = U^T U.
  std::vector<double> missing(static_cast<size_t>(taps_)), half(missing.size());
  for (int64_t r = 0; r < rows; ++r) {
    double* row = targets.data() + r * taps_;
    std::fill(missing.begin(), missing.end(), 0.0);
    for (int64_t i = 0; i < taps_; ++i) {
      AddScaled(row[i], shift_.data() + i * taps_, missing.data(), taps_);
    }
    for (int64_t k = 0; k < taps_; ++k) {
      double sum = 0.0;
      for (int64_t f = k; f < taps_; ++f) {
        sum += upper_[static_cast<size_t>(k * taps_ + f)] * missing[static_cast<size_t>(f)];
      }
      half[static_cast<size_t>(k)] = sum;
    }
    for (int64_t k = 0; k < taps_; ++k) {
      AddScaled(half[static_cast<size_t>(k)], upper_.data() + k * taps_ + k, row + k, taps_ - k);
    }
  }
}

std::vector<ColumnSolver::Row> ColumnSolver::Solve(absl::Span<const float> weights, int most,
                                                   absl::Span<const double> scale_shares,
                                                   ThreadPool& pool) const {
  std::vector<double> targets;
  FitTargets(weights, targets);
  const auto rows = static_cast<int64_t>(weights.size()) / taps_;
  std::vector<Row> solved(static_cast<size_t>(rows));
  pool.ParallelFor((rows + kRowsAtOnce - 1) / kRowsAtOnce, [&](int64_t batch, int) {
    const int64_t first = batch * kRowsAtOnce;
    SolveRows(targets.data() + first * taps_, most, scale_shares,
              absl::MakeSpan(solved).subspan(static_cast<size_t>(first), kRowsAtOnce));
  });
  return solved;
}

namespace {

double LargestMagnitude(const double* values, int64_t count) {
  double largest = 0.0;
  for (int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::abs(values[i]));
  }
  return largest;
}

double ScaleOf(double largest, int most, double share) {
  return static_cast<float>(std::max(largest * share / most, kSmallestScale));
}

}  // namespace

void ColumnSolver::SolveRows(const double* targets, int most, absl::Span<const double> shares,
                             absl::Span<Row> rows) const {
  const auto count = static_cast<int64_t>(rows.size());
  if (taps_ <= kMostBeamTaps) {
    for (int64_t r = 0; r < count; ++r) {
      rows[static_cast<size_t>(r)] = SolveByBeam(targets + r * taps_, most, shares);
    }
    return;
  }
  Batch batch;
  batch.count = count;
  batch.most = most;
  batch.targets = targets;
  const size_t cells = static_cast<size_t>(count * taps_);
  batch.codes.resize(cells);
  batch.errors.resize(cells);
  std::vector<double> best(static_cast<size_t>(count), std::numeric_limits<double>::infinity());
  for (const double share : shares) {
    batch.scales.clear();
    for (int64_t r = 0; r < count; ++r) {
      batch.scales.push_back(
          ScaleOf(LargestMagnitude(batch.targets + r * taps_, taps_), most, share));
    }
    RoundBatch(batch);
    for (int64_t r = 0; r < count; ++r) {
      const size_t at = static_cast<size_t>(r);
      if (!(batch.losses[at] < best[at])) {
        continue;
      }
      best[at] = batch.losses[at];
      Row& row = rows[at];
      row.scale = static_cast<float>(batch.scales[at]);
      row.loss = batch.losses[at];
      row.codes.resize(static_cast<size_t>(taps_));
      for (int64_t i = 0; i < taps_; ++i) {
        row.codes[static_cast<size_t>(order_[static_cast<size_t>(i)])] =
            static_cast<int8_t>(batch.codes[static_cast<size_t>(r * taps_ + i)]);
      }
    }
  }
}

void ColumnSolver::RoundBatch(Batch& batch) const {
  batch.work.assign(batch.targets, batch.targets + batch.count * taps_);
  batch.losses.assign(static_cast<size_t>(batch.count), 0.0);
  for (int64_t begin = 0; begin < taps_; begin += options_.block_size) {
    const int64_t end = std::min(begin + options_.block_size, taps_);
    for (int64_t i = begin; i < end; ++i) {
      const double* u = upper_.data() + i * taps_;
      for (int64_t r = 0; r < batch.count; ++r) {
        double* row = batch.work.data() + r * taps_;
        const double scale = batch.scales[static_cast<size_t>(r)];
        const double code = NearestCode(row[i], scale, batch.most);
        const double error = (row[i] - scale * code) / u[i];
        batch.codes[static_cast<size_t>(r * taps_ + i)] = code;
        batch.errors[static_cast<size_t>(r * taps_ + i)] = error;
        batch.losses[static_cast<size_t>(r)] += error * error;
        AddScaled(-error, u + i + 1, row + i + 1, end - i - 1);
        if (!carry_.empty()) {
          AddScaled(batch.targets[r * taps_ + i], carry_.data() + i * taps_ + i + 1, row + i + 1,
                    end - i - 1);
        }
      }
    }
    if (end < taps_) {
      PassOn(batch, begin, end);
      if (options_.rescomp) {
        Compensate(batch, end);
      }
    }
  }
}

// What the columns [begin, end) owe to those behind them.
void ColumnSolver::PassOn(Batch& batch, int64_t begin, int64_t end) const {
  for (int64_t i = begin; i < end; ++i) {
    const double* u = upper_.data() + i * taps_ + end;
    for (int64_t r = 0; r < batch.count; ++r) {
      double* rest = batch.work.data() + r * taps_ + end;
      AddScaled(-batch.errors[static_cast<size_t>(r * taps_ + i)], u, rest, taps_ - end);
      if (!carry_.empty()) {
        AddScaled(batch.targets[r * taps_ + i], carry_.data() + i * taps_ + end, rest, taps_ - end);
      }
    }
  }
}

// The gradient of the squared distance to the float model's result, taken to its zero by the
// columns from `end` on, alpha of the way: g = w (H + shift) - w' H, and g_F (H_FF)^-1 = g_F U_FF^T
// U_FF.
void ColumnSolver::Compensate(Batch& batch, int64_t end) const {
  std::vector<double> gradient(static_cast<size_t>(taps_));
  for (int64_t r = 0; r < batch.count; ++r) {
    double* row = batch.work.data() + r * taps_;
    std::fill(gradient.begin(), gradient.end(), 0.0);
    for (int64_t i = 0; i < taps_; ++i) {
      const double target = batch.targets[r * taps_ + i];
      const double now = i < end ? batch.scales[static_cast<size_t>(r)] *
                                       batch.codes[static_cast<size_t>(r * taps_ + i)]
                                 : row[i];
      AddScaled(target - now, h_.data() + i * taps_ + end, gradient.data() + end, taps_ - end);
      if (options_.solver != HessianSolver::kAsymmetricRefit) {  // whose targets have it already
        AddScaled(target, shift_.data() + i * taps_ + end, gradient.data() + end, taps_ - end);
      }
    }
    for (int64_t k = end; k < taps_; ++k) {
      const double* u = upper_.data() + k * taps_;
      double half = 0.0;
      for (int64_t f = k; f < taps_; ++f) {
        half += u[f] * gradient[static_cast<size_t>(f)];
      }
      AddScaled(options_.alpha * half, u + k, row + k, taps_ - k);
    }
  }
}

namespace {

// One way to round the columns so far.
struct Path {
  double loss = 0.0;
  std::vector<double> work, codes;
};

}  // namespace

ColumnSolver::Row ColumnSolver::SolveByBeam(const double* target, int most,
                                            absl::Span<const double> shares) const {
  Row best;
  best.codes.assign(static_cast<size_t>(taps_), 0);
  best.loss = std::numeric_limits<double>::infinity();
  const double largest = LargestMagnitude(target, taps_);
  for (const double share : shares) {
    const double scale = ScaleOf(largest, most, share);
    std::vector<Path> paths(1);
    paths[0].work.assign(target, target + taps_);
    for (int64_t i = 0; i < taps_; ++i) {
      const double* u = upper_.data() + i * taps_;
      std::vector<Path> next;
      for (const Path& path : paths) {
        const double value = path.work[static_cast<size_t>(i)];
        const double low = NearestCode(std::floor(value / scale) * scale, scale, most);
        const double high = std::min<double>(low + 1.0, most);
        for (const double code : {low, high}) {
          const double error = (value - scale * code) / u[i];
          Path longer = path;
          longer.loss += error * error;
          longer.codes.push_back(code);
          AddScaled(-error, u + i + 1, longer.work.data() + i + 1, taps_ - i - 1);
          if (!carry_.empty()) {
            AddScaled(target[i], carry_.data() + i * taps_ + i + 1, longer.work.data() + i + 1,
                      taps_ - i - 1);
          }
          next.push_back(std::move(longer));
        }
      }
      std::stable_sort(next.begin(), next.end(),
                       [](const Path& a, const Path& b) { return a.loss < b.loss; });
      next.resize(std::min(next.size(), kBeamWidth));
      paths = std::move(next);
    }
    if (paths[0].loss < best.loss) {
      best.loss = paths[0].loss;
      best.scale = static_cast<float>(scale);
      for (int64_t i = 0; i < taps_; ++i) {
        best.codes[static_cast<size_t>(order_[static_cast<size_t>(i)])] =
            static_cast<int8_t>(paths[0].codes[static_cast<size_t>(i)]);
      }
    }
  }
  return best;
}

}  // namespace qb
