#include "core/compiler/executable_parts.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_format.h"

#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/compiler/prefix_dataset.h"
#include "core/package/graph_onnx.h"
#include "core/partition/part_graph.h"
#include "core/quantization/layer_selection.h"
#include "core/quantization/linear_form.h"
namespace qb {
namespace {

// The names and globs that match a layer with weights of `graph`.
std::vector<std::string> MatchingHere(const std::vector<std::string>& patterns,
                                      const Graph& graph) {
  std::vector<std::string> matching;
  const std::vector<Node*> nodes = graph.nodes();
  for (const std::string& pattern : patterns) {
    const bool here = std::any_of(nodes.begin(), nodes.end(), [&](const Node* node) {
      return IsLinear(*node) && MatchesLayer(pattern, node->name());
    });
    if (here) {
      matching.push_back(pattern);
    }
  }
  return matching;
}

// The patterns that mean something for the part when they stand alone in `list`.
std::vector<std::string> ApplyingHere(const std::vector<std::string>& patterns,
                                      std::vector<std::string> LayerOverrides::*list,
                                      const Graph& part, const PointwiseClosures& closures) {
  std::vector<std::string> applying;
  for (const std::string& pattern : patterns) {
    LayerOverrides alone;
    (alone.*list).push_back(pattern);
    if (ResolveLayerOverrides(part, closures, alone).ok()) {
      applying.push_back(pattern);
    }
  }
  return applying;
}

LayerOverrides OverridesFor(const Graph& part, const LayerOverrides& overrides) {
  const PointwiseClosures closures(part);
  LayerOverrides own;
  for (const auto list : {&LayerOverrides::activation16, &LayerOverrides::weight16,
                          &LayerOverrides::weight8, &LayerOverrides::weight4}) {
    own.*list = ApplyingHere(overrides.*list, list, part, closures);
  }
  for (const auto& [pattern, method] : overrides.method) {
    LayerOverrides alone;
    alone.method[pattern] = method;
    if (ResolveLayerOverrides(part, closures, alone).ok()) {
      own.method[pattern] = method;
    }
  }
  return own;
}

// Settings by layer name speak of the whole model, for which they were checked; a part takes those
// that concern it.
QuantizationOptions OptionsFor(const Graph& part, const QuantizationOptions& options) {
  QuantizationOptions own = options;
  own.overrides = OverridesFor(part, options.overrides);
  own.bias_correction.exclude_layers = MatchingHere(options.bias_correction.exclude_layers, part);
  own.bias_correction.apply_layers = MatchingHere(options.bias_correction.apply_layers, part);
  if (own.bias_correction.apply_layers.empty() && !options.bias_correction.apply_layers.empty()) {
    own.bias_correction.apply = false;
  }
  return own;
}

// The entries of what this part reads.
std::vector<Uint8Input> BytesFor(const GraphPart& part, const std::vector<Uint8Input>& bytes) {
  std::vector<Uint8Input> own;
  for (const Uint8Input& entry : bytes) {
    if (std::any_of(part.inputs.begin(), part.inputs.end(), [&](const Node* input) {
          return input->op() == OpKind::kInput && input->name() == entry.input;
        })) {
      own.push_back(entry);
    }
  }
  return own;
}

absl::StatusOr<CompiledPart> CompilePart(const PartInput& input, ProgressSink& sink,
                                         const CancelToken& cancel) {
  const PartSettings& settings = input.settings;
  CompiledPart part;
  QB_ASSIGN_OR_RETURN(const Graph graph, TransformedGraph(input, sink, cancel));
  QB_ASSIGN_OR_RETURN(part.quantized,
                      Quantize(graph, input.samples, settings.quantization, sink, cancel));
  QB_RETURN_IF_ERROR(MakeInputsUint8(settings.bytes, part.quantized.network));
  // Now: an integer network, corrected, with the inputs that the settings ask for.
  QB_RETURN_IF_ERROR(cancel.Check());
  sink.OnStage("schedule");
  QB_ASSIGN_OR_RETURN(part.programs,
                      npu::BuildPrograms(part.quantized.network, *settings.target, settings.modes));
  // Now: for each core mode descriptors with addresses in one planned arena, over one weights file.
  return part;
}

std::string Joined(const std::vector<absl::string_view>& pieces) {
  std::string joined;
  for (const absl::string_view piece : pieces) {
    joined.append(piece.data(), piece.size());
  }
  return joined;
}

void AddProgram(CompiledPart& part, const std::vector<CoreMode>& modes, const std::string& folder,
                std::map<std::string, std::string>& entries) {
  for (size_t i = 0; i < modes.size(); ++i) {
    entries[ProgramEntry(folder, CoreModeName(modes[i]))] =
        std::move(part.programs.programs[i].program);
  }
  entries[WeightsEntry(folder)] = std::move(part.programs.weights);
}

}  // namespace

absl::Status ForEachPart(const PlacedModel& model, const Dataset& calibration,
                         const PartSettings& settings,
                         const std::function<absl::Status(const PartInput& part)>& body) {
  const auto& [graph, placement] = model;
  if (!placement.partition.has_value()) {
    PartSettings own = settings;
    if (settings.statistics != nullptr) {
      QB_ASSIGN_OR_RETURN(own.quantization.statistics, settings.statistics->ForPart(""));
    }
    return body({graph, calibration, own});
  }
  for (const GraphPart* part : placement.partition->npu_parts()) {
    const Graph cut = CutOutGraph(graph, {part->name, part->inputs, part->outputs});
    QB_ASSIGN_OR_RETURN(const std::unique_ptr<Dataset> samples,
                        MakePrefixDataset(calibration, graph, part->inputs));
    PartSettings own = settings;
    own.quantization = OptionsFor(cut, settings.quantization);
    own.bytes = BytesFor(*part, settings.bytes);
    if (settings.statistics != nullptr) {
      QB_ASSIGN_OR_RETURN(
          own.quantization.statistics,
          settings.statistics->ForPart(PartKey(part->name, part->inputs, part->outputs)));
    }
    QB_RETURN_IF_ERROR(body({cut, *samples, own}));
  }
  return absl::OkStatus();
}

absl::StatusOr<Graph> TransformedGraph(const PartInput& part, ProgressSink& sink,
                                       const CancelToken& cancel) {
  Graph graph = part.graph.Clone();
  if (!part.settings.equivalent.apply()) {
    return graph;
  }
  sink.OnStage("transform");
  QB_ASSIGN_OR_RETURN(
      const std::vector<Transformed> done,
      ApplyEquivalentTransformation(graph, part.samples, part.settings.equivalent, cancel));
  for (const Transformed& entry : done) {
    sink.OnLog(LogLevel::kInfo, "equivalentTransformation",
               absl::StrFormat("%s at '%s': estimated noise times %.3f", entry.kind, entry.layer,
                               entry.noise_share));
  }
  if (done.empty()) {
    sink.OnLog(LogLevel::kWarning, "equivalentTransformation",
               "no layer has a form that the chosen transformations can work on with a gain");
  }
  return graph;
}

absl::StatusOr<std::vector<CompiledPart>> CompileParts(const PlacedModel& model,
                                                       const Dataset& calibration,
                                                       const PartSettings& settings,
                                                       ProgressSink& sink,
                                                       const CancelToken& cancel) {
  std::vector<CompiledPart> parts;
  const auto compile = [&](const PartInput& input) -> absl::Status {
    QB_ASSIGN_OR_RETURN(CompiledPart part, CompilePart(input, sink, cancel));
    parts.push_back(std::move(part));
    return absl::OkStatus();
  };
  QB_RETURN_IF_ERROR(ForEachPart(model, calibration, settings, compile));
  return parts;
}

const CompiledPart& BodyOf(const Placement& placement, const std::vector<CompiledPart>& parts) {
  if (!placement.partition.has_value()) {
    return parts.front();
  }
  const std::vector<const GraphPart*> all = placement.partition->npu_parts();
  const auto found = std::find(all.begin(), all.end(), &placement.partition->body());
  QB_CHECK(all.size() == parts.size() && found != all.end());
  return parts[static_cast<size_t>(found - all.begin())];
}

QuantizedModel JoinReports(const std::vector<CompiledPart>& parts) {
  QuantizedModel joined;
  joined.calibration_samples = parts.front().quantized.calibration_samples;
  joined.bias_correction_samples = parts.front().quantized.bias_correction_samples;
  for (const CompiledPart& part : parts) {
    joined.layers.insert(joined.layers.end(), part.quantized.layers.begin(),
                         part.quantized.layers.end());
  }
  return joined;
}

PartEntries MakeEntries(const Graph& graph, const Placement& placement,
                        std::vector<CompiledPart>& parts, const std::vector<CoreMode>& modes,
                        absl::string_view folder) {
  PartEntries result;
  if (!placement.partition.has_value()) {
    AddProgram(parts.front(), modes, std::string(folder), result.entries);
    return result;
  }
  absl::flat_hash_map<const Node*, ValueRef> values;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    values[graph.inputs()[i]] = {-1, static_cast<int64_t>(i)};
  }
  result.stages = Json::Array();
  size_t npu_seen = 0;
  int64_t stage = 0;
  for (const GraphPart& part : placement.partition->parts) {
    std::vector<ValueRef> sources;
    for (const Node* input : part.inputs) {
      sources.push_back(values.at(input));
    }
    result.stages.Append(Json::Object()
                             .Set("name", part.name)
                             .Set("device", part.npu ? "npu" : "cpu")
                             .Set("inputs", ValueRefsJson(sources)));
    if (part.npu) {
      AddProgram(parts[npu_seen], modes, StageFolder(folder, part.name, npu_seen == 0),
                 result.entries);
      ++npu_seen;
    } else {
      const Graph cut = CutOutGraph(graph, {part.name, part.inputs, part.outputs});
      const std::string weights_name = CpuWeightsEntry(folder, part.name);
      const std::unique_ptr<SerializedGraph> model = GraphToOnnx(cut, weights_name);
      result.entries[CpuModelEntry(folder, part.name)] = model->model;
      result.entries[weights_name] = Joined(model->weights);
    }
    for (size_t i = 0; i < part.outputs.size(); ++i) {
      values[part.outputs[i]] = {stage, static_cast<int64_t>(i)};
    }
    ++stage;
  }
  std::vector<ValueRef> results;
  for (const Node* output : graph.outputs()) {
    results.push_back(values.at(output->operand(0)));
  }
  result.results = ValueRefsJson(results);
  return result;
}

}  // namespace qb
