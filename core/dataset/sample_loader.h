// One sample: its files, whose arrays are paired with the model's inputs, prepared and checked.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/log.h"
#include "core/dataset/dataset.h"
#include "core/dataset/named_array.h"
#include "core/dataset/sample_listing.h"

namespace qb {

// Something that a person should know about how a sample was read.
struct SampleNote {
  std::string input;
  std::string text;
  LogLevel level = LogLevel::kInfo;
  // How a set was written, not one file: when only some samples have it, they may be wrong.
  bool of_whole_sets = false;
};

struct LoadedSample {
  std::vector<Tensor> values;  // in the order of the inputs, each of its exact type, finite
  std::vector<SampleNote> notes;
};

// Immutable. Thread-safe.
class SampleLoader {
 public:
  SampleLoader(std::vector<InputSpec> inputs, DatasetOptions options);

  // Errors: InvalidArgument "'file': what was found and what was expected".
  absl::StatusOr<LoadedSample> Load(const SamplePath& sample) const;

 private:
  struct Source;  // an array and the file it came from

  const InputPreparation& PreparationOf(const InputSpec& input) const;
  absl::StatusOr<std::vector<Source>> Read(const SamplePath& sample) const;
  absl::StatusOr<size_t> Match(const Source& source) const;
  absl::Status Fits(const NamedArray& array, const InputSpec& input) const;
  absl::StatusOr<std::vector<Source>> Pair(const SamplePath& sample) const;

  std::vector<InputSpec> inputs_;
  DatasetOptions options_;
  InputPreparation none_;
};

// From an array to an input's value: channels, preprocessing, order of axes, element type. Appends
// what is worth knowing to `notes`. Errors: InvalidArgument without the file's name.
absl::StatusOr<Tensor> PrepareInput(const NamedArray& array, const InputSpec& input,
                                    const InputPreparation& preparation, int64_t image_channels,
                                    std::vector<SampleNote>& notes);

// The array as pixels [H, W, C] for a pipeline. Errors: as above.
absl::StatusOr<Tensor> ToPixels(const NamedArray& array, const InputPreparation& preparation,
                                int64_t channels, std::vector<SampleNote>& notes,
                                const std::string& input);

}  // namespace qb
