// Samples that a model is calibrated or evaluated with.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/base/progress.h"
#include "core/dataset/sample_layout.h"
#include "core/ir/tensor.h"

namespace qb {

// A fixed, ordered set of samples. Thread-safe: Load may be called from several threads at once.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual int64_t size() const = 0;
  // The sample's file or folder name without ".npy", e.g. "0007".
  virtual const std::string& name(int64_t index) const = 0;
  // One tensor per input, in the order of the model's inputs, each of the input's exact type.
  // Errors: CALIBRATION_DATA_ERROR naming the file.
  virtual absl::StatusOr<std::vector<Tensor>> Load(int64_t index) const = 0;
};

// Opens a folder or a .txt listing of samples and checks every one of them.
//
// One input: each .npy file is a sample. Several inputs: each sub-folder is a sample, with one .npy
// an input; a file belongs to the input whose name it bears, else to the only input that its shape
// fits. A listing has one path a line, relative to the listing's folder or else to the working
// folder. Samples are sorted by name. Conversions that ChooseReading allows are logged, once a
// kind.
//
// Errors: CALIBRATION_DATA_ERROR listing every bad sample (the first 20) with what was found and
// what was expected: unreadable, wrong shape or type, NaN or infinity; also for an empty set.
absl::StatusOr<std::unique_ptr<Dataset>> OpenDataset(const std::string& path,
                                                     absl::Span<const InputSpec> inputs,
                                                     ProgressSink& sink);

// `count` samples of seeded noise: floats uniform in [-1, 1), integers in [0, 127]. The same bytes
// for the same arguments everywhere.
std::unique_ptr<Dataset> MakeRandomDataset(absl::Span<const InputSpec> inputs, int64_t count,
                                           uint64_t seed);

}  // namespace qb
