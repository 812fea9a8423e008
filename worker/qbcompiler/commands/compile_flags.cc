#include "worker/qbcompiler/commands/compile_flags.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include "core/base/atomic_file.h"
#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/base/thread_pool.h"
#include "core/target/target_spec.h"

namespace qb::worker {
namespace {

constexpr int64_t kMostConfigBytes = 1 << 20;  // as ParseConfigText
constexpr int kMostThreads = 1024;

void AddOverride(const ParsedFlags& flags, absl::string_view flag, absl::string_view path,
                 ConfigSources& sources) {
  if (flags.Has(flag)) {
    sources.overrides.push_back(
        {std::string(path), Json(flags.Get(flag)), absl::StrCat("--", flag)});
  }
}

void AddSwitch(const ParsedFlags& flags, absl::string_view flag, absl::string_view path,
               ConfigSources& sources) {
  if (const std::optional<bool> value = flags.GetSwitch(flag); value.has_value()) {
    sources.overrides.push_back({std::string(path), Json(*value), absl::StrCat("--", flag)});
  }
}

void LogSettings(const CompileConfig& config, ProgressSink& sink) {
  const Json origins = config.Origins();
  for (const auto& [path, origin] : origins.members()) {
    if (origin.as_string() != "default") {
      sink.OnLog(LogLevel::kDebug, "config",
                 absl::StrCat(path, " = ", config.Get(path).Dump(), " (", origin.as_string(), ")"));
    }
  }
}

// A path that is a flag, or else a setting that has a list of them. The flag does not become part
// of the settings: they are the same wherever model and result lie. Errors: ARGUMENT_ERROR when it
// is given in neither way, CONFIG_ERROR when the setting has more than one.
absl::StatusOr<std::string> OnePath(const ParsedFlags& flags, absl::string_view flag,
                                    const CompileConfig& config, absl::string_view path) {
  if (flags.Has(flag)) {
    return Required(flags, flag);
  }
  const std::vector<std::string> paths = config.Strings(path);
  if (paths.empty() || paths[0].empty() || config.Origin(path) == "default") {
    return Failure(FailureCode::kArgumentError,
                   absl::StrCat("--", flag, " is missing (or ", path, " in the config file)"));
  }
  if (paths.size() > 1) {
    return Failure(FailureCode::kConfigError,
                   absl::StrCat(path, ": ", paths.size(), " paths (", config.Origin(path),
                                "); a compile takes one"));
  }
  return paths[0];
}

}  // namespace

absl::StatusOr<CompileConfig> ResolveConfig(const ParsedFlags& flags, Reporter& reporter) {
  ConfigSources sources;
  sources.preset = flags.Get("config-preset");
  if (flags.Has("compile-config")) {
    sources.file_name = flags.Get("compile-config");
    absl::StatusOr<std::string> text = ReadFile(sources.file_name, kMostConfigBytes);
    if (!text.ok()) {
      return WithFailureCode(text.status(), FailureCode::kConfigError);
    }
    sources.file_text = *std::move(text);
  }
  AddOverride(flags, "device", "device", sources);
  AddOverride(flags, "inference-scheme", "inferenceScheme", sources);
  AddSwitch(flags, "cpu-offload", "cpuOffload", sources);
  AddSwitch(flags, "use-random-calib", "useRandomCalib", sources);
  if (flags.Has("calib-data-path")) {
    Json paths = Json::Array();
    for (const std::string& path : flags.GetAll("calib-data-path")) {
      paths.Append(Json(path));
    }
    sources.overrides.push_back({"calibDataPaths", std::move(paths), "--calib-data-path"});
  }
  if (flags.Has("threads")) {
    QB_ASSIGN_OR_RETURN(const int threads, flags.GetInt("threads", 1, 1, kMostThreads));
    sources.overrides.push_back(
        {"resourceManagement.threads", Json(int64_t{threads}), "--threads"});
  }
  if (flags.Has("target-device")) {
    QB_ASSIGN_OR_RETURN(const TargetSpec* target, FindTarget(flags.Get("target-device")));
    sources.target = target->name;
    for (const CoreMode mode : target->modes) {
      sources.target_schemes.emplace_back(CoreModeName(mode));
    }
    sources.target_schemes.emplace_back("all");
  }
  QB_ASSIGN_OR_RETURN(CompileConfig config, CompileConfig::Resolve(sources));
  for (const std::string& warning : config.warnings()) {
    reporter.OnLog(LogLevel::kWarning, "config", warning);
  }
  if (config.Bool("debug")) {
    reporter.ShowDebug();
    LogSettings(config, reporter);
  }
  return config;
}

absl::StatusOr<std::string> Required(const ParsedFlags& flags, absl::string_view name) {
  const std::string value = flags.Get(name);
  if (value.empty()) {
    return Failure(FailureCode::kArgumentError, absl::StrCat("--", name, " is missing"));
  }
  return value;
}

absl::StatusOr<std::string> RequiredTarget(const ParsedFlags& flags) {
  const std::string value = flags.Get("target-device");
  if (!value.empty()) {
    return value;
  }
  std::vector<absl::string_view> names;
  for (const TargetSpec& target : AllTargets()) {
    names.emplace_back(target.name);
  }
  return Failure(FailureCode::kArgumentError,
                 absl::StrCat("--target-device is missing; devices: ", absl::StrJoin(names, ", ")));
}

absl::StatusOr<int> ThreadCount(const ParsedFlags& flags, int64_t configured) {
  const int available = AvailableThreads();
  const int fallback =
      configured > 0 ? static_cast<int>(std::min<int64_t>(configured, available)) : available;
  QB_ASSIGN_OR_RETURN(const int threads, flags.GetInt("threads", fallback, 1, kMostThreads));
  return threads;
}

namespace {

// Shapes of one input: "NAME:1x3x224x224", or several with commas between them.
struct NamedShapes {
  std::string name;
  std::vector<Shape> shapes;
};

absl::StatusOr<NamedShapes> ParseNamedShapes(const std::string& text) {
  const auto bad = [&](absl::string_view why) {
    return Failure(FailureCode::kArgumentError,
                   absl::StrCat("--input-shape ", text, ": ", why,
                                "; accepted is NAME:1x3x224x224, or several sizes as "
                                "NAME:1x3x224x224,1x3x448x448"));
  };
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) {
    return bad("there is no ':' after a name");
  }
  NamedShapes named{text.substr(0, colon), {}};
  for (const absl::string_view shape : absl::StrSplit(text.substr(colon + 1), ',')) {
    std::vector<int64_t> dims;
    for (const absl::string_view part : absl::StrSplit(shape, 'x')) {
      int64_t dim = 0;
      if (!absl::SimpleAtoi(part, &dim) || dim < 1) {
        return bad(absl::StrCat("'", part, "' is no size"));
      }
      dims.push_back(dim);
    }
    named.shapes.emplace_back(dims);
  }
  return named;
}

}  // namespace

absl::StatusOr<std::vector<SizeShapes>> InputSizes(const ParsedFlags& flags) {
  std::vector<SizeShapes> sizes(1);
  bool first = true;
  for (const std::string& text : flags.GetAll("input-shape")) {
    QB_ASSIGN_OR_RETURN(const NamedShapes named, ParseNamedShapes(text));
    if (first) {
      sizes.resize(named.shapes.size());
      first = false;
    }
    if (named.shapes.size() != sizes.size()) {
      return Failure(
          FailureCode::kArgumentError,
          absl::StrCat("--input-shape ", text, ": ", named.shapes.size(),
                       " sizes, another input has ", sizes.size(), "; every input has as many"));
    }
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (!sizes[i].emplace(named.name, named.shapes[i]).second) {
        return Failure(FailureCode::kArgumentError,
                       absl::StrCat("--input-shape ", text, ": the input is named twice"));
      }
    }
  }
  return sizes;
}

absl::StatusOr<SizeShapes> InputShapes(const ParsedFlags& flags) {
  QB_ASSIGN_OR_RETURN(std::vector<SizeShapes> sizes, InputSizes(flags));
  if (sizes.size() != 1) {
    return Failure(FailureCode::kArgumentError,
                   absl::StrCat("--input-shape: ", sizes.size(), " sizes; one is accepted here"));
  }
  return std::move(sizes[0]);
}

absl::StatusOr<ParseRequest> MakeParseRequest(const ParsedFlags& flags,
                                              const CompileConfig& config) {
  ParseRequest request;
  QB_ASSIGN_OR_RETURN(request.model_path, OnePath(flags, "model", config, "modelPaths"));
  if (flags.Has("backend")) {
    request.backend = flags.Get("backend");
  }
  QB_ASSIGN_OR_RETURN(request.target, RequiredTarget(flags));
  QB_ASSIGN_OR_RETURN(std::vector<SizeShapes> sizes, InputSizes(flags));
  request.input_shapes = std::move(sizes[0]);
  request.further_sizes.assign(std::make_move_iterator(sizes.begin() + 1),
                               std::make_move_iterator(sizes.end()));
  QB_ASSIGN_OR_RETURN(request.threads,
                      ThreadCount(flags, config.Int("resourceManagement.threads")));
  return request;
}

absl::StatusOr<QuantizeRequest> MakeQuantizeRequest(const ParsedFlags& flags,
                                                    const CompileConfig& config) {
  QuantizeRequest request;
  const std::vector<std::string> mblts = flags.GetAll("mblt");
  if (!mblts.empty()) {
    request.mblt_path = mblts.front();
    request.further_mblt_paths.assign(mblts.begin() + 1, mblts.end());
  }
  QB_ASSIGN_OR_RETURN(request.output_path, OnePath(flags, "output", config, "savePaths"));
  QB_ASSIGN_OR_RETURN(request.target, RequiredTarget(flags));
  request.calibration_paths = config.Strings("calibDataPaths");
  request.evaluation_path = flags.Get("eval-data");
  request.labels_path = flags.Get("eval-labels");
  request.config_save_path = flags.Get("config-save-path");
  request.statistics_load_path = flags.Get("calib-stats-load");
  request.statistics_save_path = flags.Get("calib-stats-save");
  request.report_dir = flags.Get("report-dir");
  request.require_device = flags.Has("require-device");
  QB_ASSIGN_OR_RETURN(request.threads,
                      ThreadCount(flags, config.Int("resourceManagement.threads")));
  if (!request.labels_path.empty() && request.evaluation_path.empty()) {
    return Failure(FailureCode::kArgumentError, "--eval-labels needs --eval-data");
  }
  return request;
}

Json ResultFields(const CompileResult& result) {
  Json outputs = Json::Array();
  for (const OutputFile& output : result.outputs) {
    outputs.Append(Json::Object()
                       .Set("path", output.path)
                       .Set("sha256", output.sha256)
                       .Set("bytes", output.bytes));
  }
  return Json::Object()
      .Set("outputs", std::move(outputs))
      .Set("device", result.device)
      .Set("report", result.report);
}

std::string ResultText(const CompileResult& result) {
  std::string text;
  for (const OutputFile& output : result.outputs) {
    absl::StrAppend(&text, output.path, "  ", output.bytes, " bytes  sha256 ", output.sha256, "\n");
  }
  const Json& check = result.report["check"];
  for (const Json& output : check["outputs"].items()) {
    absl::StrAppendFormat(&text, "check %s, output %s: SQNR %.1f dB", check["data"].as_string(),
                          output["name"].as_string(), output["sqnr_db"].as_double());
    if (output["agreement"].is_number()) {
      absl::StrAppendFormat(&text, ", agreement %.2f %%", output["agreement"].as_double() * 100);
    }
    text.push_back('\n');
  }
  if (check["float_top1"].is_number()) {
    absl::StrAppendFormat(&text, "top-1: float %.2f %%, quantized %.2f %% (%d labelled samples)\n",
                          check["float_top1"].as_double() * 100,
                          check["quantized_top1"].as_double() * 100, check["labelled"].as_int());
  }
  return text;
}

}  // namespace qb::worker
