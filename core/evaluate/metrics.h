// How close one model's outputs are to another's.
//
// SQNR = 10 log10(sum y^2 / sum e^2), pooled over all samples of an output. Cosine over the same sums.
// Agreement = share of rows (all positions of the class axis' complement) with equal arg-max; only for
// outputs with a class axis. Relative error = max|a - b| / max|b|.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/base/json.h"
#include "core/ir/tensor.h"

namespace qb {

// The class axis is the last one of a tensor of rank 2 or 3 that is wider than 1 there; a tensor of
// higher rank is an image or a feature map.
bool HasClassAxis(const Shape& shape);

// Sums of one output of one sample.
struct OutputSums {
  double signal = 0;   // sum of y^2
  double noise = 0;    // sum of (y' - y)^2
  double other = 0;    // sum of y'^2
  double product = 0;  // sum of y y'
  double max_error = 0;
  double max_signal = 0;
  int64_t rows = 0;
  int64_t equal_rows = 0;
};

// `reference` and `candidate` are float32 of one shape. Sums run in index order: equal inputs give
// equal bits.
OutputSums CompareOutputs(const Tensor& reference, const Tensor& candidate);

// SQNR of sums in dB, at most 200 (also where there is no noise at all).
double SqnrDb(double signal, double noise);

struct OutputMetrics {
  std::string name;
  double sqnr_db = 0;
  double cosine = 0;
  double relative_error = 0;
  std::optional<double> agreement;  // 0..1
};

// Index of the largest of `values`, the first of equals.
int64_t ArgMax(absl::Span<const float> values);
// True when `label` is among the `k` largest (earlier index wins ties).
bool InTopK(absl::Span<const float> values, int64_t label, int64_t k);

}  // namespace qb
