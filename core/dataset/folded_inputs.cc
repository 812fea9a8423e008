#include "core/dataset/folded_inputs.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"

#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/dataset/named_array.h"
#include "core/dataset/preprocess/letterbox.h"
#include "core/dataset/sample_loader.h"

namespace qb {
namespace {

bool IsChannelCount(int64_t dim) { return dim == 1 || dim == 3 || dim == 4; }

// 1 or 3; 0 where the shape is not that of a letterbox.
int64_t ChannelAxisOf(const Shape& shape, ImageSize size) {
  if (shape.rank() != 4 || shape[0] != 1) {
    return 0;
  }
  if (IsChannelCount(shape[1]) && shape[2] == size.height && shape[3] == size.width) {
    return 1;
  }
  return IsChannelCount(shape[3]) && shape[1] == size.height && shape[2] == size.width ? 3 : 0;
}

Shape WithSize(const Shape& shape, int64_t channel_axis, ImageSize size) {
  return channel_axis == 1 ? Shape{1, shape[1], size.height, size.width}
                           : Shape{1, size.height, size.width, shape[3]};
}

// The samples that Load has seen keep their hashes: choosing among them reads none again.
class FinishedDataset final : public Dataset {
 public:
  FinishedDataset(const Dataset& source, const FoldedInputs& folded)
      : source_(source), folded_(folded) {}

  int64_t size() const override { return source_.size(); }
  const std::string& name(int64_t index) const override { return source_.name(index); }
  absl::StatusOr<std::vector<Tensor>> Load(int64_t index) const override {
    QB_ASSIGN_OR_RETURN(std::vector<Tensor> taken, source_.Load(index));
    absl::StatusOr<std::vector<Tensor>> values = folded_.Finish(std::move(taken));
    if (!values.ok()) {
      return Failure(
          FailureCode::kCalibrationDataError,
          absl::StrCat("sample '", source_.name(index), "': ", values.status().message()));
    }
    const uint64_t hash = ContentHashOf(*values);
    absl::MutexLock lock(&mutex_);
    hashes_[index] = hash;
    return values;
  }
  absl::StatusOr<uint64_t> ContentHash(int64_t index) const override {
    {
      absl::MutexLock lock(&mutex_);
      const auto found = hashes_.find(index);
      if (found != hashes_.end()) {
        return found->second;
      }
    }
    return Dataset::ContentHash(index);
  }

 private:
  const Dataset& source_;
  const FoldedInputs& folded_;
  mutable absl::Mutex mutex_;
  mutable std::map<int64_t, uint64_t> hashes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

DatasetOptions BeforeFolding(DatasetOptions options) {
  for (auto& [name, preparation] : options.inputs) {
    if (FoldedLetterbox(preparation.pipeline).has_value()) {
      preparation.pipeline = BeforeFused(preparation.pipeline);
      preparation.uint8_factor = 0;
    }
  }
  return options;
}

absl::StatusOr<FoldedInputs> FoldedInputs::Create(absl::Span<const InputSpec> inputs,
                                                  const DatasetOptions& options) {
  FoldedInputs folded;
  for (const InputSpec& input : inputs) {
    Entry entry{input, 0, {}};
    InputSpec taken = input;
    const auto found = options.inputs.find(input.name);
    const std::optional<LetterboxFold> fold =
        found == options.inputs.end() ? std::nullopt : FoldedLetterbox(found->second.pipeline);
    if (fold.has_value()) {
      entry.rest = found->second;
      entry.rest.pipeline = FusedSteps(found->second.pipeline);
      entry.rest.preprocess = true;
      const auto& step = std::get<LetterboxStep>(entry.rest.pipeline.steps().front());
      entry.channel_axis = ChannelAxisOf(input.type.shape, {step.height, step.width});
      if (entry.channel_axis == 0 || input.type.dtype != DType::kFloat32) {
        return absl::InvalidArgumentError(absl::StrCat(
            "a letterbox of ", step.height, "x", step.width, " cannot be folded into input '",
            input.name, "' ", input.type.ToString(), "; float32 images of that size can take one"));
      }
      entry.rest.auto_convert_format = entry.channel_axis == 1;
      taken.type = {DType::kUint8, WithSize(input.type.shape, entry.channel_axis, fold->source)};
    }
    folded.entries_.push_back(std::move(entry));
    folded.taken_.push_back(std::move(taken));
  }
  return folded;
}

bool FoldedInputs::any() const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [](const Entry& entry) { return entry.channel_axis != 0; });
}

std::optional<int64_t> FoldedInputs::ChannelAxis(absl::string_view input) const {
  for (const Entry& entry : entries_) {
    if (entry.input.name == input && entry.channel_axis != 0) {
      return entry.channel_axis;
    }
  }
  return std::nullopt;
}

absl::StatusOr<Tensor> FoldedInputs::FinishOne(const Entry& entry, const Tensor& taken) {
  const Shape& shape = taken.shape();
  const bool first = entry.channel_axis == 1;
  const int64_t channels = shape[entry.channel_axis];
  const Shape last = first ? Shape{1, shape[2], shape[3], channels} : shape;
  SampleReading turn;
  if (first) {
    turn.transpose_axes = {0, 2, 3, 1};
  }
  NamedArray pixels{"", ApplyReading(taken, turn, {"", {DType::kUint8, last}})};
  pixels.value = pixels.value.Reshaped(Shape{last[1], last[2], channels});
  pixels.is_image = true;  // the order of its axes is known
  std::vector<SampleNote> ignored;
  return PrepareInput(pixels, entry.input, entry.rest, channels, ignored);
}

absl::StatusOr<std::vector<Tensor>> FoldedInputs::Finish(std::vector<Tensor> taken) const {
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].channel_axis != 0) {
      QB_ASSIGN_OR_RETURN(taken[i], FinishOne(entries_[i], taken[i]));
    }
  }
  return taken;
}

std::unique_ptr<Dataset> MakeFinishedDataset(const Dataset& source, const FoldedInputs& folded) {
  return std::make_unique<FinishedDataset>(source, folded);
}

}  // namespace qb
