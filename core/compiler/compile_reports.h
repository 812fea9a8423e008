// What a compile writes beside the executable for people and for the dashboard: a page about its
// accuracy, and the graph with where each layer runs. Nothing here may depend on when, where or
// with how many threads a compile ran.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/json.h"
#include "core/compiler/compile.h"
#include "core/compiler/phases.h"
#include "core/dataset/dataset.h"
#include "core/dataset/folded_inputs.h"
#include "core/ir/graph.h"
#include "core/quantization/uint8_input.h"
#include "core/target/support.h"

namespace qb {

struct ReportInput {
  std::string folder;            // made when it is not there
  std::string mxq_path;          // complete
  std::string core_mode;         // one of its modes
  const Graph* graph = nullptr;  // the float model, as quantized
  const SupportReport* support = nullptr;
  const Json* report = nullptr;          // of the executable: MxqReport
  const Dataset* samples = nullptr;      // for the figures of each layer
  const FoldedInputs* folded = nullptr;  // what the executable does to samples first; null: nothing
  std::vector<Uint8Input> bytes;
  std::string target;
  int threads = 1;
};

// The graph for a viewer:
//
//   {"format": "qbc-graph", "version": "1.0", "name", "target",
//    "layers": [{"name", "op", "device": "npu" | "cpu" | "input" | "output",
//                "inputs": [indices of earlier layers], "shape": [...], "dtype", and where they
//                apply "macs", "reasons", "activation_bits", "weight_bits", "scale", "zero_point",
//                "saturation_share", "note", "sqnr_db", "entire_sqnr_db"}]}
//
// in topological order, without constants. `report` as MxqReport; `figures`: LayerMetrics of some
// layers as JSON, may be empty.
Json GraphJson(const Graph& graph, const SupportReport& support, const Json& report,
               const Json& figures);

// Writes report.html, report.json and graph.json into the folder, each complete or not at all.
// Figures of single layers are of up to 4 samples, and left out, with a warning, where CPU parts
// make them impossible. Errors: OUTPUT_WRITE_ERROR, CANCELLED.
absl::StatusOr<std::vector<OutputFile>> WriteReports(const ReportInput& input, Phases& phases);

}  // namespace qb
