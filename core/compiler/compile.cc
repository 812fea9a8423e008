#include "core/compiler/compile.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/atomic_file.h"
#include "core/base/digest.h"
#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/compiler/accuracy_check.h"
#include "core/compiler/layer_names.h"
#include "core/compiler/load_model.h"
#include "core/compiler/phases.h"
#include "core/compiler/provenance.h"
#include "core/compiler/reports.h"
#include "core/compiler/version.h"
#include "core/dataset/dataset.h"
#include "core/frontends/all_frontends.h"
#include "core/npu/program.h"
#include "core/package/mblt.h"
#include "core/package/mxq.h"
#include "core/passes/pipeline.h"
#include "core/quantization/quantize.h"
#include "core/target/support.h"
#include "core/target/target_spec.h"

namespace qb {
namespace {

constexpr int64_t kRandomSamples = 16;
constexpr uint64_t kRandomSeed = 1;

absl::StatusOr<OutputFile> Describe(const std::string& path) {
  absl::StatusOr<std::string> digest = Sha256HexOfFile(path);
  if (!digest.ok()) {
    return WithFailureCode(digest.status(), FailureCode::kOutputWriteError);
  }
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  return OutputFile{path, *std::move(digest), static_cast<int64_t>(bytes)};
}

// The device the compile runs on. This build has no GPU executor: "gpu" falls back, never in
// silence.
absl::StatusOr<std::string> ChooseDevice(const CompileConfig& config, bool required,
                                         Phases& phases) {
  if (config.String("device") == "gpu") {
    if (required) {
      return Failure(FailureCode::kDeviceUnavailable,
                     "device 'gpu' is required, but this build computes on the CPU only");
    }
    // A person who did not ask for a device need not read a warning about it.
    const bool asked = config.Origin("device") != "default";
    phases.OnLog(asked ? LogLevel::kWarning : LogLevel::kInfo, "device",
                 "no GPU is available to this build: computing on the CPU");
  }
  return std::string("cpu");
}

// The target, after checking that it has the scheme.
absl::StatusOr<const TargetSpec*> ChooseTarget(const std::string& name,
                                               const CompileConfig& config) {
  QB_ASSIGN_OR_RETURN(const TargetSpec* target, FindTarget(name));
  QB_RETURN_IF_ERROR(CheckScheme(*target, config.String("inferenceScheme")).status());
  return target;
}

// A sub-stage of Compile and the whole of Parse. `output_path` gets the .mblt.
absl::Status ParseTo(const ParseRequest& request, const CompileConfig& config, Phases& phases,
                     const std::string& output_path) {
  QB_ASSIGN_OR_RETURN(const TargetSpec* target, ChooseTarget(request.target, config));

  QB_RETURN_IF_ERROR(phases.Begin("import"));
  ImportOptions options;
  options.input_shapes = request.input_shapes;
  QB_ASSIGN_OR_RETURN(ImportedModel model,
                      ImportModel(request.backend, request.model_path, options));
  // Now: a float graph with static shapes, in the source's layout.

  QB_RETURN_IF_ERROR(phases.Begin("optimize"));
  QB_RETURN_IF_ERROR(RunPasses(model.graph, PassOptions{}));
  // Now: simplified, channels last inside, the source's layout at inputs and outputs.

  const SupportReport support = CheckSupport(model.graph, *target);
  QB_RETURN_IF_ERROR(RequireFullSupport(support, *target));
  // Now: every layer runs on the NPU.

  QB_RETURN_IF_ERROR(phases.Begin("write"));
  Json manifest = Json::Object();
  manifest.Set("target", target->name);
  manifest.Set("provenance", MakeProvenance(model, request.backend, request.input_shapes,
                                            request.target, config));
  manifest.Set("support", SupportSummary(support));
  return WriteMblt(output_path, model.graph, manifest);
}

absl::StatusOr<std::unique_ptr<Dataset>> OpenCalibration(const QuantizeRequest& request,
                                                         const CompileConfig& config,
                                                         const std::vector<InputSpec>& inputs,
                                                         Phases& phases) {
  if (config.Bool("useRandomCalib")) {
    phases.OnLog(LogLevel::kWarning, "calibration",
                 "calibrating on random data: the accuracy of the result means nothing");
    return MakeRandomDataset(inputs, kRandomSamples, kRandomSeed);
  }
  if (request.calibration_paths.empty()) {
    return Failure(FailureCode::kArgumentError,
                   "No calibration dataset is provided: give --calib-data-path, or "
                   "--use-random-calib for a smoke test");
  }
  if (request.calibration_paths.size() > 1) {
    return Failure(FailureCode::kArgumentError,
                   absl::StrCat(request.calibration_paths.size(),
                                " calibration data sets are given; a model of one size takes one"));
  }
  return OpenDataset(request.calibration_paths[0], inputs, phases);
}

LayerOverrides LayerOverridesOf(const CompileConfig& config) {
  LayerOverrides overrides;
  overrides.activation16 = config.Strings("bit.layerOverrides.activation16Bits");
  overrides.weight16 = config.Strings("bit.layerOverrides.weight16Bits");
  overrides.weight8 = config.Strings("bit.layerOverrides.weight8Bits");
  overrides.weight4 = config.Strings("bit.layerOverrides.weight4Bits");
  for (const auto& [name, method] : config.Get("calibration.layerOverrides.method").members()) {
    overrides.method[name] = method.as_int();
  }
  return overrides;
}

// What has no part yet was refused when the config was resolved.
QuantizationOptions QuantizationOptionsOf(const CompileConfig& config, int threads) {
  QuantizationOptions options;
  options.method = static_cast<QuantizationMethod>(config.Int("calibration.method"));
  options.overrides = LayerOverridesOf(config);
  options.calibration.mode = static_cast<CalibrationMode>(config.Int("calibration.mode"));
  options.calibration.percentile = config.Float("calibration.maxPercentile.percentile");
  options.calibration.topk_ratio = config.Float("calibration.maxPercentile.topkRatio");
  options.calibration.threads = threads;
  options.bias_correction.apply = config.Bool("biasCorrection.apply");
  options.bias_correction.apply_layers = config.Strings("biasCorrection.attributes.applyLayers");
  options.bias_correction.exclude_layers =
      config.Strings("biasCorrection.attributes.excludeLayers");
  return options;
}

absl::Status SaveConfig(const std::string& path, const CompileConfig& config) {
  if (path.empty()) {
    return absl::OkStatus();
  }
  const Json tree = config.ToGroupedJson();
  const bool yaml = absl::EndsWith(path, ".yaml") || absl::EndsWith(path, ".yml");
  const auto write = [&]() -> absl::Status {
    QB_RETURN_IF_ERROR(WriteFileAtomically(path, yaml ? JsonToYaml(tree) : tree.Dump(2) + "\n"));
    return WriteFileAtomically(absl::StrCat(path, ".origins.json"),
                               config.Origins().Dump(2) + "\n");
  };
  return WithFailureCode(write(), FailureCode::kOutputWriteError);
}

// The samples of the check after the compile, or null when there are none.
struct CheckData {
  std::unique_ptr<Dataset> own;  // of --eval-data
  const Dataset* dataset = nullptr;
  std::unique_ptr<Labels> labels;
  std::string description;
  int64_t max_samples = 0;
};

absl::StatusOr<CheckData> OpenCheckData(const QuantizeRequest& request, const Dataset& calibration,
                                        const std::vector<InputSpec>& inputs, Phases& phases) {
  CheckData data;
  if (request.evaluation_path.empty()) {
    data.dataset = &calibration;
    data.description = "on calibration data";
    data.max_samples = kCheckSamples;
    return data;
  }
  QB_ASSIGN_OR_RETURN(data.own, OpenDataset(request.evaluation_path, inputs, phases));
  data.dataset = data.own.get();
  data.description = "on evaluation data";
  if (!request.labels_path.empty()) {
    QB_ASSIGN_OR_RETURN(Labels labels, ReadLabels(request.labels_path));
    data.labels = std::make_unique<Labels>(std::move(labels));
  }
  return data;
}

// All that a quantization works on, known to be good before work begins.
struct QuantizeInputs {
  const TargetSpec* target = nullptr;
  std::vector<CoreMode> modes;
  std::string device;
  MbltFile mblt;
  SupportReport support;  // of the nodes of mblt.graph
  std::unique_ptr<Dataset> calibration;
  CheckData check_data;
};

absl::Status Prepare(const QuantizeRequest& request, const std::string& mblt_path,
                     const CompileConfig& config, Phases& phases, QuantizeInputs& inputs) {
  QB_ASSIGN_OR_RETURN(inputs.target, ChooseTarget(request.target, config));
  QB_ASSIGN_OR_RETURN(inputs.modes, CheckScheme(*inputs.target, config.String("inferenceScheme")));
  QB_ASSIGN_OR_RETURN(inputs.device, ChooseDevice(config, request.require_device, phases));
  QB_ASSIGN_OR_RETURN(inputs.mblt, ReadMblt(mblt_path));
  inputs.support = CheckSupport(inputs.mblt.graph, *inputs.target);
  QB_RETURN_IF_ERROR(RequireFullSupport(inputs.support, *inputs.target));
  QB_RETURN_IF_ERROR(CheckLayerNames(config, inputs.mblt.graph));
  QB_RETURN_IF_ERROR(ResolveLayerOverrides(inputs.mblt.graph, PointwiseClosures(inputs.mblt.graph),
                                           LayerOverridesOf(config))
                         .status());
  QB_RETURN_IF_ERROR(SaveConfig(request.config_save_path, config));
  const std::vector<InputSpec> specs = InputSpecsOf(inputs.mblt.graph);
  QB_ASSIGN_OR_RETURN(inputs.calibration, OpenCalibration(request, config, specs, phases));
  QB_ASSIGN_OR_RETURN(inputs.check_data,
                      OpenCheckData(request, *inputs.calibration, specs, phases));
  return absl::OkStatus();
}

// A program for each core mode, over one weights file, with what describes them.
absl::StatusOr<MxqContents> Schedule(const QuantizeInputs& inputs, const QuantizedModel& quantized,
                                     const CompileConfig& config) {
  QB_ASSIGN_OR_RETURN(npu::NpuPrograms built,
                      npu::BuildPrograms(quantized.network, *inputs.target, inputs.modes));
  MxqContents contents;
  contents.manifest = MxqManifest(inputs.mblt, built.programs, *inputs.target, inputs.modes);
  contents.config_yaml = JsonToYaml(config.ToGroupedJson(true));
  for (size_t i = 0; i < inputs.modes.size(); ++i) {
    contents.programs[std::string(CoreModeName(inputs.modes[i]))] =
        std::move(built.programs[i].program);
  }
  contents.weights = std::move(built.weights);
  return contents;
}

absl::StatusOr<Json> CheckExecutable(const QuantizeInputs& inputs, const MxqContents& contents,
                                     int threads, Phases& phases) {
  AccuracyCheckInput check;
  // Every mode gives the same bits.
  check.program = contents.programs.at(std::string(CoreModeName(inputs.modes[0])));
  check.weights = contents.weights;
  check.dataset = inputs.check_data.dataset;
  check.labels = inputs.check_data.labels.get();
  check.max_samples = inputs.check_data.max_samples;
  check.threads = threads;
  check.description = inputs.check_data.description;
  return CheckAccuracy(inputs.mblt.graph, check, phases);
}

absl::StatusOr<CompileResult> QuantizeFrom(const QuantizeRequest& request,
                                           const std::string& mblt_path,
                                           const CompileConfig& config, Phases& phases) {
  QuantizeInputs inputs;
  QB_RETURN_IF_ERROR(Prepare(request, mblt_path, config, phases, inputs));
  // Now: model, target, settings and every sample are known to be good; work begins.

  const QuantizationOptions options = QuantizationOptionsOf(config, request.threads);
  QB_ASSIGN_OR_RETURN(
      const QuantizedModel quantized,
      Quantize(inputs.mblt.graph, *inputs.calibration, options, phases, phases.cancel()));
  // Now: an integer network, corrected.

  QB_RETURN_IF_ERROR(phases.Begin("schedule"));
  QB_ASSIGN_OR_RETURN(MxqContents contents, Schedule(inputs, quantized, config));
  // Now: for each core mode descriptors with addresses in one planned arena, over one weights file.

  QB_RETURN_IF_ERROR(phases.Begin("check"));
  QB_ASSIGN_OR_RETURN(const Json accuracy,
                      CheckExecutable(inputs, contents, request.threads, phases));
  contents.report = MxqReport(quantized, inputs.support, accuracy);
  // Now: the accuracy against the float model is known.

  QB_RETURN_IF_ERROR(phases.Begin("write"));
  QB_RETURN_IF_ERROR(WriteMxq(request.output_path, contents));
  CompileResult result;
  QB_ASSIGN_OR_RETURN(OutputFile output, Describe(request.output_path));
  result.outputs.push_back(std::move(output));
  result.device = inputs.device;
  result.report = Json::Object()
                      .Set("check", accuracy)
                      .Set("plan", contents.manifest["plan"])
                      .Set("seconds", phases.Seconds())
                      .Set("peak_memory_bytes", PeakMemoryBytes());
  return result;
}

// Removes the temporary .mblt of Compile however it ends.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

}  // namespace

std::vector<std::pair<std::string, double>> ParseStages() {
  return {{"import", 0.4}, {"optimize", 0.4}, {"write", 0.2}};
}

std::vector<std::pair<std::string, double>> QuantizeStages() {
  return {{"calibrate", 0.5}, {"quantize", 0.05}, {"correct", 0.25},
          {"schedule", 0.03}, {"check", 0.15},    {"write", 0.02}};
}

// "write" comes twice (the temporary .mblt, the .mxq); its share is that of one.
std::vector<std::pair<std::string, double>> CompileStages() {
  return {{"import", 0.04},  {"optimize", 0.04}, {"calibrate", 0.46}, {"quantize", 0.05},
          {"correct", 0.23}, {"schedule", 0.02}, {"check", 0.12},     {"write", 0.02}};
}

absl::StatusOr<CompileResult> Parse(const ParseRequest& request, const CompileConfig& config,
                                    ProgressSink& sink, const CancelToken& cancel) {
  Phases phases(sink, cancel);
  QB_RETURN_IF_ERROR(ParseTo(request, config, phases, request.output_path));
  CompileResult result;
  QB_ASSIGN_OR_RETURN(OutputFile output, Describe(request.output_path));
  result.outputs.push_back(std::move(output));
  result.device = "cpu";
  result.report =
      Json::Object().Set("seconds", phases.Seconds()).Set("peak_memory_bytes", PeakMemoryBytes());
  return result;
}

absl::StatusOr<CompileResult> Quantize(const QuantizeRequest& request, const CompileConfig& config,
                                       ProgressSink& sink, const CancelToken& cancel) {
  Phases phases(sink, cancel);
  return QuantizeFrom(request, request.mblt_path, config, phases);
}

absl::StatusOr<CompileResult> Compile(const CompileRequest& request, const CompileConfig& config,
                                      ProgressSink& sink, const CancelToken& cancel) {
  Phases phases(sink, cancel);
  const TemporaryFile mblt(absl::StrCat(request.quantize.output_path, ".parsed.mblt"));
  QB_RETURN_IF_ERROR(ParseTo(request.parse, config, phases, mblt.path()));
  return QuantizeFrom(request.quantize, mblt.path(), config, phases);
}

}  // namespace qb
