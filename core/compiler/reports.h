// What manifests and reports inside the packages say. Nothing here may depend on when, where or
// with how many threads a compile ran.
#pragma once

#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/ir/graph.h"
#include "core/npu/program.h"
#include "core/package/mblt.h"
#include "core/quantization/quantize.h"
#include "core/target/support.h"
#include "core/target/target_spec.h"

namespace qb {

// [{name, op, shape, device, reasons[]}]
Json SupportSummary(const SupportReport& support);

// `contracts`: of each input, what an application must know besides (InputContract). `programs` by
// mode. "plan" is that of the first mode, "plans" has one a mode; "samples" of a plan
// is how many samples a run of its program takes (inputs and outputs of the first, then of the next
// ...).
Json MxqManifest(const MbltFile& mblt, const std::vector<npu::NpuProgram>& programs,
                 const TargetSpec& target, const std::vector<CoreMode>& modes,
                 const std::vector<Json>& contracts);

// Replaces the manifest's inputs and outputs by those of the graph: with CPU parts the programs do
// not have the model's border.
void SetGraphBorders(const Graph& graph, const std::vector<Json>& contracts, Json& manifest);
Json MxqReport(const QuantizedModel& model, const SupportReport& support, const Json& accuracy);

}  // namespace qb
