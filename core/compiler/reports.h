// What manifests and reports inside the packages say. Nothing here may depend on when, where or with
// how many threads a compile ran.
#pragma once

#include <string>

#include "core/base/json.h"
#include "core/npu/program.h"
#include "core/package/mblt.h"
#include "core/quantization/quantize.h"
#include "core/target/support.h"
#include "core/target/target_spec.h"

namespace qb {

// [{name, op, device, reasons[]}]
Json SupportSummary(const SupportReport& support);

Json MxqManifest(const MbltFile& mblt, const npu::NpuProgram& program, const TargetSpec& target,
                 const std::string& mode);

Json MxqReport(const QuantizedModel& model, const SupportReport& support, const Json& accuracy);

}  // namespace qb
