#include "core/compiler/make_calib.h"

#include <array>
#include <filesystem>

#include "absl/strings/str_cat.h"

#include "core/base/atomic_file.h"
#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "worker/qbcompiler/command.h"
#include "worker/qbcompiler/commands/compile_flags.h"

namespace qb::worker {
namespace {

constexpr int64_t kMostPreprocessBytes = 1 << 20;

constexpr auto kFlags = std::to_array<FlagDef>({
    {"preprocess", 0, FlagKind::kValue, "FILE",
     "steps as YAML or JSON: a list, a preprocessing section, or the manual's form"},
    {"data-dir", 0, FlagKind::kValue, "DIR", "images: a folder, or a .txt or .json listing"},
    {"save-dir", 0, FlagKind::kValue, "DIR", "where the samples go"},
    {"save-name", 0, FlagKind::kValue, "NAME", "the set's name; default calibration"},
    {"max-size", 0, FlagKind::kValue, "N", "only the first N images by name"},
});

absl::Status Run(CommandContext& context) {
  const ParsedFlags& flags = context.flags;
  MakeCalibRequest request;
  QB_ASSIGN_OR_RETURN(request.data_folder, Required(flags, "data-dir"));
  QB_ASSIGN_OR_RETURN(request.save_folder, Required(flags, "save-dir"));
  QB_ASSIGN_OR_RETURN(request.preprocess_name, Required(flags, "preprocess"));
  QB_ASSIGN_OR_RETURN(request.most_samples, flags.GetInt("max-size", 0, 1, 1 << 30));
  request.save_name = flags.Has("save-name") ? flags.Get("save-name") : "calibration";
  if (std::filesystem::path(request.save_name).filename() != request.save_name ||
      request.save_name == "." || request.save_name == "..") {
    return Failure(FailureCode::kArgumentError,
                   absl::StrCat("--save-name '", request.save_name, "' is no plain name"));
  }
  absl::StatusOr<std::string> text = ReadFile(request.preprocess_name, kMostPreprocessBytes);
  if (!text.ok()) {
    return Failure(FailureCode::kConfigError, text.status().message());
  }
  request.preprocess_text = *std::move(text);
  context.reporter.Plan({{"preprocess", 1.0}});
  context.reporter.OnStage("preprocess");
  QB_ASSIGN_OR_RETURN(const MakeCalibResult result,
                      MakeCalibration(request, context.reporter, context.cancel));
  context.reporter.Result(
      Json::Object().Set("samples", result.samples).Set("listing", result.listing),
      absl::StrCat(result.samples, " samples -> ", result.listing, "\n"));
  return absl::OkStatus();
}

}  // namespace

const Command& MakeCalibCommand() {
  static constexpr Command kCommand = {
      "make-calib", "preprocess a folder of images into samples",
      "Applies preprocessing steps to the images of a folder and writes DIR/NAME/*.npy (channels "
      "last) and the listing DIR/NAME.txt, which --calib-data-path takes. Example: qbcompiler "
      "make-calib --preprocess steps.yaml --data-dir photos --save-dir calib --save-name resnet50",
      kFlags, Run};
  return kCommand;
}

}  // namespace qb::worker
