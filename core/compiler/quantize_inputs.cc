#include "core/compiler/quantize_inputs.h"

#include <cstdint>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "core/base/atomic_file.h"
#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/calibration/sample_choice.h"
#include "core/compiler/accuracy_check.h"
#include "core/compiler/extra_outputs.h"
#include "core/compiler/input_preparation.h"
#include "core/compiler/layer_names.h"
#include "core/compiler/load_model.h"
#include "core/compiler/quantization_settings.h"
#include "core/compiler/same_model.h"
#include "core/compiler/sample_view.h"
#include "core/quantization/quantize.h"

namespace qb {
namespace {

constexpr int64_t kRandomSamples = 16;
constexpr uint64_t kRandomSeed = 1;

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

// Of the size with this number, when there are `sizes`.
struct SizeNumber {
  size_t index = 0;
  size_t sizes = 1;
};

// What every size is prepared with.
struct PrepareContext {
  const QuantizeRequest& request;
  const CompileConfig& config;
  const TargetSpec& target;
  Phases& phases;
};

// The samples as the executable takes them.
absl::StatusOr<std::unique_ptr<Dataset>> OpenCalibration(const PrepareContext& context,
                                                         const SizeNumber& number,
                                                         const SizeInputs& size) {
  const QuantizeRequest& request = context.request;
  Phases& phases = context.phases;
  if (context.config.Bool("useRandomCalib")) {
    phases.OnLog(LogLevel::kWarning, "calibration",
                 "calibrating on random data: the accuracy of the result means nothing");
    return MakeRandomDataset(size.folded->taken(), kRandomSamples, kRandomSeed);
  }
  if (request.calibration_paths.empty()) {
    return Failure(FailureCode::kArgumentError,
                   "No calibration dataset is provided: give --calib-data-path, or "
                   "--use-random-calib for a smoke test");
  }
  if (request.calibration_paths.size() != number.sizes) {
    return Failure(
        FailureCode::kArgumentError,
        absl::StrCat(request.calibration_paths.size(),
                     request.calibration_paths.size() == 1
                         ? " calibration data set is given; a model of "
                         : " calibration data sets are given; a model of ",
                     number.sizes == 1 ? "one size" : absl::StrCat(number.sizes, " sizes"),
                     " takes one for each"));
  }
  return OpenDataset(request.calibration_paths[number.index], size.folded->taken(),
                     BeforeFolding(size.preparation), phases);
}

absl::StatusOr<CheckData> OpenCheckData(const PrepareContext& context, const SizeInputs& size) {
  const QuantizeRequest& request = context.request;
  CheckData data;
  if (request.evaluation_path.empty()) {
    // By content, as everything that goes into the file: not by name or place.
    QB_ASSIGN_OR_RETURN(
        std::vector<int64_t> chosen,
        SamplesByContent(*size.samples, kCheckSamples, request.threads, context.phases.cancel()));
    data.own = std::make_unique<SampleView>(*size.samples, std::move(chosen));
    data.dataset = data.own.get();
    data.description = "on calibration data";
    return data;
  }
  QB_ASSIGN_OR_RETURN(data.own, OpenDataset(request.evaluation_path, size.folded->taken(),
                                            BeforeFolding(size.preparation), context.phases));
  data.dataset = data.own.get();
  data.description = "on evaluation data";
  if (!request.labels_path.empty()) {
    QB_ASSIGN_OR_RETURN(Labels labels, ReadLabels(request.labels_path));
    data.labels = std::make_unique<Labels>(std::move(labels));
  }
  return data;
}

// What the settings say about samples and about inputs that are bytes.
absl::Status PrepareInputs(const PrepareContext& context, SizeInputs& size) {
  size.specs = InputSpecsOf(size.mblt.graph);
  QB_ASSIGN_OR_RETURN(size.preparation, DatasetOptionsOf(context.config, size.specs));
  size.preparation.threads = context.request.threads;
  size.preparation.cancel = &context.phases.cancel();
  QB_ASSIGN_OR_RETURN(size.bytes, Uint8InputsOf(size.specs, size.preparation));
  QB_ASSIGN_OR_RETURN(FoldedInputs folded, FoldedInputsOf(size.specs, size.preparation));
  size.folded = std::make_unique<FoldedInputs>(std::move(folded));
  return size.placement.partition.has_value()
             ? CheckReadersOfBytes(size.mblt.graph, *size.placement.partition, size.bytes)
             : absl::OkStatus();
}

absl::Status SaveSeenSamples(const CompileConfig& config, const SizeInputs& size, Phases& phases) {
  if (!config.Bool("saveSample.apply")) {
    return absl::OkStatus();
  }
  const std::string& folder = config.String("saveSample.path");
  QB_ASSIGN_OR_RETURN(const int64_t count, SaveSamples(size.calibration(), size.specs, folder,
                                                       config.Int("saveSample.maxSamples")));
  phases.OnLog(LogLevel::kInfo, "dataset",
               absl::StrCat(count, " of ", size.samples->size(),
                            " calibration samples are saved in '", folder, "'"));
  return absl::OkStatus();
}

// Reads the model and checks what the settings say of its layers.
absl::Status PlaceSize(const PrepareContext& context, const std::string& mblt_path,
                       SizeInputs& size) {
  const CompileConfig& config = context.config;
  QB_ASSIGN_OR_RETURN(size.mblt, ReadMblt(mblt_path));
  Graph& graph = size.mblt.graph;
  QB_RETURN_IF_ERROR(RequireNoneMissing(AddExtraOutputs(WantedExtraOutputs(config), graph), graph));
  QB_ASSIGN_OR_RETURN(size.placement, PlaceGraph(graph, context.target, config));
  QB_RETURN_IF_ERROR(CheckLayerNames(config, graph));
  return ResolveLayerOverrides(graph, PointwiseClosures(graph), LayerOverridesOf(config)).status();
}

absl::StatusOr<SizeInputs> PrepareSize(const PrepareContext& context, const SizeNumber& number,
                                       const std::string& mblt_path) {
  SizeInputs size;
  QB_RETURN_IF_ERROR(PlaceSize(context, mblt_path, size));
  if (number.index == 0) {
    QB_RETURN_IF_ERROR(SaveConfig(context.request.config_save_path, context.config));
  }
  QB_RETURN_IF_ERROR(PrepareInputs(context, size));
  QB_RETURN_IF_ERROR(context.phases.Begin("samples"));
  QB_ASSIGN_OR_RETURN(size.samples, OpenCalibration(context, number, size));
  size.finished = size.folded->any() ? MakeFinishedDataset(*size.samples, *size.folded) : nullptr;
  QB_ASSIGN_OR_RETURN(size.check_data, OpenCheckData(context, size));
  if (number.index == 0) {
    QB_RETURN_IF_ERROR(SaveSeenSamples(context.config, size, context.phases));
  }
  return size;
}

// That `size` is another size of the model of those before it.
absl::Status CheckAgainstEarlier(const std::vector<SizeInputs>& earlier, const SizeInputs& size) {
  if (!earlier.empty()) {
    QB_RETURN_IF_ERROR(CheckSameModel(earlier.front().mblt, size.mblt));
  }
  for (const SizeInputs& other : earlier) {
    QB_RETURN_IF_ERROR(CheckOtherSize(other.mblt, size.mblt));
  }
  return absl::OkStatus();
}

// That what the request asks for goes together.
absl::Status CheckRequest(const QuantizeRequest& request, const CompileConfig& config) {
  const bool keeps = !request.statistics_load_path.empty() || !request.statistics_save_path.empty();
  if (keeps && EquivalentOptionsOf(config, request.threads).apply()) {
    return Failure(FailureCode::kArgumentError,
                   "statistics are those of the model as it is; --calib-stats-load and "
                   "--calib-stats-save do not go with equivalentTransformation");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<const TargetSpec*> ChooseTarget(const std::string& name,
                                               const CompileConfig& config) {
  QB_ASSIGN_OR_RETURN(const TargetSpec* target, FindTarget(name));
  QB_RETURN_IF_ERROR(CheckScheme(*target, config.String("inferenceScheme")).status());
  return target;
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

absl::Status PrepareQuantization(const QuantizeRequest& request,
                                 const std::vector<std::string>& mblt_paths,
                                 const CompileConfig& config, Phases& phases,
                                 QuantizeInputs& inputs) {
  QB_RETURN_IF_ERROR(CheckRequest(request, config));
  QB_ASSIGN_OR_RETURN(
      StatisticsFiles statistics,
      StatisticsFiles::Open(request.statistics_load_path, request.statistics_save_path));
  inputs.statistics = std::make_unique<StatisticsFiles>(std::move(statistics));
  QB_ASSIGN_OR_RETURN(inputs.target, ChooseTarget(request.target, config));
  QB_ASSIGN_OR_RETURN(inputs.modes, CheckScheme(*inputs.target, config.String("inferenceScheme")));
  QB_ASSIGN_OR_RETURN(inputs.device, ChooseDevice(config, request.require_device, phases));
  if (mblt_paths.size() > 1 && !request.evaluation_path.empty()) {
    return Failure(FailureCode::kArgumentError,
                   "--eval-data goes with a model of one size; several are checked on their "
                   "calibration data");
  }
  const PrepareContext context{request, config, *inputs.target, phases};
  for (size_t i = 0; i < mblt_paths.size(); ++i) {
    QB_ASSIGN_OR_RETURN(SizeInputs size,
                        PrepareSize(context, {i, mblt_paths.size()}, mblt_paths[i]));
    QB_RETURN_IF_ERROR(CheckAgainstEarlier(inputs.sizes, size));
    inputs.sizes.push_back(std::move(size));
  }
  return absl::OkStatus();
}

}  // namespace qb
