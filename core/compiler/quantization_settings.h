// What the config says about quantization, as core/quantization takes it.
#pragma once

#include <vector>

#include "core/config/compile_config.h"
#include "core/quantization/equivalent/equivalent_transformation.h"
#include "core/quantization/quantize.h"
#include "core/quantization/transformer_bits.h"

namespace qb {

LayerOverrides LayerOverridesOf(const CompileConfig& config);

// bit.transformer, and the roles that searchWeightScale.transformer chooses.
TransformerBits TransformerBitsOf(const CompileConfig& config);
std::vector<TransformerRole> ScaleSearchRolesOf(const CompileConfig& config);

EquivalentOptions EquivalentOptionsOf(const CompileConfig& config, int threads);

// What has no part yet was refused when the config was resolved.
QuantizationOptions QuantizationOptionsOf(const CompileConfig& config, int threads);

}  // namespace qb
