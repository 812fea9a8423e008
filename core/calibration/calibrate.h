// Calibration: one streaming pass of the samples through the float model.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/cancel_token.h"
#include "core/base/progress.h"
#include "core/calibration/channel_extremes.h"
#include "core/calibration/histogram_choice.h"
#include "core/calibration/tensor_statistics.h"
#include "core/calibration/window_sums.h"
#include "core/dataset/dataset.h"
#include "core/ir/graph.h"

namespace qb {

enum class CalibrationMode {
  kMax = 0,  // the largest magnitude seen
  // At least the magnitude that a share `percentile` of all elements does not exceed, at most the
  // largest one: where in between clipping and rounding together cost least (ChooseClip).
  kMaxPercentile = 1,
  kHistogram = 2,  // what an objective says of a histogram (histogram_choice.h)
};

struct CalibrationOptions {
  CalibrationMode mode = CalibrationMode::kMaxPercentile;
  // kMaxPercentile, and kHistogram with the objective kPercentile: in (0, 1]; 1 is the maximum.
  double percentile = 0.9999;
  // Of one sample's elements, at most this share (its largest) enters the pool; in (0, 1].
  double topk_ratio = 0.01;
  // Memory of all pools together. Above it thresholds come from histograms instead (within 0.8 %).
  int64_t most_pool_bytes = int64_t{64} << 20;
  // kHistogram: bins on each side of zero, rounded up to a power of two.
  HistogramObjective objective = HistogramObjective::kMse;
  int64_t bins = 2048;
  int threads = 1;
};

// What to look at.
struct CalibrationRequest {
  // Values whose range is wanted: float32, no constants.
  struct Range {
    const Node* node = nullptr;
    // Steps from zero to the threshold: 127, or 255 for values never negative. Two-sided: from end
    // to end.
    int levels = 127;
    bool two_sided = false;  // both ends are wanted, for codes with a zero point
  };
  std::vector<Range> ranges;
  // Values of `ranges` whose channels' ends are wanted as well; of rank 1 and above.
  std::vector<const Node*> channels;
  // Convolution inputs whose window sums are wanted, keyed by the convolution.
  struct Window {
    const Node* user = nullptr;   // the convolution or matrix product
    const Node* value = nullptr;  // its input: float32
    WindowGeometry geometry;
  };
  std::vector<Window> windows;
  // How many samples the window sums cover. They are chosen by content, so the choice does not
  // depend on names or order. 0: none.
  int64_t window_samples = 0;
};

// Everything outlives the call.
struct CalibrationInput {
  const Graph& graph;
  const Dataset& dataset;
  const CalibrationRequest& request;  // of nodes of `graph`
};

struct CalibrationTable {
  int64_t samples = 0;
  std::map<int64_t, TensorStatistics> ranges;  // by node id
  std::map<int64_t, ChannelExtremes> channels;
  std::map<int64_t, std::vector<double>>
      windows;                          // by the user's node id: mean per output position
  std::vector<int64_t> window_samples;  // indices into the dataset, ascending
};

// Runs every sample of `dataset` once, `threads` at a time, and keeps statistics only: the memory
// is that of `threads` runs and of the pools. The table is a function of the set of samples: bit by
// bit the same for any order, any names and any number of threads.
//
// Errors: CALIBRATION_DATA_ERROR for an empty set, a sample that cannot be loaded, or one that
// makes a value of the model NaN or infinite (naming sample and node); those of CreateCpuExecutor;
// Cancelled.
absl::StatusOr<CalibrationTable> Calibrate(const CalibrationInput& input,
                                           const CalibrationOptions& options, ProgressSink& sink,
                                           const CancelToken& cancel);

}  // namespace qb
