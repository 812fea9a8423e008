// Bias corrections that an earlier compile found, put back.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/calibration/statistics_file.h"
#include "core/quantization/bias_correction.h"
#include "core/quantization/lowering.h"

namespace qb {

// Names what CorrectBiases works on besides model and samples: the network before it, the layers
// that it may change, and how many samples it takes.
std::string CorrectionKey(const LoweredNetwork& lowered, const BiasCorrectionOptions& options,
                          int64_t samples);

// What CorrectBiases left in `lowered`; `shifts` is what it returned.
KeptCorrection KeepCorrection(std::string key, const LoweredNetwork& lowered,
                              const std::map<int64_t, double>& shifts);

// Null when `kept` is null or has none of that key.
const KeptCorrection* FindCorrection(const KeptStatistics* kept, const std::string& key);

// Puts the biases into `lowered`; returns the shifts. Precondition: kept.key is the CorrectionKey
// of `lowered`. Errors: ARGUMENT_ERROR naming a layer whose biases do not fit: the file was
// changed.
absl::StatusOr<std::map<int64_t, double>> PutBackCorrection(const KeptCorrection& kept,
                                                            LoweredNetwork& lowered);

}  // namespace qb
