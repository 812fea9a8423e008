// What an executable runs for one sample: a single program, or programs and CPU graphs in turn, and
// that for each size that the model was compiled for.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "core/base/json.h"
#include "core/ir/shape.h"

namespace qb {

// A value that exists when a stage begins: output `index` of an earlier stage, or of the model's
// inputs with stage -1.
struct ValueRef {
  int64_t stage = -1;
  int64_t index = 0;
};

struct MxqStage {
  std::string name;
  bool npu = true;
  std::vector<ValueRef> inputs;
  // Of an NPU stage, by core mode; of a CPU stage empty.
  std::map<std::string, absl::string_view> programs;
  absl::string_view model;    // of a CPU stage: its graph (core/package/graph_onnx.h)
  absl::string_view weights;  // of either
  std::string weights_name;   // the entry that `model` says its constants lie in
};

struct MxqBorder {
  std::string name;
  TensorType type;
};

// The executable for one set of input shapes.
struct MxqSize {
  Json input_list;                   // as the manifest has it: also what bytes stand for; unchecked
  std::vector<MxqBorder> inputs;     // empty where one program is all there is: it says so itself
  std::vector<std::string> outputs;  // names; as many as results
  std::vector<MxqStage> stages;
  std::vector<ValueRef> results;  // of the model, in its declared order; empty with one program
};

// Entry names of a stage. `folder` of its size ("" or "size_2/").
std::string ProgramEntry(absl::string_view folder, absl::string_view mode);
std::string WeightsEntry(absl::string_view folder);
std::string CpuModelEntry(absl::string_view folder, absl::string_view stage);
std::string CpuWeightsEntry(absl::string_view folder, absl::string_view stage);
// The folder of an NPU stage: that of its size for the first one.
std::string StageFolder(absl::string_view folder, absl::string_view stage, bool is_first_npu);

// [[stage, index], ...]
Json ValueRefsJson(const std::vector<ValueRef>& refs);

// The sizes that `manifest` speaks of, at least one, each with at least one NPU stage. What they
// point to is found among `entries`, which outlive the result. Errors: DataLoss saying what is
// wrong: nothing in the manifest is believed.
absl::StatusOr<std::vector<MxqSize>> ReadSizes(
    const Json& manifest, const std::map<std::string, absl::string_view>& entries);

}  // namespace qb
