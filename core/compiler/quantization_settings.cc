#include "core/compiler/quantization_settings.h"

#include <cstdint>
#include <map>
#include <string>

#include "absl/types/span.h"

namespace qb {

LayerOverrides LayerOverridesOf(const CompileConfig& config) {
  LayerOverrides overrides;
  overrides.activation16 = config.Strings("bit.layerOverrides.activation16Bits");
  overrides.weight16 = config.Strings("bit.layerOverrides.weight16Bits");
  overrides.weight8 = config.Strings("bit.layerOverrides.weight8Bits");
  overrides.weight4 = config.Strings("bit.layerOverrides.weight4Bits");
  for (const auto& [name, method] : config.Get("calibration.layerOverrides.method").members()) {
    overrides.method[name] = method.as_int();
  }
  return overrides;
}

namespace {

struct RoleField {
  const char* path;
  TransformerRole role;
};

constexpr RoleField kActivationFields[] = {
    {"bit.transformer.activation.query", TransformerRole::kQuery},
    {"bit.transformer.activation.key", TransformerRole::kKey},
    {"bit.transformer.activation.value", TransformerRole::kValue},
    {"bit.transformer.activation.head", TransformerRole::kHead},
    {"bit.transformer.activation.output", TransformerRole::kOutput},
    {"bit.transformer.activation.router", TransformerRole::kRouter},
};
constexpr RoleField kWeightFields[] = {
    {"bit.transformer.weight.query", TransformerRole::kQuery},
    {"bit.transformer.weight.key", TransformerRole::kKey},
    {"bit.transformer.weight.value", TransformerRole::kValue},
    {"bit.transformer.weight.head", TransformerRole::kHead},
    {"bit.transformer.weight.output", TransformerRole::kOutput},
    {"bit.transformer.weight.router", TransformerRole::kRouter},
};
constexpr RoleField kScaleSearchFields[] = {
    {"searchWeightScale.transformer.query", TransformerRole::kQuery},
    {"searchWeightScale.transformer.key", TransformerRole::kKey},
    {"searchWeightScale.transformer.value", TransformerRole::kValue},
    {"searchWeightScale.transformer.out", TransformerRole::kOutput},
    {"searchWeightScale.transformer.ffn", TransformerRole::kFfnUp},
    {"searchWeightScale.transformer.ffn", TransformerRole::kFfnGate},
    {"searchWeightScale.transformer.ffn", TransformerRole::kFfnDown},
};
// Keys of a field that is a number or an object.
constexpr RoleField kFeedForwardKeys[] = {
    {"up", TransformerRole::kFfnUp},
    {"gate", TransformerRole::kFfnGate},
    {"down", TransformerRole::kFfnDown},
};

// What differs from 8.
std::map<TransformerRole, int> RoleBitsOf(const CompileConfig& config,
                                          absl::Span<const RoleField> fields, const Json& ffn) {
  std::map<TransformerRole, int> bits;
  const auto set = [&](TransformerRole role, int64_t value) {
    if (value != 8) {
      bits[role] = static_cast<int>(value);
    }
  };
  for (const auto& [path, role] : fields) {
    set(role, config.Int(path));
  }
  for (const auto& [key, role] : kFeedForwardKeys) {
    if (!ffn.is_object()) {
      set(role, ffn.as_int());
    } else if (ffn.contains(key)) {
      set(role, ffn[key].as_int());
    }
  }
  return bits;
}

}  // namespace

TransformerBits TransformerBitsOf(const CompileConfig& config) {
  return {RoleBitsOf(config, kActivationFields, config.Get("bit.transformer.activation.ffn")),
          RoleBitsOf(config, kWeightFields, config.Get("bit.transformer.weight.ffn"))};
}

std::vector<TransformerRole> ScaleSearchRolesOf(const CompileConfig& config) {
  std::vector<TransformerRole> roles;
  if (!config.Bool("searchWeightScale.apply")) {
    return roles;
  }
  for (const auto& [path, role] : kScaleSearchFields) {
    if (config.Bool(path)) {
      roles.push_back(role);
    }
  }
  return roles;
}

EquivalentOptions EquivalentOptionsOf(const CompileConfig& config, int threads) {
  EquivalentOptions options;
  options.norm_conv = config.Bool("equivalentTransformation.NormConv.apply");
  options.qk = config.Bool("equivalentTransformation.QK.apply");
  options.ud = config.Bool("equivalentTransformation.UD.apply");
  options.vo = config.Bool("equivalentTransformation.VO.apply");
  options.threads = threads;
  return options;
}

namespace {

HistogramObjective ObjectiveOf(const std::string& name) {
  if (name == "mse") {
    return HistogramObjective::kMse;
  }
  return name == "kl" ? HistogramObjective::kKl : HistogramObjective::kPercentile;
}

WeightRefinementOptions RefinementOf(const CompileConfig& config) {
  WeightRefinementOptions options;
  options.hessian = config.Bool("hessianQuant.apply");
  options.half_moments = config.String("hessianQuant.hessianDtype") == "bf16";
  const std::string& solver = config.String("hessianQuant.solver");
  options.solver.solver = solver == "symmetric"           ? HessianSolver::kSymmetric
                          : solver == "asymmetric_causal" ? HessianSolver::kAsymmetricCausal
                                                          : HessianSolver::kAsymmetricRefit;
  options.solver.rescomp = config.Bool("hessianQuant.rescomp");
  options.solver.act_order = config.Bool("hessianQuant.attributes.actOrder");
  options.solver.block_size = config.Int("hessianQuant.attributes.blockSize");
  options.solver.damping_share = config.Float("hessianQuant.attributes.percDamp");
  options.solver.alpha = config.Float("hessianQuant.attributes.alpha");
  if (config.Bool("searchWeightScale.apply")) {
    options.scale_layers = config.Strings("searchWeightScale.layers");
    if (options.scale_layers.empty() && ScaleSearchRolesOf(config).empty()) {
      options.scale_layers = {"*"};
    }
  }
  return options;
}

ScaleTrainingOptions TrainingOf(const CompileConfig& config) {
  ScaleTrainingOptions options;
  options.apply = config.Bool("mod.apply");
  options.layers = config.Strings("mod.attributes.layers");
  const std::string& loss = config.String("mod.attributes.loss");
  options.fit.loss = loss == "mse" ? FitLoss::kMse : loss == "kl" ? FitLoss::kKl : FitLoss::kCosine;
  options.fit.epochs = config.Int("mod.attributes.epochs");
  options.fit.learning_rate = config.Float("mod.attributes.learningRate");
  options.fit.batch_size = config.Int("mod.attributes.batchSize");
  return options;
}

}  // namespace

QuantizationOptions QuantizationOptionsOf(const CompileConfig& config, int threads) {
  QuantizationOptions options;
  options.method = static_cast<QuantizationMethod>(config.Int("calibration.method"));
  options.outputs = static_cast<OutputSteps>(config.Int("calibration.output"));
  options.overrides = LayerOverridesOf(config);
  options.calibration.mode = static_cast<CalibrationMode>(config.Int("calibration.mode"));
  options.calibration.percentile = config.Float("calibration.maxPercentile.percentile");
  options.calibration.topk_ratio = config.Float("calibration.maxPercentile.topkRatio");
  options.calibration.objective = ObjectiveOf(config.String("calibration.histogram.objective"));
  options.calibration.bins = config.Int("calibration.histogram.bins");
  options.calibration.threads = threads;
  options.bias_correction.apply = config.Bool("biasCorrection.apply");
  options.bias_correction.apply_layers = config.Strings("biasCorrection.attributes.applyLayers");
  options.bias_correction.exclude_layers =
      config.Strings("biasCorrection.attributes.excludeLayers");
  options.refinement = RefinementOf(config);
  options.training = TrainingOf(config);
  return options;
}

}  // namespace qb
