// What calibration measured, kept for later compiles of the same model on the same samples.
//
// The file is text of two lines (docs/formats.md):
//   {"format": "qbc-calibration-statistics", "format_version": "1.0", "sha256": digest of line 2}
//   {"sets": [...]}
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "core/calibration/calibrate.h"

namespace qb {

// The integer biases that bias correction found for one network.
struct KeptCorrection {
  struct Layer {
    std::string name;
    double largest_shift = 0.0;  // real units
    std::vector<int64_t> biases;
  };
  std::string key;  // what the correction worked on: a digest
  std::vector<Layer> layers;
};

// One run of Calibrate over one graph.
struct KeptStatistics {
  struct Value {
    std::string name;
    int64_t levels = 127;
    bool two_sided = false;
    TensorStatistics statistics;
    ChannelExtremes channels;  // empty where they were not asked for
  };
  struct Taps {
    std::string layer;
    std::vector<double> means;
  };
  std::string model, data;  // digests of the model's graph and of the set of samples
  std::string part;         // which part of the model; empty: all of it
  std::string measurement;  // MeasurementText of the options
  int64_t samples = 0;
  int64_t window_samples = 0;
  std::vector<Value> values;
  std::vector<Taps> taps;
  std::vector<KeptCorrection> corrections;
};

// The options that decide what is measured, e.g. "mode 1, percentile 0.9999, topkRatio 0.01".
std::string MeasurementText(const CalibrationOptions& options);

// Sets all of `kept` but model, data, part and corrections. Precondition: `table` answers
// `request`.
void KeepTable(const CalibrationRequest& request, const CalibrationOptions& options,
               const CalibrationTable& table, KeptStatistics& kept);

// The table that Calibrate gave when `kept` was measured, window_samples (indices into the set at
// hand) excepted. Errors: ARGUMENT_ERROR when it was measured with other options, or lacks
// something that `request` asks for.
absl::StatusOr<CalibrationTable> TableOf(const KeptStatistics& kept,
                                         const CalibrationRequest& request,
                                         const CalibrationOptions& options);

std::string StatisticsToText(const std::vector<KeptStatistics>& sets);
// Treats `text` as hostile. Errors: ARGUMENT_ERROR saying what is wrong with it: another kind of
// file, a newer major version, damage, a member that is missing or out of its range.
absl::StatusOr<std::vector<KeptStatistics>> StatisticsFromText(absl::string_view text);
// The second line alone.
absl::StatusOr<std::vector<KeptStatistics>> StatisticsFromBody(absl::string_view body);

}  // namespace qb
