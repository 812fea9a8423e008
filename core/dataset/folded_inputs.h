// Inputs whose last steps an executable does itself, from a letterbox on.
//
// Such an executable takes the bytes of an image as it is before the letterbox, which nobody can
// compute back from the model's input. So samples are loaded as the executable takes them, and
// finished for the float model and for calibration.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include "core/dataset/dataset.h"

namespace qb {

// The options with every pipeline cut before its folded letterbox; the rest stays as it is.
DatasetOptions BeforeFolding(DatasetOptions options);

// Immutable. Thread-safe.
class FoldedInputs {
 public:
  FoldedInputs() = default;

  // `inputs` of the float model. Errors: InvalidArgument naming an input whose shape is not that of
  // its folded letterbox.
  static absl::StatusOr<FoldedInputs> Create(absl::Span<const InputSpec> inputs,
                                             const DatasetOptions& options);

  bool any() const;
  // The axis of an input's channels, 1 or 3; of inputs that fold a letterbox only.
  std::optional<int64_t> ChannelAxis(absl::string_view input) const;
  // As the executable takes them: uint8 of the source's size where a letterbox is folded.
  const std::vector<InputSpec>& taken() const { return taken_; }

  // The model's inputs of those. Precondition: they have the types of taken(). Errors: those of
  // Pipeline::Apply.
  absl::StatusOr<std::vector<Tensor>> Finish(std::vector<Tensor> taken) const;

 private:
  struct Entry {
    InputSpec input;
    int64_t channel_axis = 0;  // 0: nothing is folded
    InputPreparation rest;     // what is folded
  };
  static absl::StatusOr<Tensor> FinishOne(const Entry& entry, const Tensor& taken);

  std::vector<Entry> entries_;
  std::vector<InputSpec> taken_;
};

// The samples of `source`, which have the types of folded.taken(), finished. Both outlive the
// result.
std::unique_ptr<Dataset> MakeFinishedDataset(const Dataset& source, const FoldedInputs& folded);

}  // namespace qb
