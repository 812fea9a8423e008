// What the config says about quantization, as core/quantization takes it.
#pragma once

#include "core/config/compile_config.h"
#include "core/quantization/equivalent/equivalent_transformation.h"
#include "core/quantization/quantize.h"

namespace qb {

LayerOverrides LayerOverridesOf(const CompileConfig& config);

EquivalentOptions EquivalentOptionsOf(const CompileConfig& config, int threads);

// What has no part yet was refused when the config was resolved.
QuantizationOptions QuantizationOptionsOf(const CompileConfig& config, int threads);

}  // namespace qb
