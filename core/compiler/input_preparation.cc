#include "core/compiler/input_preparation.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/atomic_file.h"
#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/config/pipeline_steps.h"
#include "core/dataset/npy.h"
#include "core/dataset/preprocess/letterbox.h"
#include "core/partition/partition.h"

namespace qb {
namespace {

absl::StatusOr<InputPreparation> PreparationOf(const Json& steps, bool auto_convert,
                                               absl::string_view path) {
  InputPreparation preparation;
  preparation.preprocess = true;
  preparation.auto_convert_format = auto_convert;
  absl::StatusOr<Pipeline> pipeline = Pipeline::Create(WithStepDefaults(steps));
  if (!pipeline.ok()) {
    return Failure(FailureCode::kConfigError, absl::StrCat(path, ".", pipeline.status().message()));
  }
  preparation.pipeline = *std::move(pipeline);
  return preparation;
}

// Images have height, width and channels.
bool TakesImages(const InputSpec& input) { return input.type.shape.rank() >= 3; }

absl::Status CheckName(absl::string_view key, const std::string& name,
                       absl::Span<const InputSpec> inputs) {
  if (std::any_of(inputs.begin(), inputs.end(),
                  [&](const InputSpec& input) { return input.name == name; })) {
    return absl::OkStatus();
  }
  return Failure(
      FailureCode::kConfigError,
      absl::StrCat(key, ": the model has no input '", name.substr(0, 200), "'; it has ",
                   absl::StrJoin(inputs, ", ", [](std::string* out, const InputSpec& input) {
                     absl::StrAppend(out, "'", input.name, "'");
                   })));
}

absl::Status AddPipelines(const CompileConfig& config, absl::Span<const InputSpec> inputs,
                          DatasetOptions& options) {
  const Json& configs = config.Get("preprocessing.inputConfigs");
  for (const auto& [name, own] : configs.members()) {
    QB_RETURN_IF_ERROR(CheckName("preprocessing.inputConfigs", name, inputs));
  }
  const bool auto_convert = config.Bool("preprocessing.autoConvertFormat");
  for (const InputSpec& input : inputs) {
    if (configs.contains(input.name)) {
      const Json& own = configs[input.name];
      const bool own_convert =
          own.contains("autoConvertFormat") ? own["autoConvertFormat"].as_bool() : auto_convert;
      QB_ASSIGN_OR_RETURN(options.inputs[input.name],
                          PreparationOf(own["pipeline"], own_convert,
                                        absl::StrCat("preprocessing.inputConfigs.", input.name)));
    } else if (TakesImages(input)) {
      QB_ASSIGN_OR_RETURN(
          options.inputs[input.name],
          PreparationOf(config.Get("preprocessing.pipeline"), auto_convert, "preprocessing"));
    }
  }
  return absl::OkStatus();
}

absl::Status AddUint8Inputs(const CompileConfig& config, absl::Span<const InputSpec> inputs,
                            DatasetOptions& options) {
  const std::vector<std::string> names = config.Strings("uint8Input.inputs");
  for (const std::string& name : names) {
    QB_RETURN_IF_ERROR(CheckName("uint8Input.inputs", name, inputs));
  }
  for (const InputSpec& input : inputs) {
    const bool named = std::find(names.begin(), names.end(), input.name) != names.end();
    const bool real = input.type.dtype == DType::kFloat32;
    if (named && !real) {
      return Failure(FailureCode::kConfigError,
                     absl::StrCat("uint8Input.inputs: '", input.name, "' is ",
                                  DTypeName(input.type.dtype), "; float32 inputs can be uint8"));
    }
    if (!real || (!named && !names.empty())) {
      continue;
    }
    InputPreparation& preparation = options.inputs[input.name];
    if (preparation.pipeline.normalizes_outside()) {
      return Failure(FailureCode::kConfigError,
                     absl::StrCat("uint8Input.apply: input '", input.name,
                                  "' is normalized by the application, so it is no uint8; the "
                                  "normalize step needs fuseIntoFirstLayer"));
    }
    // A fused normalize scales already; scaling is never applied twice.
    if (preparation.pipeline.fused() == nullptr) {
      preparation.uint8_factor = config.Float("uint8Input.divisionFactor");
    }
  }
  return absl::OkStatus();
}

bool IsChannelCount(int64_t dim) { return dim == 1 || dim == 3 || dim == 4; }

// "NCHW", "NHWC", or "source" where the shape does not tell.
std::string LayoutOf(const Shape& shape) {
  if (shape.rank() != 4) {
    return "source";
  }
  const bool first = IsChannelCount(shape[1]), last = IsChannelCount(shape[3]);
  return first == last ? "source" : first ? "NCHW" : "NHWC";
}

}  // namespace

absl::StatusOr<DatasetOptions> DatasetOptionsOf(const CompileConfig& config,
                                                absl::Span<const InputSpec> inputs) {
  DatasetOptions options;
  options.image_channels = config.Int("imageChannels");
  if (config.Bool("preprocessing.apply")) {
    QB_RETURN_IF_ERROR(AddPipelines(config, inputs, options));
  }
  if (config.Bool("uint8Input.apply")) {
    QB_RETURN_IF_ERROR(AddUint8Inputs(config, inputs, options));
  }
  return options;
}

absl::StatusOr<DatasetOptions> DatasetOptionsOf(absl::string_view config_yaml,
                                                absl::Span<const InputSpec> inputs) {
  ConfigSources sources;
  sources.file_text = std::string(config_yaml);
  sources.file_name = "config.yaml of the executable";
  sources.for_dump = true;
  absl::StatusOr<CompileConfig> config = CompileConfig::Resolve(sources);
  if (!config.ok()) {
    return Failure(FailureCode::kModelParseError, config.status().message());
  }
  return DatasetOptionsOf(*config, inputs);
}

namespace {

// The entry of one input that is bytes. Errors: CONFIG_ERROR.
absl::StatusOr<Uint8Input> Uint8InputOf(const InputSpec& input, const InputPreparation& preparation,
                                        std::optional<int64_t> channel_axis) {
  const Shape& shape = input.type.shape;
  const NormalizeStep* fused = preparation.pipeline.fused();
  Uint8Input entry{input.name, {1.0}, {0.0}, channel_axis.value_or(1), std::nullopt};
  entry.letterbox = FoldedLetterbox(preparation.pipeline);
  if (fused == nullptr) {
    entry.scale[0] = preparation.uint8_factor > 0 ? 1.0 / preparation.uint8_factor : 1.0;
    return entry;
  }
  const int64_t channels = static_cast<int64_t>(fused->mean.size());
  if (!channel_axis.has_value()) {
    entry.channel_axis = shape.rank() == 4 && shape[1] == channels ? 1 : 3;
  }
  if (shape.rank() != 4 || shape[entry.channel_axis] != channels) {
    return Failure(FailureCode::kConfigError,
                   absl::StrCat("preprocessing: normalize of ", channels,
                                " channels cannot be fused into input '", input.name, "' ",
                                input.type.ToString()));
  }
  entry.scale.clear();
  entry.offset.clear();
  for (size_t c = 0; c < fused->mean.size(); ++c) {
    const double deviation = fused->deviation[c];
    entry.scale.push_back(1.0 / (fused->divide_by_255 ? 255.0 * deviation : deviation));
    entry.offset.push_back(-static_cast<double>(fused->mean[c]) / deviation);
  }
  return entry;
}

}  // namespace

absl::StatusOr<FoldedInputs> FoldedInputsOf(absl::Span<const InputSpec> inputs,
                                            const DatasetOptions& options) {
  absl::StatusOr<FoldedInputs> folded = FoldedInputs::Create(inputs, options);
  if (!folded.ok()) {
    return Failure(FailureCode::kConfigError,
                   absl::StrCat("preprocessing: ", folded.status().message()));
  }
  return folded;
}

absl::StatusOr<std::vector<Uint8Input>> Uint8InputsOf(absl::Span<const InputSpec> inputs,
                                                      const DatasetOptions& options) {
  QB_ASSIGN_OR_RETURN(const FoldedInputs folded, FoldedInputsOf(inputs, options));
  std::vector<Uint8Input> bytes;
  for (const InputSpec& input : inputs) {
    const auto found = options.inputs.find(input.name);
    if (found == options.inputs.end()) {
      continue;
    }
    const InputPreparation& preparation = found->second;
    if (preparation.pipeline.fused() != nullptr || preparation.uint8_factor > 0 ||
        FoldedLetterbox(preparation.pipeline).has_value()) {
      QB_ASSIGN_OR_RETURN(Uint8Input entry,
                          Uint8InputOf(input, preparation, folded.ChannelAxis(input.name)));
      bytes.push_back(std::move(entry));
    }
  }
  return bytes;
}

namespace {

Json Numbers(const std::vector<double>& values) {
  Json list = Json::Array();
  for (const double value : values) {
    list.Append(Json(value));
  }
  return list;
}

// The size that the executable takes, and where its picture lies in what the model sees.
void SetLetterbox(const Shape& model, const Uint8Input& entry, Json& contract) {
  const LetterboxFold& fold = *entry.letterbox;
  const bool first = entry.channel_axis == 1;
  Json shape = Json::Array();
  for (const int64_t dim : first ? Shape{1, model[1], fold.source.height, fold.source.width}
                                 : Shape{1, fold.source.height, fold.source.width, model[3]}) {
    shape.Append(Json(dim));
  }
  contract.Set("shape", std::move(shape)).Set("layout", first ? "NCHW" : "NHWC");
  contract.Set("letterbox", Json::Object()
                                .Set("factor", fold.factor)
                                .Set("top", fold.top)
                                .Set("left", fold.left)
                                .Set("height", fold.inner.height)
                                .Set("width", fold.inner.width));
}

}  // namespace

Json InputContract(const InputSpec& input, const DatasetOptions& options,
                   absl::Span<const Uint8Input> bytes) {
  Json contract = Json::Object();
  contract.Set("layout", LayoutOf(input.type.shape));
  Json before = Json::Array(), fused = Json::Array();
  const auto found = options.inputs.find(input.name);
  if (found != options.inputs.end() && found->second.preprocess) {
    const Pipeline& pipeline = found->second.pipeline;
    const Shape& shape = input.type.shape;
    const int64_t channels = shape[LayoutOf(shape) == "NHWC" ? 3 : shape.rank() - 3];
    contract.Set("color_order", pipeline.ColorOrder(channels == 1 ? "GRAY" : "RGB"));
    contract.Set("range", pipeline.normalizes_outside() ? "normalized" : "0..255");
    const std::vector<Json>& steps = pipeline.json().items();
    for (size_t i = 0; i < steps.size(); ++i) {
      (i < StepsBeforeFused(pipeline) ? before : fused).Append(steps[i]);
    }
  }
  for (const Uint8Input& entry : bytes) {
    if (entry.input != input.name) {
      continue;
    }
    contract.Set("range", "0..255");
    contract.Set("codes", Json::Object()
                              .Set("scale", Numbers(entry.scale))
                              .Set("offset", Numbers(entry.offset))
                              .Set("channel_axis", entry.channel_axis));
    if (entry.letterbox.has_value()) {
      SetLetterbox(input.type.shape, entry, contract);
    }
    if (found->second.uint8_factor > 0) {
      fused.Append(Json::Object().Set("op", "divide").Set("by", found->second.uint8_factor));
    }
  }
  return contract.Set("steps_before", std::move(before)).Set("fused", std::move(fused));
}

namespace {

// Who reads an input, in words.
struct InputReaders {
  std::vector<std::string> names;
  bool npu = true;  // all of them are NPU parts
};

InputReaders ReadersOf(absl::string_view input, const Graph& graph, const Partition& partition) {
  const auto is_input = [&](const Node& node) {
    return node.op() == OpKind::kInput && node.name() == input;
  };
  InputReaders readers;
  for (const GraphPart& part : partition.parts) {
    for (const Node* source : part.inputs) {
      if (is_input(*source)) {
        readers.names.push_back(absl::StrCat("'", part.name, "'"));
        readers.npu = readers.npu && part.npu;
      }
    }
  }
  for (const Node* output : graph.outputs()) {
    if (is_input(*output->operand(0))) {
      readers.names.push_back(absl::StrCat("output '", output->name(), "'"));
      readers.npu = false;
    }
  }
  return readers;
}

}  // namespace

absl::Status CheckReadersOfBytes(const Graph& graph, const Partition& partition,
                                 absl::Span<const Uint8Input> bytes) {
  for (const Uint8Input& entry : bytes) {
    const InputReaders readers = ReadersOf(entry.input, graph, partition);
    if (readers.names.size() != 1 || !readers.npu) {
      return Failure(
          FailureCode::kConfigError,
          absl::StrCat("uint8Input: input '", entry.input, "' is read by ",
                       readers.names.empty() ? "nothing" : absl::StrJoin(readers.names, ", "),
                       "; with CPU parts a uint8 input must be read by one NPU part alone"));
    }
  }
  return absl::OkStatus();
}

std::string FileStem(absl::string_view name) {
  std::string stem(name);
  for (char& c : stem) {
    const bool plain =
        absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
    c = plain ? c : '_';
  }
  return stem.empty() || stem[0] == '.' ? absl::StrCat("_", stem) : stem;
}

absl::StatusOr<int64_t> SaveSamples(const Dataset& dataset, absl::Span<const InputSpec> inputs,
                                    const std::string& folder, int64_t most) {
  const int64_t count = std::min(most, dataset.size());
  for (int64_t i = 0; i < count; ++i) {
    QB_ASSIGN_OR_RETURN(const std::vector<Tensor> values, dataset.Load(i));
    const std::string base = absl::StrCat(folder, "/", FileStem(dataset.name(i)));
    for (size_t k = 0; k < values.size(); ++k) {
      const std::string path = values.size() == 1
                                   ? absl::StrCat(base, ".npy")
                                   : absl::StrCat(base, "/", FileStem(inputs[k].name), ".npy");
      QB_RETURN_IF_ERROR(WithFailureCode(WriteFileAtomically(path, SerializeNpy(values[k])),
                                         FailureCode::kOutputWriteError));
    }
  }
  return count;
}

}  // namespace qb
