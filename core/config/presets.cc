// The presets as data. A preset is a partial config in the flat spelling.
#include <array>

#include "absl/types/span.h"
#include "core/config/compile_config.h"

namespace qb {
namespace {

constexpr auto kPresets = std::to_array<PresetInfo>({
    {"classification", "", R"({"calibration":{"mode":1,"output":0}})", "image classifiers"},
    {"detection", "", R"({"calibration":{"mode":1,"output":1}})",
     "detectors: outputs quantized per channel"},
});

}  // namespace

absl::Span<const PresetInfo> AllPresets() { return kPresets; }

}  // namespace qb
