// What the samples say about one layer's values: sums, counts, a histogram.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include "core/evaluate/metrics.h"
#include "core/integer/network.h"
#include "core/ir/tensor.h"

namespace qb {

// Bins of a histogram over twice the width of what the codes cover, with the codes in the middle
// half. Values beyond count in the outer bins.
inline constexpr int64_t kHistogramBins = 128;

struct LayerSums {
  OutputSums single, entire;  // metrics.h
  OutputSums rounding;        // of the float values as codes of this layer alone
  int64_t elements = 0;
  int64_t saturated = 0;  // float values beyond the ends of the codes
  double clipped = 0;     // squared error of those
  // Of the executable's values minus the float ones, by channel (the last axis).
  std::vector<double> channel_errors;
  std::vector<int64_t> bins;   // kHistogramBins, of the float values
  std::vector<int64_t> codes;  // 8 bits: how often the float values take each code, from -128 up

  void Add(const LayerSums& other);
  // The share of the error's energy that is the mean error of a channel: what a bias could take
  // away. 0 to 1.
  double BiasShare() const;
  // Codes between the least and the most one that no value takes, as a share of all; 0 for 16 bits.
  double DeadCodeShare(const integer::TensorInfo& info) const;
  // The entropy of the codes that the values take, in bits: 8 when all come equally often, far less
  // when a few outliers stretch the range and most values share some codes; 0 for 16 bits.
  double EffectiveBits() const;
};

// The reals that the histogram spans.
struct HistogramRange {
  double low, high;
};
HistogramRange HistogramRangeOf(const integer::TensorInfo& info);
// The least and the most real number that a code stands for.
HistogramRange CodeRangeOf(const integer::TensorInfo& info);

// Counts `real` (float32): elements, saturated, clipped, rounding, bins, codes.
void CountValues(const Tensor& real, const integer::TensorInfo& info, LayerSums& sums);
// Adds (executable - real) by channel.
void CountErrors(const Tensor& real, const Tensor& executable, LayerSums& sums);

// Sums up what samples give in the order of the samples, whatever the order in which they come:
// floating-point sums do not depend on threads, and no more is kept than waits for its turn.
// Thread-safe.
class OrderedLayerSums {
 public:
  explicit OrderedLayerSums(size_t layers) : total_(layers) {}

  void Add(int64_t sample, std::vector<LayerSums> layers);
  // After all samples from 0 up have come.
  std::vector<LayerSums> Take();

 private:
  absl::Mutex mutex_;
  int64_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<int64_t, std::vector<LayerSums>> waiting_ ABSL_GUARDED_BY(mutex_);
  std::vector<LayerSums> total_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace qb
