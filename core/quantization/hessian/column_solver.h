// Rounding of a layer's weights, column by column, each error made good by the columns that follow.
//
// For weights w (a row: one output channel) and their codes q at scale s, the squared error of the
// layer's result over the samples is e H e^T with e = w - s q and H the second moments of its
// input. When column i is rounded, the best change of the later columns is -(e_i / U_ii) U_i, with
// U^T U the inverse of H (Hassibi and Stork, "Second order derivatives for network pruning", 1992;
// Frantar et al., "GPTQ", 2022). The squares of e_i / U_ii add up to the error of the row.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

#include "core/base/thread_pool.h"

namespace qb {

enum class HessianSolver {
  // Error against the float weights on the inputs that the quantized model gives.
  kSymmetric,
  // Error against the float model's result: what a column's input differs by is carried to later
  // columns, alpha of it (Li et al., "GPTAQ", 2025).
  kAsymmetricCausal,
  // The weights are fitted to the float model's result by least squares first, then as kSymmetric.
  kAsymmetricRefit,
};

struct ColumnSolverOptions {
  HessianSolver solver = HessianSolver::kSymmetric;
  bool rescomp = false;   // between blocks alpha of what is still missing, on the later columns
  bool act_order = true;  // columns by falling diagonal of H
  int64_t block_size = 256;
  double damping_share = 0.01;  // of the mean diagonal
  double alpha = 0.25;
};

// Second moments of one group of a layer's input, in units of its codes, row-major [taps, taps].
struct InputMoments {
  int64_t taps = 0;
  std::vector<double> h;  // sum of x x^T
  // sum of (x' - x) x^T with the float model's input x'; empty where nothing asks for it.
  std::vector<double> shift;
};

// What later work on the rows of a group shares. Immutable, thread-safe.
class ColumnSolver {
 public:
  // Precondition: some diagonal element of h is above zero, and `shift` is there where NeedsShift.
  ColumnSolver(const InputMoments& moments, const ColumnSolverOptions& options);

  static bool NeedsShift(const ColumnSolverOptions& options) {
    return options.solver != HessianSolver::kSymmetric || options.rescomp;
  }

  struct Row {
    std::vector<int8_t> codes;  // [taps]
    float scale = 1.0f;
    double loss = 0.0;  // e H e^T of the damped H, from the target that the solver has
  };

  // Codes in [-most, most] for rows of weights [rows, taps], each row at the scale, out of
  // candidates(largest magnitude of the row's target), at which its loss is least. Rows are spread
  // over the pool.
  std::vector<Row> Solve(absl::Span<const float> weights, int most,
                         absl::Span<const double> scale_shares, ThreadPool& pool) const;

 private:
  struct Batch;  // some rows on their way through the columns
  void FitTargets(absl::Span<const float> weights, std::vector<double>& targets) const;
  // `targets` are those of `rows`, one row after the other.
  void SolveRows(const double* targets, int most, absl::Span<const double> shares,
                 absl::Span<Row> rows) const;
  void RoundBatch(Batch& batch) const;
  void PassOn(Batch& batch, int64_t begin, int64_t end) const;
  void Compensate(Batch& batch, int64_t end) const;
  Row SolveByBeam(const double* target, int most, absl::Span<const double> shares) const;

  const ColumnSolverOptions options_;
  int64_t taps_;
  std::vector<int64_t> order_;     // column -> tap
  std::vector<double> h_, shift_;  // in the order of columns
  std::vector<double> upper_;      // U
  std::vector<double> carry_;      // kAsymmetricCausal: alpha times what is carried, [taps, taps]
};

}  // namespace qb
