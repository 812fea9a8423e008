// The NPU parts of a model, quantized and scheduled, and how parts become entries of an .mxq.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/cancel_token.h"
#include "core/base/progress.h"
#include "core/compiler/kept_statistics.h"
#include "core/compiler/placement.h"
#include "core/dataset/dataset.h"
#include "core/npu/program.h"
#include "core/package/mxq.h"
#include "core/quantization/equivalent/equivalent_transformation.h"
#include "core/quantization/quantize.h"
#include "core/quantization/uint8_input.h"

namespace qb {

// What every part is compiled with.
struct PartSettings {
  const TargetSpec* target = nullptr;
  std::vector<CoreMode> modes;
  QuantizationOptions quantization;
  EquivalentOptions equivalent;
  std::vector<Uint8Input> bytes;  // inputs of the model that are bytes, each read by one NPU part
  StatisticsFiles* statistics = nullptr;  // set to the model and its samples
};

struct CompiledPart {
  QuantizedModel quantized;
  npu::NpuPrograms programs;  // in the order of the modes
};

// A model and where its layers run; valid during a call.
struct PlacedModel {
  const Graph& graph;
  const Placement& placement;  // of the nodes of `graph`
};

// One NPU part with what concerns it alone; valid during the call that hands it out.
struct PartInput {
  const Graph& graph;
  const Dataset& samples;
  const PartSettings& settings;
};

// Calls `body` for each NPU part in order until one fails. `calibration` has the inputs of the
// model: parts in the middle see what the float layers before them make of it. Errors: those of
// `body` and of the samples.
absl::Status ForEachPart(const PlacedModel& model, const Dataset& calibration,
                         const PartSettings& settings,
                         const std::function<absl::Status(const PartInput& part)>& body);

// The part's graph after the equivalent transformations that its settings ask for; a copy, whose
// nodes bear the same names. What was done is told to `sink`. Errors: those of
// ApplyEquivalentTransformation.
absl::StatusOr<Graph> TransformedGraph(const PartInput& part, ProgressSink& sink,
                                       const CancelToken& cancel);

// One entry for each NPU part, in order; arguments as ForEachPart. Errors: those of Quantize and
// BuildPrograms.
absl::StatusOr<std::vector<CompiledPart>> CompileParts(const PlacedModel& model,
                                                       const Dataset& calibration,
                                                       const PartSettings& settings,
                                                       ProgressSink& sink,
                                                       const CancelToken& cancel);

// The part with the most products among `parts`: what the plan in the manifest speaks of.
const CompiledPart& BodyOf(const Placement& placement, const std::vector<CompiledPart>& parts);

// All layers of all parts.
QuantizedModel JoinReports(const std::vector<CompiledPart>& parts);

// Programs, weights and CPU graphs as entries under `folder` ("" or "size_2/"), and the members
// `stages` and `results` of the size's part of the manifest, which only offloading needs.
struct PartEntries {
  std::map<std::string, std::string> entries;
  Json stages, results;  // null where one program is all
};
PartEntries MakeEntries(const Graph& graph, const Placement& placement,
                        std::vector<CompiledPart>& parts, const std::vector<CoreMode>& modes,
                        absl::string_view folder);

}  // namespace qb
