// The triangular factor of an inverse, by which rounding errors are passed on to later columns.
#pragma once

#include <cstdint>
#include <vector>

namespace qb {

// Upper triangular U with U^T U = (H + damping I)^-1, H symmetric [n, n], row-major; zero below the
// diagonal. `damping` is raised tenfold until the matrix is positive definite, and returned.
// Precondition: damping > 0 and H has no NaN. Takes n^3 / 3 products twice.
struct InverseFactor {
  std::vector<double> upper;
  double damping = 0.0;
};
InverseFactor FactorInverse(const std::vector<double>& h, int64_t n, double damping);

}  // namespace qb
