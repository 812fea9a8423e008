// The model that run and evaluate work on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/flags.h"
#include "core/dataset/dataset.h"
#include "core/dataset/folded_inputs.h"
#include "core/evaluate/evaluation.h"
#include "core/integer/network.h"
#include "core/ir/graph.h"
#include "core/package/mxq.h"
#include "worker/qbcompiler/command.h"

namespace qb::worker {

inline constexpr FlagDef kMxqFlag = {"mxq", 0, FlagKind::kValue, "FILE", "an executable"};
inline constexpr FlagDef kDataFlag = {"data", 0, FlagKind::kValue, "DIR",
                                      "samples: a folder, or a .txt or .json listing"};
inline constexpr FlagDef kPreprocessingFlag = {
    "preprocessing", 0, FlagKind::kNegatable, "",
    "prepare raw samples as the settings say (the default); --no-preprocessing: they are the "
    "model's inputs already"};
inline constexpr FlagDef kCoreModeFlag = {
    "core-mode", 0, FlagKind::kValue, "NAME",
    "which of the executable's core modes to run; needed when it has several"};

// A runnable model with the names and types of its border.
struct OpenedModel {
  std::unique_ptr<MxqFile> mxq;  // of an executable; outlives `model`
  std::unique_ptr<ModelUnderTest> model;
  // Inside of `model`: of a float model its graph, of an executable without CPU parts its layers.
  const Graph* graph = nullptr;
  const integer::Network* network = nullptr;
  std::vector<InputSpec> inputs;
  std::vector<InputSpec> outputs;
};

// From --input-shape flags for a source model. Errors: those of LoadFloatGraph.
absl::StatusOr<OpenedModel> OpenFloatModel(const std::string& path, const ParsedFlags& flags,
                                           int threads);
// The size whose inputs the samples of `data` fit, where the executable has several.
absl::StatusOr<OpenedModel> OpenExecutable(const std::string& path, const std::string& core_mode,
                                           int threads, const std::string& data);

// The inputs of the model (`inputs`) whose letterbox the executable does. Errors:
// MODEL_PARSE_ERROR, CONFIG_ERROR.
absl::StatusOr<FoldedInputs> ExecutableFolds(const MxqFile& mxq,
                                             absl::Span<const InputSpec> inputs);

// How --data becomes the model's inputs, or what the executable takes: by --compile-config or
// --config-preset, else by the settings in the executable (null: there is none), or not at all.
// Errors: CONFIG_ERROR, MODEL_PARSE_ERROR.
absl::StatusOr<DatasetOptions> DataOptions(CommandContext& context, const MxqFile* mxq,
                                           absl::Span<const InputSpec> inputs, int threads);

}  // namespace qb::worker
