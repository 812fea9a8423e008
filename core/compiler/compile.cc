#include "core/compiler/compile.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/compiler/accuracy_check.h"
#include "core/compiler/compile_reports.h"
#include "core/compiler/executable_parts.h"
#include "core/compiler/extra_outputs.h"
#include "core/compiler/input_preparation.h"
#include "core/compiler/load_model.h"
#include "core/compiler/phases.h"
#include "core/compiler/placement.h"
#include "core/compiler/provenance.h"
#include "core/compiler/quantization_settings.h"
#include "core/compiler/quantize_inputs.h"
#include "core/compiler/reports.h"
#include "core/compiler/tune_bits.h"
#include "core/compiler/version.h"
#include "core/dataset/read_ahead.h"
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

constexpr int64_t kSamplesAhead = 2;  // beyond one a thread

void LogPlacement(const Placement& placement, Phases& phases) {
  if (placement.partition.has_value()) {
    phases.OnLog(LogLevel::kInfo, "partition",
                 absl::StrCat("CPU and NPU take turns:\n", PartitionText(*placement.partition)));
  }
}

// A sub-stage of Compile and the whole of Parse. `output_path` gets the .mblt.
absl::Status ParseTo(const ParseRequest& request, const SizeShapes& shapes,
                     const CompileConfig& config, Phases& phases, const std::string& output_path) {
  QB_ASSIGN_OR_RETURN(const TargetSpec* target, ChooseTarget(request.target, config));

  QB_RETURN_IF_ERROR(phases.Begin("import"));
  ImportOptions options;
  options.input_shapes = shapes;
  QB_ASSIGN_OR_RETURN(ImportedModel model,
                      ImportModel(request.backend, request.model_path, options));
  // Now: a float graph with static shapes, in the source's layout.

  QB_RETURN_IF_ERROR(phases.Begin("optimize"));
  // Before the passes, so that extra outputs keep the source's layout; then among the names that
  // the passes made.
  std::vector<std::string> missing = AddExtraOutputs(WantedExtraOutputs(config), model.graph);
  QB_RETURN_IF_ERROR(RunPasses(model.graph, PassOptions{}));
  missing = AddExtraOutputs(missing, model.graph);
  QB_RETURN_IF_ERROR(RequireNoneMissing(missing, model.graph));
  // Now: simplified, channels last inside, the source's layout at inputs and outputs.

  QB_ASSIGN_OR_RETURN(const Placement placement, PlaceGraph(model.graph, *target, config));
  LogPlacement(placement, phases);
  // Now: every layer runs on the NPU, or where offloading puts it.

  QB_RETURN_IF_ERROR(phases.Begin("write"));
  Json manifest = Json::Object();
  manifest.Set("target", target->name);
  manifest.Set("provenance",
               MakeProvenance(model, request.backend, shapes, request.target, config));
  manifest.Set("support", SupportSummary(placement.support));
  if (placement.partition.has_value()) {
    manifest.Set("subgraphs", PartitionJson(*placement.partition));
  }
  return WriteMblt(output_path, model.graph, manifest);
}

// The manifest of a file that holds this size alone; its programs, weights and CPU graphs go to
// `entries`. Takes them out of `parts`.
Json AssembleSize(const QuantizeInputs& inputs, const SizeInputs& size, const std::string& folder,
                  std::vector<CompiledPart>& parts, std::map<std::string, std::string>& entries) {
  std::vector<Json> contracts;
  for (const InputSpec& input : size.specs) {
    contracts.push_back(InputContract(input, size.preparation, size.bytes));
  }
  Json manifest = MxqManifest(size.mblt, BodyOf(size.placement, parts).programs.programs,
                              *inputs.target, inputs.modes, contracts);
  PartEntries made = MakeEntries(size.mblt.graph, size.placement, parts, inputs.modes, folder);
  entries.merge(made.entries);
  if (size.placement.partition.has_value()) {
    SetGraphBorders(size.mblt.graph, contracts, manifest);
    manifest.Set("stages", std::move(made.stages));
    manifest.Set("results", std::move(made.results));
  }
  return manifest;
}

// What the list of sizes says about one: its border, its plan and how its parts go together.
Json SizeRow(const Json& manifest, const std::string& folder) {
  Json row = Json::Object().Set("folder", folder);
  for (const char* key : {"inputs", "outputs", "plan", "plans", "stages", "results"}) {
    if (manifest.contains(key)) {
      row.Set(key, manifest[key]);
    }
  }
  return row;
}

absl::StatusOr<Json> CheckExecutable(const QuantizeInputs& inputs, const SizeInputs& size,
                                     const MxqSize& executable, int threads, Phases& phases) {
  AccuracyCheckInput check;
  check.executable = &executable;
  check.core_mode = std::string(CoreModeName(inputs.modes[0]));  // every mode gives the same bits
  check.dataset = size.check_data.dataset;
  check.folded = size.folded.get();
  check.labels = size.check_data.labels.get();
  check.threads = threads;
  check.description = size.check_data.description;
  return CheckAccuracy(size.mblt.graph, check, phases);
}

// Of every part, but for its bytes.
PartSettings SettingsOf(const QuantizeInputs& inputs, const CompileConfig& config, int threads) {
  PartSettings settings = {inputs.target,
                           inputs.modes,
                           QuantizationOptionsOf(config, threads),
                           EquivalentOptionsOf(config, threads),
                           {}};
  // Roles are found in the whole model, as an island may cut a block; names hold in every part.
  const Graph& graph = inputs.sizes.front().mblt.graph;
  AddTransformerBits(graph, TransformerBitsOf(config), settings.quantization.overrides);
  for (std::string& name : LayersOfRoles(graph, ScaleSearchRolesOf(config))) {
    settings.quantization.refinement.scale_layers.push_back(std::move(name));
  }
  return settings;
}

// What the settings by role came to.
void LogRoles(const QuantizeInputs& inputs, const CompileConfig& config, Phases& phases) {
  const Graph& graph = inputs.sizes.front().mblt.graph;
  LayerOverrides overrides = LayerOverridesOf(config);
  for (const std::string& line : AddTransformerBits(graph, TransformerBitsOf(config), overrides)) {
    phases.OnLog(LogLevel::kInfo, "bit", line);
  }
  const std::vector<TransformerRole> searched = ScaleSearchRolesOf(config);
  if (!searched.empty() && LayersOfRoles(graph, searched).empty()) {
    phases.OnLog(LogLevel::kWarning, "searchWeightScale",
                 "searchWeightScale.transformer: the model has no such layers");
  }
}

// Quantizes and schedules every size into `contents`. Returns the layers of each.
absl::StatusOr<std::vector<QuantizedModel>> CompileSizes(const QuantizeInputs& inputs,
                                                         PartSettings settings, Phases& phases,
                                                         MxqContents& contents,
                                                         absl::Duration& waited) {
  settings.statistics = inputs.statistics.get();
  std::vector<QuantizedModel> quantized;
  Json rows = Json::Array();
  for (size_t i = 0; i < inputs.sizes.size(); ++i) {
    const SizeInputs& size = inputs.sizes[i];
    settings.bytes = size.bytes;
    QB_RETURN_IF_ERROR(inputs.statistics->Use(size.mblt, size.calibration()));
    const ReadAhead samples(size.calibration(),
                            settings.quantization.calibration.threads + kSamplesAhead);
    QB_ASSIGN_OR_RETURN(std::vector<CompiledPart> parts,
                        CompileParts({size.mblt.graph, size.placement}, samples, settings, phases,
                                     phases.cancel()));
    waited += samples.waited();
    quantized.push_back(JoinReports(parts));
    const std::string folder = i == 0 ? "" : absl::StrCat("size_", i + 1, "/");
    Json manifest = AssembleSize(inputs, size, folder, parts, contents.entries);
    rows.Append(SizeRow(manifest, folder));
    if (i == 0) {
      contents.manifest = std::move(manifest);
    }
  }
  if (inputs.sizes.size() > 1) {
    contents.manifest.Set("sizes", std::move(rows));
  }
  return quantized;
}

// Runs every size against its float model. The report of the first has those of the others in it.
absl::Status ReportSizes(const QuantizeInputs& inputs, const std::vector<QuantizedModel>& quantized,
                         int threads, Phases& phases, MxqContents& contents) {
  std::map<std::string, absl::string_view> entries;
  for (const auto& [name, bytes] : contents.entries) {
    entries[name] = bytes;
  }
  QB_ASSIGN_OR_RETURN(const std::vector<MxqSize> executables,
                      ReadSizes(contents.manifest, entries));
  Json further = Json::Array();
  for (size_t i = 0; i < inputs.sizes.size(); ++i) {
    const SizeInputs& size = inputs.sizes[i];
    QB_ASSIGN_OR_RETURN(const Json accuracy,
                        CheckExecutable(inputs, size, executables[i], threads, phases));
    Json report = MxqReport(quantized[i], size.placement.support, accuracy);
    if (i == 0) {
      contents.report = std::move(report);
    } else {
      further.Append(std::move(report));
    }
  }
  if (inputs.sizes.size() > 1) {
    contents.report.Set("further_sizes", std::move(further));
  }
  return absl::OkStatus();
}

// Of the first size.
absl::StatusOr<std::vector<OutputFile>> ReportCompile(const QuantizeRequest& request,
                                                      const QuantizeInputs& inputs,
                                                      const Json& report, Phases& phases) {
  const SizeInputs& size = inputs.sizes.front();
  ReportInput input;
  input.folder = request.report_dir;
  input.mxq_path = request.output_path;
  input.core_mode = std::string(CoreModeName(inputs.modes[0]));
  input.graph = &size.mblt.graph;
  input.support = &size.placement.support;
  input.report = &report;
  input.samples = size.check_data.dataset;
  input.folded = size.folded.get();
  input.bytes = size.bytes;
  input.target = inputs.target->name;
  input.threads = request.threads;
  return WriteReports(input, phases);
}

// The settings with the widths that autoTune chooses, on the first size, and saved with them; as
// they are without autoTune.
absl::StatusOr<TunedBits> Tune(const QuantizeRequest& request, const CompileConfig& config,
                               const QuantizeInputs& inputs, Phases& phases) {
  if (!config.Bool("autoTune.apply")) {
    return TunedBits{config, Json()};
  }
  const SizeInputs& size = inputs.sizes.front();
  PartSettings settings = SettingsOf(inputs, config, request.threads);
  settings.bytes = size.bytes;
  QB_ASSIGN_OR_RETURN(TunedBits tuned, TuneBits({size.mblt.graph, size.placement},
                                                size.calibration(), settings, config, phases));
  QB_RETURN_IF_ERROR(SaveConfig(request.config_save_path, tuned.config));
  return tuned;
}

absl::StatusOr<CompileResult> QuantizeFrom(const QuantizeRequest& request,
                                           const std::vector<std::string>& mblt_paths,
                                           const CompileConfig& config, Phases& phases) {
  QuantizeInputs inputs;
  QB_RETURN_IF_ERROR(PrepareQuantization(request, mblt_paths, config, phases, inputs));
  LogRoles(inputs, config, phases);
  // Now: model, target, settings and every sample are known to be good; work begins.

  MxqContents contents;
  absl::Duration waited;  // for samples
  QB_ASSIGN_OR_RETURN(const TunedBits tuned, Tune(request, config, inputs, phases));
  for (SizeInputs& size : inputs.sizes) {
    RecordTunedConfig(config, tuned.config, size.mblt.manifest);
  }
  // Now: every layer's width is written down as a setting.

  contents.config_yaml = JsonToYaml(tuned.config.ToGroupedJson(true));
  QB_ASSIGN_OR_RETURN(const std::vector<QuantizedModel> quantized,
                      CompileSizes(inputs, SettingsOf(inputs, tuned.config, request.threads),
                                   phases, contents, waited));
  QB_RETURN_IF_ERROR(inputs.statistics->Save());
  // Now: for each size, NPU part and core mode a program.

  QB_RETURN_IF_ERROR(phases.Begin("check"));
  QB_RETURN_IF_ERROR(ReportSizes(inputs, quantized, request.threads, phases, contents));
  // Now: the accuracy against the float model is known.

  QB_RETURN_IF_ERROR(phases.Begin("write"));
  QB_RETURN_IF_ERROR(WriteMxq(request.output_path, contents));
  CompileResult result;
  QB_ASSIGN_OR_RETURN(OutputFile output, DescribeOutput(request.output_path));
  result.outputs.push_back(std::move(output));
  if (!request.report_dir.empty()) {
    QB_ASSIGN_OR_RETURN(std::vector<OutputFile> reports,
                        ReportCompile(request, inputs, contents.report, phases));
    std::move(reports.begin(), reports.end(), std::back_inserter(result.outputs));
  }
  result.device = inputs.device;
  result.report = Json::Object()
                      .Set("check", contents.report["check"])
                      .Set("plan", contents.manifest["plan"])
                      .Set("seconds", phases.Seconds())
                      .Set("sample_wait_seconds", absl::ToDoubleSeconds(waited))
                      .Set("peak_memory_bytes", PeakMemoryBytes());
  if (!tuned.report.is_null()) {
    result.report.Set("auto_tune", tuned.report);
  }
  return result;
}

const SizeShapes& SizeOf(const ParseRequest& request, size_t index) {
  return index == 0 ? request.input_shapes : request.further_sizes[index - 1];
}

// <stem>_<i>.mblt for each of several sizes.
std::vector<std::string> ParseOutputs(const ParseRequest& request) {
  if (request.further_sizes.empty()) {
    return {request.output_path};
  }
  const std::filesystem::path path(request.output_path);
  std::vector<std::string> paths;
  for (size_t i = 0; i <= request.further_sizes.size(); ++i) {
    const std::string name = absl::StrCat(path.stem().string(), "_", i, path.extension().string());
    paths.push_back((path.parent_path() / name).string());
  }
  return paths;
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

absl::StatusOr<CompileResult> Parse(const ParseRequest& request, const CompileConfig& config,
                                    ProgressSink& sink, const CancelToken& cancel) {
  Phases phases(sink, cancel);
  CompileResult result;
  const std::vector<std::string> paths = ParseOutputs(request);
  for (size_t i = 0; i < paths.size(); ++i) {
    QB_RETURN_IF_ERROR(ParseTo(request, SizeOf(request, i), config, phases, paths[i]));
    QB_ASSIGN_OR_RETURN(OutputFile output, DescribeOutput(paths[i]));
    result.outputs.push_back(std::move(output));
  }
  result.device = "cpu";
  result.report =
      Json::Object().Set("seconds", phases.Seconds()).Set("peak_memory_bytes", PeakMemoryBytes());
  return result;
}

absl::StatusOr<CompileResult> Quantize(const QuantizeRequest& request, const CompileConfig& config,
                                       ProgressSink& sink, const CancelToken& cancel) {
  Phases phases(sink, cancel);
  std::vector<std::string> paths = {request.mblt_path};
  paths.insert(paths.end(), request.further_mblt_paths.begin(), request.further_mblt_paths.end());
  return QuantizeFrom(request, paths, config, phases);
}

absl::StatusOr<CompileResult> Compile(const CompileRequest& request, const CompileConfig& config,
                                      ProgressSink& sink, const CancelToken& cancel) {
  Phases phases(sink, cancel);
  std::vector<std::unique_ptr<TemporaryFile>> files;
  std::vector<std::string> paths;
  for (size_t i = 0; i <= request.parse.further_sizes.size(); ++i) {
    paths.push_back(absl::StrCat(request.quantize.output_path, i == 0 ? "" : absl::StrCat(".", i),
                                 ".parsed.mblt"));
    files.push_back(std::make_unique<TemporaryFile>(paths.back()));
    QB_RETURN_IF_ERROR(ParseTo(request.parse, SizeOf(request.parse, i), config, phases, paths[i]));
  }
  return QuantizeFrom(request.quantize, paths, config, phases);
}

}  // namespace qb
