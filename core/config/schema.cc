#include "core/config/schema.h"

#include <array>

namespace qb {
namespace {

using T = FieldType;
using S = FieldSupport;

constexpr double kFree = 0;  // with kNone below: unbounded
constexpr double kNone = -1;
constexpr double kBig = 9007199254740992.0;  // 2^53

constexpr auto kFields = std::to_array<FieldDef>({
    {"modelPaths", T::kStringList, "[]", kFree, kNone, "", S::kRecorded,
     "source models; usually given on the command line"},
    {"calibDataPaths", T::kStringList, "[]", kFree, kNone, "", S::kHonoured,
     "calibration data sets: folders or listings"},
    {"savePaths", T::kStringList, R"(["./tmp.mxq"])", kFree, kNone, "", S::kHonoured,
     "output files"},
    {"useRandomCalib", T::kBool, "false", kFree, kNone, "", S::kHonoured,
     "calibrate on random data: for smoke tests, the accuracy means nothing"},
    {"inferenceScheme", T::kEnum, R"("single")", kFree, kNone,
     "single multi global4 global8 all global", S::kHonoured,
     "core mode of the executable"},
    {"cpuOffload", T::kBool, "false", kFree, kNone, "", S::kRefused,
     "run layers that the NPU does not support on the CPU"},
    {"forceNpuInputReposition", T::kBool, "false", kFree, kNone, "", S::kRefused,
     "change the layout of inputs on the NPU"},
    {"forceNpuOutputReposition", T::kBool, "false", kFree, kNone, "", S::kRefused,
     "change the layout of outputs on the NPU"},
    {"optimizeOption", T::kIntChoice, "1", kFree, kNone, "0 1 2 3 4 99", S::kRecorded,
     "optimization level"},
    {"bufferMode", T::kInt, "1", 0, 16, "", S::kRecorded, "buffer serialization mode"},
    {"device", T::kEnum, R"("gpu")", kFree, kNone, "gpu cpu", S::kHonoured,
     "where the compile computes; gpu falls back to cpu with a warning"},
    {"dtype", T::kString, R"("float")", kFree, kNone, "", S::kRecorded, "compute dtype metadata"},
    {"debug", T::kBool, "false", kFree, kNone, "", S::kHonoured, "more log messages"},
    {"trace", T::kBool, "false", kFree, kNone, "", S::kRecorded, "trace marker"},
    {"imageChannels", T::kInt, "0", 0, 4, "", S::kRefused,
     "channels of calibration images; 0 detects"},
    {"configVersion", T::kString, R"("1.0.0")", kFree, kNone, "", S::kRecorded,
     "version of this schema"},
    {"splitBlocks", T::kIntList, "[]", kFree, kNone, "", S::kRefused, "split points by block"},
    {"splitParts", T::kInt, "0", 0, 1024, "", S::kRefused, "number of even parts"},

    {"uint8Input.apply", T::kBool, "false", kFree, kNone, "", S::kRefused,
     "the executable takes uint8 inputs"},
    {"uint8Input.inputs", T::kStringList, "[]", kFree, kNone, "", S::kRecorded,
     "inputs concerned; empty = all"},
    {"uint8Input.divisionFactor", T::kFloat, "255.0", 1e-30, 1e30, "", S::kRecorded,
     "real value = code / divisionFactor"},
    {"preprocessing.apply", T::kBool, "false", kFree, kNone, "", S::kRefused,
     "preprocess raw samples"},
    {"preprocessing.autoConvertFormat", T::kBool, "false", kFree, kNone, "", S::kRecorded,
     "convert channel order and layout of samples"},
    {"preprocessing.pipeline", T::kAny, "[]", kFree, kNone, "", S::kRecorded,
     "steps in order"},
    {"preprocessing.inputConfigs", T::kAny, "{}", kFree, kNone, "", S::kRecorded,
     "steps by input name"},
    {"resourceManagement.weightDtype", T::kEnum, R"("float32")", kFree, kNone,
     "float32 float16 bfloat16", S::kRecorded, "dtype of weights while compiling"},
    {"resourceManagement.gpuMemoryBudgetMB", T::kInt, "-1", -1, kBig, "", S::kRecorded,
     "MiB; -1 automatic, 0 no limit"},
    {"resourceManagement.cpuMemoryBudgetMB", T::kInt, "-1", -1, kBig, "", S::kRecorded,
     "MiB; -1 automatic, 0 no limit"},
    {"resourceManagement.threads", T::kInt, "0", 0, 1024, "", S::kHonoured,
     "threads; 0 = all that the process may use"},
    {"resourceManagement.weightMemory.method", T::kInt, "0", 0, 4, "", S::kRecorded,
     "index into methodList"},

    {"calibration.method", T::kIntChoice, "1", kFree, kNone, "0 1 2 3", S::kHonoured,
     "0 one activation scale a layer; 1 layers that feed one consumer share statistics; 2, 3 the "
     "same with zero points"},
    {"calibration.output", T::kIntChoice, "0", kFree, kNone, "0 1 2", S::kHonoured,
     "model outputs: 0 one scale, 1 per channel, 2 sigmoid range"},
    {"calibration.mode", T::kIntChoice, "1", kFree, kNone, "0 1 2", S::kHonoured,
     "0 Max, 1 MaxPercentile, 2 Histogram"},
    {"calibration.maxPercentile.percentile", T::kFloat, "0.9999", 0.5, 1.0, "", S::kHonoured,
     "share of magnitudes that stays inside the range"},
    {"calibration.maxPercentile.topkRatio", T::kFloat, "0.01", 0.0, 1.0, "", S::kHonoured,
     "share of a sample's largest magnitudes that is kept exactly"},
    {"calibration.histogram.objective", T::kEnum, R"("mse")", kFree, kNone, "mse kl percentile",
     S::kRecorded, "what mode 2 minimizes"},
    {"calibration.histogram.bins", T::kInt, "2048", 128, 65536, "", S::kRecorded, "bins of mode 2"},
    {"calibration.groupLut.irlsIter", T::kInt, "3", 0, 1000, "", S::kRecorded, "LUT clustering"},
    {"calibration.groupLut.droEps", T::kFloat, "0.0", 0, 1e9, "", S::kRecorded, "LUT clustering"},
    {"calibration.groupLut.coverFloor", T::kFloat, "0.85", 0, 1, "", S::kRecorded,
     "LUT clustering"},
    {"calibration.optimizeLut.optimizationLevel", T::kIntChoice, "1", kFree, kNone, "0 1",
     S::kRecorded, "LUT refinement"},
    {"calibration.maxSampleSizeForQuantScheme", T::kInt, "16", 1, 100000, "", S::kRecorded,
     "samples that a scheme search may use"},
    {"calibration.layerOverrides.method", T::kAny, "{}", kFree, kNone, "", S::kRefused,
     "method by layer"},
    {"bit.transformer.activation", T::kAny, "{}", kFree, kNone, "", S::kRefused,
     "activation bits by role"},
    {"bit.transformer.weight", T::kAny, "{}", kFree, kNone, "", S::kRefused,
     "weight bits by role"},
    {"bit.layerOverrides.activation16Bits", T::kStringList, "[]", kFree, kNone, "", S::kRefused,
     "layers with 16-bit activations"},
    {"bit.layerOverrides.weight16Bits", T::kStringList, "[]", kFree, kNone, "", S::kRefused,
     "layers with 16-bit weights"},
    {"bit.layerOverrides.weight8Bits", T::kStringList, "[]", kFree, kNone, "", S::kRefused,
     "layers with 8-bit weights"},
    {"bit.layerOverrides.weight4Bits", T::kStringList, "[]", kFree, kNone, "", S::kRefused,
     "layers with 4-bit weights"},

    {"hessianQuant.apply", T::kBool, "false", kFree, kNone, "", S::kRefused,
     "second-order weight rounding"},
    {"biasCorrection.apply", T::kBool, "true", kFree, kNone, "", S::kHonoured,
     "fold each layer's mean error into its bias"},
    {"biasCorrection.attributes.applyLayers", T::kStringList, "[]", kFree, kNone, "", S::kHonoured,
     "layers concerned (exact names or * and ? globs); empty = all"},
    {"biasCorrection.attributes.excludeLayers", T::kStringList, "[]", kFree, kNone, "",
     S::kHonoured, "layers left out"},
    {"mod.apply", T::kBool, "false", kFree, kNone, "", S::kRefused, "train scales and biases"},
    {"llm.apply", T::kBool, "false", kFree, kNone, "", S::kRefused, "language model settings"},
    {"moe.apply", T::kBool, "false", kFree, kNone, "", S::kRefused, "mixture of experts"},
    {"equivalentTransformation.NormConv.apply", T::kBool, "false", kFree, kNone, "", S::kRefused,
     "scale norm and convolution"},
    {"equivalentTransformation.QK.apply", T::kBool, "false", kFree, kNone, "", S::kRefused,
     "scale query and key"},
    {"equivalentTransformation.UD.apply", T::kBool, "false", kFree, kNone, "", S::kRefused,
     "scale up and down projections"},
    {"equivalentTransformation.VO.apply", T::kBool, "false", kFree, kNone, "", S::kRefused,
     "scale value and output projections"},
    {"searchWeightScale.apply", T::kBool, "false", kFree, kNone, "", S::kRefused,
     "search weight scales"},
    {"loadScale.apply", T::kBool, "false", kFree, kNone, "", S::kRefused, "load stored scales"},
    {"runtimeOptions.version", T::kString, R"("0.0.0")", kFree, kNone, "", S::kRecorded,
     "runtime version metadata"},
    {"saveSample.apply", T::kBool, "false", kFree, kNone, "", S::kRefused,
     "write the samples that calibration saw"},
    {"extraOutput.apply", T::kBool, "false", kFree, kNone, "", S::kRefused,
     "named layers become outputs"},
    {"autoTune.apply", T::kBool, "false", kFree, kNone, "", S::kRefused,
     "raise the most sensitive layers to 16 bit"},
});

constexpr auto kRemoved = std::to_array<RemovedKey>({
    {"useGPUOnlyForCalibration", "resourceManagement.gpuMemoryBudgetMB"},
    {"accumulationDevice", "nothing; remove the key"},
    {"layerBiasCorrection", "biasCorrection"},
    {"inputShapeDict", "multi_shape"},
    {"clusteringMethods", "calibration.groupLut and calibration.optimizeLut"},
    {"hf_config", "model_part"},
    {"in_dformats", "nothing; the layout is inferred"},
});

constexpr auto kQuantization = std::to_array<absl::string_view>({"calibration", "bit"});
constexpr auto kAdvanced = std::to_array<absl::string_view>(
    {"hessianQuant", "biasCorrection", "mod", "equivalentTransformation", "searchWeightScale",
     "loadScale"});

}  // namespace

absl::Span<const FieldDef> ConfigFields() { return kFields; }

const FieldDef* FindConfigField(absl::string_view path) {
  for (const FieldDef& field : kFields) {
    if (field.path == path) {
      return &field;
    }
  }
  return nullptr;
}

absl::Span<const RemovedKey> RemovedConfigKeys() { return kRemoved; }

absl::Span<const ConfigGroup> ConfigGroups() {
  static constexpr auto kGroups = std::to_array<ConfigGroup>(
      {{"quantization", kQuantization}, {"advancedQuantization", kAdvanced}});
  return kGroups;
}

}  // namespace qb
