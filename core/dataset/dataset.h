// Samples that a model is calibrated or evaluated with.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/base/cancel_token.h"
#include "core/base/progress.h"
#include "core/dataset/preprocess/pipeline.h"
#include "core/dataset/sample_layout.h"
#include "core/ir/tensor.h"

namespace qb {

// A fixed, ordered set of samples. Thread-safe: Load may be called from several threads at once.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual int64_t size() const = 0;
  // The sample's file or folder name without its extension, e.g. "0007".
  virtual const std::string& name(int64_t index) const = 0;
  // One tensor per input, in the order of the model's inputs, each of the input's exact type.
  // Errors: CALIBRATION_DATA_ERROR naming the file.
  virtual absl::StatusOr<std::vector<Tensor>> Load(int64_t index) const = 0;
  // Of the sample's values when the set was opened: ContentHashOf(*Load(index)) as long as nobody
  // changes its file. Sets that know it do not read for it. Errors: those of Load.
  virtual absl::StatusOr<uint64_t> ContentHash(int64_t index) const;
};

// FNV-1a over 8-byte words with a final mix: spreads samples, resists nobody.
uint64_t ContentHashOf(absl::Span<const Tensor> values);

// What happens to the samples of one input between the file and the model.
struct InputPreparation {
  bool preprocess = false;  // samples are raw images, or arrays like them
  Pipeline pipeline;
  bool auto_convert_format = false;  // orders of axes and channels are made the input's
  // Above 0: uint8 values that no step normalizes stand for value / factor.
  double uint8_factor = 0;
};

struct DatasetOptions {
  std::map<std::string, InputPreparation> inputs;  // by input name; none: as read
  int64_t image_channels = 0;                      // of images: 0 their own without alpha, 1, 3, 4
  int threads = 1;                                 // that check the samples
  const CancelToken* cancel = nullptr;             // may be null
};

// Opens a folder or a .txt or .json listing of samples (sample_listing.h) and checks every one of
// them to its last byte.
//
// One input: each file is a sample. Several inputs: each sub-folder, .npz, .pt or object of a .json
// listing is a sample. An array belongs to the only input that its shape fits, else to the one of
// those that bears its name. What is converted on the way is logged, once a kind and input.
//
// Errors: CALIBRATION_DATA_ERROR listing every bad sample (the first 20) with what was found and
// what was expected: unreadable, wrong shape or type, NaN or infinity; also for an empty set.
// CANCELLED.
absl::StatusOr<std::unique_ptr<Dataset>> OpenDataset(const std::string& path,
                                                     absl::Span<const InputSpec> inputs,
                                                     const DatasetOptions& options,
                                                     ProgressSink& sink);
// Without any preparation.
absl::StatusOr<std::unique_ptr<Dataset>> OpenDataset(const std::string& path,
                                                     absl::Span<const InputSpec> inputs,
                                                     ProgressSink& sink);

// `count` samples of seeded noise: floats uniform in [-1, 1), integers in [0, 127]. The same bytes
// for the same arguments everywhere.
std::unique_ptr<Dataset> MakeRandomDataset(absl::Span<const InputSpec> inputs, int64_t count,
                                           uint64_t seed);

}  // namespace qb
