// The preprocessing of one input: what an application does to an image before it runs the model.
//
// Steps work on tensors [H, W, C] of uint8 or float32. README.md of core/dataset says what each
// step computes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/json.h"
#include "core/dataset/preprocess/resize.h"
#include "core/ir/tensor.h"

namespace qb {

struct ResizeStep {
  int64_t height = 0, width = 0;
  int64_t size = 0;  // of the shorter side; above 0 it wins
  ResizeBackend backend = ResizeBackend::kTorch;
  TorchResizeOptions options;
};
struct CenterCropStep {
  int64_t height = 0, width = 0;
};
struct CropStep {
  int64_t top = 0, left = 0, height = 0, width = 0;
};
struct LetterboxStep {
  int64_t height = 0, width = 0;
  double pad_value = 114;
  ResizeBackend backend = ResizeBackend::kTorch;
  Interpolation mode = Interpolation::kBilinear;
  bool centre = true;
};
struct PadStep {
  int64_t top = 0, bottom = 0, left = 0, right = 0;
  double value = 0;
};
struct NormalizeStep {
  std::vector<float> mean, deviation;  // one a channel
  bool divide_by_255 = false;
  bool fuse = false;  // into the first layer of the executable
};
struct ColorConvertStep {
  std::string from, to;  // RGB, BGR, GRAY
};

using PipelineStep = std::variant<ResizeStep, CenterCropStep, CropStep, LetterboxStep, PadStep,
                                  NormalizeStep, ColorConvertStep>;

class Pipeline {
 public:
  Pipeline() = default;

  // `steps` is a list that core/config has checked, with every default written out.
  //
  // Errors: InvalidArgument naming the step: a fused normalize that is not the last step (another
  // step behind it could not be folded into the model).
  static absl::StatusOr<Pipeline> Create(const Json& steps);

  // Errors: InvalidArgument naming the step and what does not fit: channels, a crop that leaves the
  // image, a padding value that is no pixel.
  absl::StatusOr<Tensor> Apply(Tensor image) const;

  bool empty() const { return steps_.empty(); }
  const std::vector<PipelineStep>& steps() const { return steps_; }
  // The normalization that the executable does itself, which is the last step; null when there is
  // none.
  const NormalizeStep* fused() const;
  // Whether a normalization stays with the application.
  bool normalizes_outside() const;
  // RGB, BGR or GRAY as the last colorConvert leaves it; `source` where there is none.
  std::string ColorOrder(const std::string& source) const;
  // The steps as they were given.
  const Json& json() const { return json_; }

 private:
  std::vector<PipelineStep> steps_;
  Json json_ = Json::Array();
};

// One step. Errors: those of Apply without the step's name.
absl::StatusOr<Tensor> ApplyStep(const PipelineStep& step, const Tensor& image);

}  // namespace qb
