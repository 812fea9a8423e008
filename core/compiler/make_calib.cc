#include "core/compiler/make_calib.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/atomic_file.h"
#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/compiler/input_preparation.h"
#include "core/config/compile_config.h"
#include "core/config/pipeline_steps.h"
#include "core/dataset/npy.h"
#include "core/dataset/sample_file.h"
#include "core/dataset/sample_listing.h"
#include "core/dataset/sample_loader.h"

namespace qb {
namespace {

template <typename... Parts>
absl::Status ConfigError(const Parts&... parts) {
  return Failure(FailureCode::kConfigError, absl::StrCat(parts...));
}

// `size` of the manual: a number, or [height, width].
absl::Status SetSize(const Json& size, bool both, Json& step) {
  if (size.is_array() && size.items().size() == 2) {
    step.Set("height", size.items()[0]).Set("width", size.items()[1]);
  } else if (size.is_int() && both) {
    step.Set("height", size).Set("width", size);
  } else if (size.is_int()) {
    step.Set("size", size);
  } else {
    return ConfigError("size: a number or [height, width] is accepted");
  }
  return absl::OkStatus();
}

absl::StatusOr<Json> ManualStep(const std::string& name, const Json& keys) {
  Json step = Json::Object();
  if (name == "ResizeTorch") {
    step.Set("op", "resize").Set("backend", "torch");
    QB_RETURN_IF_ERROR(SetSize(keys["size"], false, step));
    return step.Set("mode", keys.contains("interpolation") ? keys["interpolation"] : "bilinear");
  }
  if (name == "CenterCrop") {
    step.Set("op", "centerCrop");
    QB_RETURN_IF_ERROR(SetSize(keys["size"], true, step));
    return step;
  }
  if (name == "Normalize") {
    return step.Set("op", "normalize")
        .Set("mean", keys["mean"])
        .Set("std", keys["std"])
        .Set("scaleToUint8", keys["to_float_div255"].as_bool());
  }
  return ConfigError("the step '", name.substr(0, 80),
                     "' is not supported; ResizeTorch, CenterCrop, Normalize and SetOrder are");
}

// Pre-Order: [names], Pre-processing: {name: keys}.
absl::StatusOr<Json> ManualSteps(const Json& tree) {
  if (tree.contains("Datatype") && tree["Datatype"].as_string() != "Image") {
    return ConfigError("Datatype: Image is accepted");
  }
  Json steps = Json::Array();
  const std::string& order = tree["GetImage"]["channel_order"].as_string();
  if (order == "BGR" || order == "GRAY") {
    steps.Append(Json::Object().Set("op", "colorConvert").Set("from", "RGB").Set("to", order));
  }
  for (const Json& name : tree["Pre-Order"].items()) {
    const Json& keys = tree["Pre-processing"][name.as_string()];
    if (name.as_string() == "SetOrder") {
      if (keys["shape"].as_string() != "HWC") {
        return ConfigError(
            "SetOrder: samples are written as HWC; the compiler finds the order of "
            "the model's axes itself");
      }
      continue;
    }
    QB_ASSIGN_OR_RETURN(Json step, ManualStep(name.as_string(), keys));
    steps.Append(std::move(step));
  }
  return steps;
}

absl::StatusOr<Json> StepsOf(const Json& tree) {
  if (tree.is_array()) {
    return tree;
  }
  if (tree.contains("Pre-Order")) {
    return ManualSteps(tree);
  }
  const Json& section = tree.contains("preprocessing") ? tree["preprocessing"] : tree;
  if (!section.contains("pipeline")) {
    return ConfigError("neither a list of steps, nor preprocessing.pipeline, nor Pre-Order");
  }
  return section["pipeline"];
}

absl::Status RefuseOldSamples(const std::string& folder) {
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (IsSamplePath(entry->path().string())) {
      return Failure(FailureCode::kOutputWriteError,
                     absl::StrCat("'", folder,
                                  "' holds samples of an earlier run; take another "
                                  "--save-name or remove the folder"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Tensor> Preprocess(const SamplePath& sample, const Pipeline& pipeline) {
  absl::StatusOr<std::vector<NamedArray>> arrays = ReadSampleFile(sample.path);
  absl::Status status = arrays.status();
  if (arrays.ok() && arrays->size() != 1) {
    status = absl::InvalidArgumentError("holds several arrays; images are expected");
  } else if (arrays.ok()) {
    std::vector<SampleNote> notes;
    absl::StatusOr<Tensor> pixels = ToPixels((*arrays)[0], {}, 3, notes, "image");
    status = pixels.status();
    if (pixels.ok()) {
      absl::StatusOr<Tensor> value = pipeline.Apply(*std::move(pixels));
      status = value.status();
      if (value.ok()) {
        return value;
      }
    }
  }
  return Failure(FailureCode::kCalibrationDataError,
                 absl::StrCat("calibration data: '", sample.path, "': ", status.message()));
}

}  // namespace

absl::StatusOr<Json> ReadPreprocessing(absl::string_view text, const std::string& name) {
  QB_ASSIGN_OR_RETURN(const Json tree, ParseConfigText(text, name));
  absl::StatusOr<Json> steps = StepsOf(tree);
  if (!steps.ok()) {
    return ConfigError(name, ": ", steps.status().message());
  }
  std::vector<std::string> problems;
  CheckPipeline("pipeline", *steps, problems);
  if (!problems.empty()) {
    return ConfigError(name, ": ", absl::StrJoin(problems, "\n"));
  }
  return WithStepDefaults(CanonicalPipeline(*steps));
}

namespace {

// Returns the lines of the listing.
absl::StatusOr<std::string> WriteSamples(const MakeCalibRequest& request,
                                         const std::vector<SamplePath>& samples,
                                         const Pipeline& pipeline, ProgressSink& sink,
                                         const CancelToken& cancel) {
  std::string listing;
  int64_t done = 0;
  for (const SamplePath& sample : samples) {
    QB_RETURN_IF_ERROR(cancel.Check());
    QB_ASSIGN_OR_RETURN(const Tensor value, Preprocess(sample, pipeline));
    const std::string file = absl::StrCat(request.save_name, "/", FileStem(sample.name), ".npy");
    QB_RETURN_IF_ERROR(WithFailureCode(
        WriteFileAtomically(absl::StrCat(request.save_folder, "/", file), SerializeNpy(value)),
        FailureCode::kOutputWriteError));
    absl::StrAppend(&listing, file, "\n");
    sink.OnProgress(++done, static_cast<int64_t>(samples.size()), "sample");
  }
  return listing;
}

}  // namespace

absl::StatusOr<MakeCalibResult> MakeCalibration(const MakeCalibRequest& request, ProgressSink& sink,
                                                const CancelToken& cancel) {
  QB_ASSIGN_OR_RETURN(const Json steps,
                      ReadPreprocessing(request.preprocess_text, request.preprocess_name));
  absl::StatusOr<Pipeline> pipeline = Pipeline::Create(steps);
  if (!pipeline.ok()) {
    return ConfigError(request.preprocess_name, ": ", pipeline.status().message());
  }
  QB_ASSIGN_OR_RETURN(std::vector<SamplePath> samples, ListSamples(request.data_folder));
  const size_t most = static_cast<size_t>(request.most_samples);
  if (most > 0 && samples.size() > most) {
    samples.resize(most);
  }
  const std::string folder = absl::StrCat(request.save_folder, "/", request.save_name);
  QB_RETURN_IF_ERROR(RefuseOldSamples(folder));
  QB_ASSIGN_OR_RETURN(const std::string listing,
                      WriteSamples(request, samples, *pipeline, sink, cancel));
  MakeCalibResult result;
  result.samples = static_cast<int64_t>(samples.size());
  result.listing = absl::StrCat(folder, ".txt");
  QB_RETURN_IF_ERROR(WithFailureCode(WriteFileAtomically(result.listing, listing),
                                     FailureCode::kOutputWriteError));
  return result;
}

}  // namespace qb
