// A calibration set made from a folder of images before there is a model.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "core/base/cancel_token.h"
#include "core/base/json.h"
#include "core/base/progress.h"

namespace qb {

struct MakeCalibRequest {
  std::string preprocess_text;  // JSON or YAML
  std::string preprocess_name;  // of its file, for messages
  std::string data_folder;      // images, or a listing of them
  std::string save_folder;
  std::string save_name;
  int64_t most_samples = 0;  // 0: all
};

struct MakeCalibResult {
  int64_t samples = 0;
  std::string listing;  // save_folder/save_name.txt, a path a line, relative to it
};

// Preprocesses the images and writes save_folder/save_name/NAME.npy, channels last, and a listing.
// Images come in the order of their names; grey ones become RGB.
//
// Errors: CONFIG_ERROR, CALIBRATION_DATA_ERROR naming the image, OUTPUT_WRITE_ERROR (also when the
// folder holds samples of an earlier run), CANCELLED.
absl::StatusOr<MakeCalibResult> MakeCalibration(const MakeCalibRequest& request, ProgressSink& sink,
                                                const CancelToken& cancel);

// The steps that a preprocessing file means: a list of steps, an object with `pipeline`, a config
// with `preprocessing`, or the manual's form (Pre-Order and Pre-processing with ResizeTorch,
// CenterCrop, Normalize, SetOrder). Complete with defaults. Errors: CONFIG_ERROR.
absl::StatusOr<Json> ReadPreprocessing(absl::string_view text, const std::string& name);

}  // namespace qb
