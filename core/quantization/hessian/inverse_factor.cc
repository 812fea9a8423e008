#include "core/quantization/hessian/inverse_factor.h"

#include <cmath>
#include <utility>

namespace qb {
namespace {

// In a fixed order of its own, that of four interleaved sums.
double Dot(const double* a, const double* b, int64_t n) {
  double sums[4] = {};
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (int64_t k = 0; k < 4; ++k) {
      sums[k] += a[i + k] * b[i + k];
    }
  }
  for (; i < n; ++i) {
    sums[0] += a[i] * b[i];
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// H + damping I with rows and columns in reverse order becomes L with L L^T = it; false when it is
// not positive definite.
bool Cholesky(const std::vector<double>& h, int64_t n, double damping, std::vector<double>& l) {
  for (int64_t i = 0; i < n; ++i) {
    double* row = l.data() + i * n;
    const double* from = h.data() + (n - 1 - i) * n;
    for (int64_t j = 0; j <= i; ++j) {
      const double* other = l.data() + j * n;
      const double rest = from[n - 1 - j] - Dot(row, other, j);
      if (j < i) {
        row[j] = rest / other[j];
      } else if (!(rest + damping > 1e-12 * (from[n - 1 - j] + damping))) {
        return false;
      } else {
        row[j] = std::sqrt(rest + damping);
      }
    }
  }
  return true;
}

// The inverse of a lower triangular matrix, in its place.
void InvertLower(std::vector<double>& l, int64_t n) {
  std::vector<double> inverse_row(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    double* row = l.data() + i * n;
    std::fill(inverse_row.begin(), inverse_row.begin() + i, 0.0);
    for (int64_t k = 0; k < i; ++k) {
      const double factor = row[k];
      const double* earlier = l.data() + k * n;  // a row of the inverse by now
      for (int64_t j = 0; j <= k; ++j) {
        inverse_row[static_cast<size_t>(j)] += factor * earlier[j];
      }
    }
    const double diagonal = 1.0 / row[i];
    for (int64_t j = 0; j < i; ++j) {
      row[j] = -inverse_row[static_cast<size_t>(j)] * diagonal;
    }
    row[i] = diagonal;
  }
}

}  // namespace

// With J the reversal, J H J = L L^T gives H = R R^T for the upper triangular R = J L J, and
// H^-1 = R^-T R^-1: U = R^-1 = J L^-1 J.
InverseFactor FactorInverse(const std::vector<double>& h, int64_t n, double damping) {
  InverseFactor factor;
  std::vector<double> l(h.size(), 0.0);
  while (!Cholesky(h, n, damping, l)) {
    damping *= 10.0;
  }
  InvertLower(l, n);
  for (int64_t i = 0, last = n * n - 1; i < last - i; ++i) {
    std::swap(l[static_cast<size_t>(i)], l[static_cast<size_t>(last - i)]);
  }
  // Cholesky leaves what is above the diagonal as it was: zero.
  factor.upper = std::move(l);
  factor.damping = damping;
  return factor;
}

}  // namespace qb
