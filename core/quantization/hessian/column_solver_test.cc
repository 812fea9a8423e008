#include "core/quantization/hessian/column_solver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "core/quantization/hessian/inverse_factor.h"

namespace qb {
namespace {

// Inputs of correlated taps, [taps][positions], and what a quantized model makes of them.
struct Inputs {
  std::vector<std::vector<double>> real, quantized;

  InputMoments Moments() const {
    InputMoments moments;
    moments.taps = static_cast<int64_t>(real.size());
    for (const auto& a : quantized) {
      for (const auto& b : quantized) {
        double sum = 0.0;
        for (size_t p = 0; p < a.size(); ++p) {
          sum += a[p] * b[p];
        }
        moments.h.push_back(sum);
      }
    }
    for (size_t i = 0; i < real.size(); ++i) {
      for (const auto& b : quantized) {
        double sum = 0.0;
        for (size_t p = 0; p < b.size(); ++p) {
          sum += (real[i][p] - quantized[i][p]) * b[p];
        }
        moments.shift.push_back(sum);
      }
    }
    return moments;
  }
  // || w x - s q x' ||^2 with x the real inputs or the quantized ones.
  double Error(const float* weights, const ColumnSolver::Row& row, bool against_real) const {
    double error = 0.0;
    for (size_t p = 0; p < real[0].size(); ++p) {
      double off = 0.0;
      for (size_t i = 0; i < real.size(); ++i) {
        off += static_cast<double>(weights[i]) * (against_real ? real[i][p] : quantized[i][p]) -
               static_cast<double>(row.scale) * row.codes[i] * quantized[i][p];
      }
      error += off * off;
    }
    return error;
  }
};

Inputs MakeInputs(size_t taps, double mismatch) {
  std::mt19937 random(11);
  std::normal_distribution<double> normal;
  Inputs inputs;
  inputs.real.resize(taps, std::vector<double>(400));
  inputs.quantized = inputs.real;
  for (size_t p = 0; p < 400; ++p) {
    const double common = normal(random), other = normal(random);
    for (size_t i = 0; i < taps; ++i) {
      const double x = 40.0 * (common + (i % 3 == 0 ? other : 0.0) + 0.4 * normal(random));
      inputs.real[i][p] = x;
      // What earlier layers lose is partly what all taps share.
      inputs.quantized[i][p] = x + mismatch * 40.0 * (0.5 * common + normal(random));
    }
  }
  return inputs;
}

std::vector<float> MakeWeights(size_t count) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> weights;
  weights.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    weights.push_back(normal(random));
  }
  return weights;
}

ColumnSolver::Row Nearest(const float* weights, size_t taps, int most) {
  float largest = 0.0f;
  for (size_t i = 0; i < taps; ++i) {
    largest = std::max(largest, std::abs(weights[i]));
  }
  ColumnSolver::Row row;
  row.scale = largest / static_cast<float>(most);
  for (size_t i = 0; i < taps; ++i) {
    row.codes.push_back(static_cast<int8_t>(std::lrint(weights[i] / row.scale)));
  }
  return row;
}

constexpr int kMost = 7;
constexpr size_t kRows = 24;

// The error over all rows with the solver, as a share of that of rounding to the nearest.
double ShareOfNearest(size_t taps, const ColumnSolverOptions& options, double mismatch,
                      bool against_real, int threads = 1) {
  const Inputs inputs = MakeInputs(taps, mismatch);
  const std::vector<float> weights = MakeWeights(kRows * taps);
  ThreadPool pool(threads);
  const std::vector<double> shares = {1.0};
  const std::vector<ColumnSolver::Row> rows =
      ColumnSolver(inputs.Moments(), options).Solve(weights, kMost, shares, pool);
  double solved = 0.0, nearest = 0.0;
  for (size_t r = 0; r < kRows; ++r) {
    const float* row = weights.data() + r * taps;
    solved += inputs.Error(row, rows[r], against_real);
    nearest += inputs.Error(row, Nearest(row, taps, kMost), against_real);
  }
  return solved / nearest;
}

TEST(InverseFactor, ItsSquareTimesTheMatrixIsOne) {
  const InputMoments moments = MakeInputs(37, 0.0).Moments();
  const int64_t n = moments.taps;
  const InverseFactor factor = FactorInverse(moments.h, n, 1e-3);
  EXPECT_EQ(factor.damping, 1e-3);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double product = 0.0;
      for (int64_t k = 0; k < n; ++k) {
        double inverse = 0.0;
        for (int64_t m = 0; m <= std::min(i, k); ++m) {
          inverse += factor.upper[static_cast<size_t>(m * n + i)] *
                     factor.upper[static_cast<size_t>(m * n + k)];
        }
        product += inverse * (moments.h[static_cast<size_t>(k * n + j)] + (k == j ? 1e-3 : 0.0));
      }
      EXPECT_NEAR(product, i == j ? 1.0 : 0.0, 1e-6);
      if (j < i) {
        EXPECT_EQ(factor.upper[static_cast<size_t>(i * n + j)], 0.0);
      }
    }
  }
}

TEST(InverseFactor, RaisesTheDampingUntilTheMatrixIsPositive) {
  EXPECT_GT(FactorInverse({1.0, 2.0, 2.0, 1.0}, 2, 1e-3).damping, 1.0 - 1e-9);
}

TEST(ColumnSolver, BeatsRoundingToTheNearest) {
  EXPECT_LT(ShareOfNearest(64, {}, 0.0, false), 0.35);
  // The beam of small kernels.
  EXPECT_LT(ShareOfNearest(9, {}, 0.0, false), 0.35);
}

TEST(ColumnSolver, TheLossIsTheErrorOfTheDampedProblem) {
  const Inputs inputs = MakeInputs(48, 0.0);
  const std::vector<float> weights = MakeWeights(48);
  ThreadPool pool(1);
  ColumnSolverOptions options;
  options.damping_share = 1e-9;
  const std::vector<double> shares = {1.0};
  const ColumnSolver::Row row =
      ColumnSolver(inputs.Moments(), options).Solve(weights, kMost, shares, pool)[0];
  EXPECT_NEAR(row.loss, inputs.Error(weights.data(), row, false), 1e-4 * row.loss);
}

TEST(ColumnSolver, TheBestOfSeveralScalesIsNoWorse) {
  const Inputs inputs = MakeInputs(48, 0.0);
  const std::vector<float> weights = MakeWeights(48);
  ThreadPool pool(1);
  const ColumnSolver solver(inputs.Moments(), {});
  const std::vector<double> one = {1.0}, many = {1.0, 0.9, 0.8, 0.7};
  EXPECT_LE(solver.Solve(weights, kMost, many, pool)[0].loss,
            solver.Solve(weights, kMost, one, pool)[0].loss);
}

TEST(ColumnSolver, AsymmetricSolversComeNearerToTheFloatResult) {
  for (const size_t taps : {size_t{9}, size_t{64}}) {
    ColumnSolverOptions options;
    const double symmetric = ShareOfNearest(taps, options, 0.3, true);
    options.solver = HessianSolver::kAsymmetricCausal;
    options.alpha = 1.0;
    EXPECT_LT(ShareOfNearest(taps, options, 0.3, true), 0.95 * symmetric) << taps;
    options.solver = HessianSolver::kAsymmetricRefit;
    EXPECT_LT(ShareOfNearest(taps, options, 0.3, true), 0.9 * symmetric) << taps;
  }
}

TEST(ColumnSolver, CompensationBetweenBlocksComesNearerToTheFloatResult) {
  ColumnSolverOptions options;
  options.block_size = 16;
  const double without = ShareOfNearest(64, options, 0.3, true);
  options.rescomp = true;
  options.alpha = 0.5;
  EXPECT_LT(ShareOfNearest(64, options, 0.3, true), 0.97 * without);
}

TEST(ColumnSolver, BlocksAndThreadsAreOnlyAWayToCompute) {
  ColumnSolverOptions options;
  const double whole = ShareOfNearest(64, options, 0.1, false);
  options.block_size = 7;
  EXPECT_NEAR(ShareOfNearest(64, options, 0.1, false), whole, 1e-6);
  EXPECT_EQ(ShareOfNearest(64, options, 0.1, false, 3), ShareOfNearest(64, options, 0.1, false, 1));
}

TEST(ColumnSolver, ATapThatMeetsNothingIsRoundedToTheNearest) {
  Inputs inputs = MakeInputs(40, 0.0);
  std::fill(inputs.quantized[3].begin(), inputs.quantized[3].end(), 0.0);
  const std::vector<float> weights = MakeWeights(40);
  ThreadPool pool(1);
  const std::vector<double> shares = {1.0};
  const ColumnSolver::Row row =
      ColumnSolver(inputs.Moments(), {}).Solve(weights, kMost, shares, pool)[0];
  EXPECT_EQ(row.codes[3], static_cast<int>(std::lrint(weights[3] / row.scale)));
}

}  // namespace
}  // namespace qb
