#include "core/compiler/quantization_settings.h"

#include <string>

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
    if (options.scale_layers.empty()) {
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
