// What the settings say about samples: preprocessing, image channels, and what the application must
// do itself.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/base/json.h"
#include "core/config/compile_config.h"
#include "core/dataset/dataset.h"
#include "core/dataset/folded_inputs.h"
#include "core/ir/graph.h"
#include "core/quantization/uint8_input.h"

namespace qb {

struct Partition;

// The preparation of every input. Errors: CONFIG_ERROR naming the step or the input that does not
// exist.
absl::StatusOr<DatasetOptions> DatasetOptionsOf(const CompileConfig& config,
                                                absl::Span<const InputSpec> inputs);

// The same from the settings that an executable carries (its config.yaml). Errors:
// MODEL_PARSE_ERROR.
absl::StatusOr<DatasetOptions> DatasetOptionsOf(absl::string_view config_yaml,
                                                absl::Span<const InputSpec> inputs);

// The inputs whose letterbox the executable does. Errors: CONFIG_ERROR where one is not of its
// input's size.
absl::StatusOr<FoldedInputs> FoldedInputsOf(absl::Span<const InputSpec> inputs,
                                            const DatasetOptions& options);

// The inputs that an executable takes as bytes, with what a byte stands for.
// Errors: CONFIG_ERROR where the channels of a fused normalize have no place in the input's shape;
// those of FoldedInputsOf.
absl::StatusOr<std::vector<Uint8Input>> Uint8InputsOf(absl::Span<const InputSpec> inputs,
                                                      const DatasetOptions& options);

// Bytes go into the program of the NPU part that reads them, so it must be the only reader. Errors:
// CONFIG_ERROR with the readers.
absl::Status CheckReadersOfBytes(const Graph& graph, const Partition& partition,
                                 absl::Span<const Uint8Input> bytes);

// What an application must know to feed an input: layout, color_order, range, codes (what a byte
// stands for, of a uint8 input), fused (what the executable does), steps_before (what stays with
// the application). Where a letterbox is folded also shape (of the source), and letterbox: its
// factor, and top, left, height and width of the picture in what the model sees, for coordinates.
Json InputContract(const InputSpec& input, const DatasetOptions& options,
                   absl::Span<const Uint8Input> bytes);

// Writes the first `most` samples below `folder`: NAME.npy, or NAME/INPUT.npy with several inputs.
// Returns how many. Errors: OUTPUT_WRITE_ERROR; those of Load.
absl::StatusOr<int64_t> SaveSamples(const Dataset& dataset, absl::Span<const InputSpec> inputs,
                                    const std::string& folder, int64_t most);

// A name as part of a file name: letters, digits, '_', '-' and '.' stay.
std::string FileStem(absl::string_view name);

}  // namespace qb
