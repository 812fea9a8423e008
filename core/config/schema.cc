#include "core/config/schema.h"

#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace qb {
namespace {

using T = FieldType;
using S = FieldSupport;

constexpr double kFree = 0;  // with kNone below: unbounded
constexpr double kNone = -1;

constexpr auto kFields = std::to_array<FieldDef>({
    {"modelPaths", T::kStringList, "[]", kFree, kNone, "", S::kHonoured,
     "the source model, usually given as --model; one at a time"},
    {"calibDataPaths", T::kStringList, "[]", kFree, kNone, "", S::kHonoured,
     "calibration data sets: folders or listings"},
    {"savePaths", T::kStringList, R"(["./tmp.mxq"])", kFree, kNone, "", S::kHonoured,
     "the output file, usually given as --output; one at a time"},
    {"useRandomCalib", T::kBool, "false", kFree, kNone, "", S::kHonoured,
     "calibrate on random data: for smoke tests, the accuracy means nothing"},
    {"inferenceScheme", T::kEnum, R"("single")", kFree, kNone,
     "single multi global4 global8 all global", S::kHonoured, "core mode of the executable"},
    {"cpuOffload", T::kBool, "false", kFree, kNone, "", S::kHonoured,
     "run layers that the NPU does not support on the CPU"},
    {"forceNpuInputReposition", T::kBool, "false", kFree, kNone, "", S::kRefused,
     "change the layout of inputs on the NPU"},
    {"forceNpuOutputReposition", T::kBool, "false", kFree, kNone, "", S::kRefused,
     "change the layout of outputs on the NPU"},
    {"optimizeOption", T::kIntChoice, "1", kFree, kNone, "0 1 2 3 4 99", S::kRefused,
     "optimization level"},
    {"bufferMode", T::kInt, "1", 0, 16, "", S::kRefused, "buffer serialization mode"},
    {"device", T::kEnum, R"("gpu")", kFree, kNone, "gpu cpu", S::kHonoured,
     "where the compile computes; gpu falls back to cpu with a warning"},
    {"dtype", T::kString, R"("float")", kFree, kNone, "", S::kRecorded, "compute dtype metadata"},
    {"debug", T::kBool, "false", kFree, kNone, "", S::kHonoured,
     "more log messages: settings that are not defaults, time and memory of each stage"},
    {"trace", T::kBool, "false", kFree, kNone, "", S::kRefused, "trace marker"},
    {"imageChannels", T::kInt, "0", 0, 4, "", S::kHonoured,
     "channels of calibration images: 0 their own without alpha; 1, 3 or 4 turns them into grey, "
     "RGB or RGBA",
     "2"},
    {"configVersion", T::kString, R"("1.0.0")", kFree, kNone, "", S::kRecorded,
     "version of this schema; of another major version a file is refused"},
    {"splitBlocks", T::kIntList, "[]", 0, kUnbounded, "", S::kRefused,
     "language models: split points by block index; not with splitParts"},
    {"splitParts", T::kInt, "0", 0, 1024, "", S::kRefused,
     "language models: number of even parts; 0 = whole; not with splitBlocks"},

    {"offload.smallestIslandShare", T::kFloat, "0.01", 0, 1, "", S::kHonoured,
     "NPU islands with a smaller share of all products go to the CPU; the largest stays"},
    {"offload.mostIslandBytes", T::kInt, "8388608", 0, kUnbounded, "", S::kHonoured,
     "bytes that a CPU island between two NPU parts may move for one sample, both ways together"},
    {"uint8Input.apply", T::kBool, "false", kFree, kNone, "", S::kHonoured,
     "the executable takes uint8 inputs"},
    {"uint8Input.inputs", T::kStringList, "[]", kFree, kNone, "", S::kHonoured,
     "inputs concerned; empty = all"},
    {"uint8Input.divisionFactor", T::kFloat, "255.0", 1e-30, 1e30, "", S::kHonoured,
     "real value = code / divisionFactor"},
    {"preprocessing.apply", T::kBool, "false", kFree, kNone, "", S::kHonoured,
     "preprocess raw samples"},
    {"preprocessing.autoConvertFormat", T::kBool, "false", kFree, kNone, "", S::kHonoured,
     "convert channel order and layout of samples"},
    {"preprocessing.pipeline", T::kPipeline, "[]", kFree, kNone, "", S::kHonoured,
     "steps in order"},
    {"preprocessing.inputConfigs", T::kPipelines, "{}", kFree, kNone, "", S::kHonoured,
     "steps by input name"},
    {"resourceManagement.weightDtype", T::kEnum, R"("float32")", kFree, kNone,
     "float32 float16 bfloat16", S::kRefused, "dtype of weights while compiling"},
    {"resourceManagement.gpuMemoryBudgetMB", T::kInt, "-1", -1, kUnbounded, "", S::kRecorded,
     "MiB; -1 automatic, 0 no limit; this build uses no GPU memory: any budget holds"},
    {"resourceManagement.cpuMemoryBudgetMB", T::kInt, "-1", -1, kUnbounded, "", S::kRefused,
     "MiB; -1 automatic, 0 no limit"},
    {"resourceManagement.threads", T::kInt, "0", 0, 1024, "", S::kHonoured,
     "threads; 0 = all that the process may use"},
    {"resourceManagement.weightMemory.method", T::kInt, "0", 0, 4, "", S::kRefused,
     "index into methodList"},
    {"resourceManagement.weightMemory.methodList", T::kStringList,
     R"(["DeleteFloat","SaveFloat","MoveFloat","KeepFloat","KeepAll"])", kFree, kNone,
     "DeleteFloat SaveFloat MoveFloat KeepFloat KeepAll", S::kRefused,
     "what may become of float weights"},

    {"calibration.method", T::kIntChoice, "1", kFree, kNone, "0 1 2 3", S::kHonoured,
     "0 one activation scale a layer; 1 layers that feed one consumer share statistics; 2, 3 the "
     "same with zero points"},
    {"calibration.output", T::kIntChoice, "0", kFree, kNone, "0 1 2", S::kHonoured,
     "model outputs: 0 one scale (parts of a concatenation whose ranges differ keep their own), 1 "
     "per channel, 2 sigmoid range: logits to +-8, scores in steps of 1/256"},
    {"calibration.mode", T::kIntChoice, "1", kFree, kNone, "0 1 2", S::kHonoured,
     "0 Max, 1 MaxPercentile, 2 Histogram"},
    {"calibration.maxPercentile.percentile", T::kFloat, "0.9999", 0.5, 1.0, "", S::kHonoured,
     "share of magnitudes that stays inside the range"},
    {"calibration.maxPercentile.topkRatio", T::kFloat, "0.01", 0.0, 1.0, "", S::kHonoured,
     "share of a sample's largest magnitudes that is kept exactly"},
    {"calibration.histogram.objective", T::kEnum, R"("mse")", kFree, kNone, "mse kl percentile",
     S::kHonoured,
     "how mode 2 chooses: least squared error, least divergence, or maxPercentile.percentile"},
    {"calibration.histogram.bins", T::kInt, "2048", 128, 65536, "", S::kHonoured,
     "bins of mode 2 on each side of zero; rounded up to a power of two"},
    {"calibration.groupLut.irlsIter", T::kInt, "3", 0, 1000, "", S::kRefused, "LUT clustering"},
    {"calibration.groupLut.droEps", T::kFloat, "0.0", 0, 1e9, "", S::kRefused, "LUT clustering"},
    {"calibration.groupLut.coverFloor", T::kFloat, "0.85", 0, 1, "", S::kRefused, "LUT clustering"},
    {"calibration.optimizeLut.optimizationLevel", T::kIntChoice, "1", kFree, kNone, "0 1",
     S::kRefused, "LUT refinement"},
    {"calibration.maxSampleSizeForQuantScheme", T::kInt, "16", 1, 100000, "", S::kRefused,
     "samples that a scheme search may use"},
    {"calibration.layerOverrides.method", T::kMethods, "{}", kFree, kNone, "0 1 2 3", S::kHonoured,
     "method by layer (exact names or * and ? globs)"},
    {"bit.transformer.activation.query", T::kIntChoice, "8", kFree, kNone, "8 16", S::kHonoured,
     "bits of query activations"},
    {"bit.transformer.activation.key", T::kIntChoice, "8", kFree, kNone, "8 16", S::kHonoured,
     "bits of key activations"},
    {"bit.transformer.activation.value", T::kIntChoice, "8", kFree, kNone, "8 16", S::kHonoured,
     "bits of value activations"},
    {"bit.transformer.activation.head", T::kIntChoice, "8", kFree, kNone, "8 16", S::kHonoured,
     "bits of head activations"},
    {"bit.transformer.activation.output", T::kIntChoice, "8", kFree, kNone, "8 16", S::kHonoured,
     "bits of output activations"},
    {"bit.transformer.activation.router", T::kIntChoice, "8", kFree, kNone, "8 16", S::kHonoured,
     "bits of router activations"},
    {"bit.transformer.activation.ffn", T::kFfnBits, "8", kFree, kNone, "8 16", S::kHonoured,
     "bits of feed-forward activations: a number, or {up, gate, down}"},
    {"bit.transformer.weight.query", T::kIntChoice, "8", kFree, kNone, "4 8 16", S::kHonoured,
     "bits of query weights"},
    {"bit.transformer.weight.key", T::kIntChoice, "8", kFree, kNone, "4 8 16", S::kHonoured,
     "bits of key weights"},
    {"bit.transformer.weight.value", T::kIntChoice, "8", kFree, kNone, "4 8 16", S::kHonoured,
     "bits of value weights"},
    {"bit.transformer.weight.head", T::kIntChoice, "8", kFree, kNone, "4 8 16", S::kHonoured,
     "bits of head weights"},
    {"bit.transformer.weight.output", T::kIntChoice, "8", kFree, kNone, "4 8 16", S::kHonoured,
     "bits of output weights"},
    {"bit.transformer.weight.router", T::kIntChoice, "8", kFree, kNone, "4 8 16", S::kHonoured,
     "bits of router weights"},
    {"bit.transformer.weight.ffn", T::kFfnBits, "8", kFree, kNone, "4 8 16", S::kHonoured,
     "bits of feed-forward weights: a number, or {up, gate, down}"},
    {"bit.layerOverrides.activation16Bits", T::kStringList, "[]", kFree, kNone, "", S::kHonoured,
     "layers whose activations have 16 bits (exact names or * and ? globs)"},
    {"bit.layerOverrides.weight16Bits", T::kStringList, "[]", kFree, kNone, "", S::kHonoured,
     "layers whose weights have 16 bits"},
    {"bit.layerOverrides.weight8Bits", T::kStringList, "[]", kFree, kNone, "", S::kHonoured,
     "layers whose weights have 8 bits: exact names win over the globs of the other lists"},
    {"bit.layerOverrides.weight4Bits", T::kStringList, "[]", kFree, kNone, "", S::kHonoured,
     "layers whose weights have 4 bits"},

    {"hessianQuant.apply", T::kBool, "false", kFree, kNone, "", S::kHonoured,
     "second-order weight rounding"},
    {"hessianQuant.hessianDtype", T::kEnum, R"("fp32")", kFree, kNone, "fp32 bf16", S::kHonoured,
     "how the accumulated Hessian is stored"},
    {"hessianQuant.solver", T::kEnum, R"("symmetric")", kFree, kNone,
     "symmetric asymmetric_causal asymmetric_refit", S::kHonoured,
     "which inputs the rounding error is measured on"},
    {"hessianQuant.rescomp", T::kBool, "false", kFree, kNone, "", S::kHonoured,
     "an extra correction between blocks"},
    {"hessianQuant.attributes.actOrder", T::kBool, "true", kFree, kNone, "", S::kHonoured,
     "columns by falling diagonal of the Hessian"},
    {"hessianQuant.attributes.blockSize", T::kInt, "256", 1, 65536, "", S::kHonoured,
     "columns a block"},
    {"hessianQuant.attributes.percDamp", T::kFloat, "0.01", 0, 10, "", S::kHonoured,
     "damping as a share of the mean diagonal"},
    {"hessianQuant.attributes.alpha", T::kFloat, "0.25", 0, 1, "", S::kHonoured,
     "weight of the input mismatch"},
    {"hessianQuant.attributes.groupSize", T::kInt, "0", 0, 65536, "", S::kRefused,
     "input channels a weight scale; 0 = all; above 0 only with solver symmetric and no rescomp"},
    {"biasCorrection.apply", T::kBool, "true", kFree, kNone, "", S::kHonoured,
     "fold each layer's mean error into its bias"},
    {"biasCorrection.attributes.applyLayers", T::kStringList, "[]", kFree, kNone, "", S::kHonoured,
     "layers concerned (exact names or * and ? globs); empty = all"},
    {"biasCorrection.attributes.excludeLayers", T::kStringList, "[]", kFree, kNone, "",
     S::kHonoured, "layers left out"},
    {"mod.apply", T::kBool, "false", kFree, kNone, "", S::kHonoured,
     "fit scales and biases of each layer's channels to the float model"},
    {"mod.attributes.epochs", T::kInt, "1", 1, 10000, "", S::kHonoured, "passes over the samples"},
    {"mod.attributes.learningRate", T::kFloat, "0.001", 0, 10, "", S::kHonoured, "step size"},
    {"mod.attributes.batchSize", T::kInt, "1", 1, 4096, "", S::kHonoured, "samples a step"},
    {"mod.attributes.loss", T::kEnum, R"("mse")", kFree, kNone, "mse kl cosine", S::kHonoured,
     "distance to the float model"},
    {"mod.attributes.layers", T::kStringList, "[]", kFree, kNone, "", S::kHonoured,
     "layers to train; empty = all"},
    {"llm.apply", T::kBool, "false", kFree, kNone, "", S::kRefused, "language model settings"},
    {"llm.attributes.maxSequenceLength", T::kInt, "4096", 1, 1048576, "", S::kRecorded,
     "tokens of a prompt"},
    {"llm.attributes.maxCacheLength", T::kInt, "4096", 1, 1048576, "", S::kRecorded,
     "tokens in the key-value cache; at least maxSequenceLength"},
    {"llm.attributes.maxDataLength", T::kInt, "4096", 1, 1048576, "", S::kRecorded,
     "tokens of a calibration sample"},
    {"llm.attributes.maxCoreDataLength", T::kInt, "128", 1, 1048576, "", S::kRecorded,
     "tokens that a core takes at once"},
    {"llm.attributes.calibration.useFullSeqLength", T::kBool, "false", kFree, kNone, "",
     S::kRecorded, "calibrate on whole sequences"},
    {"llm.attributes.runtime.batchSize", T::kInt, "1", 1, 256, "", S::kRecorded,
     "sequences at once; above 1 the scheme is single, global4 or global8"},
    {"llm.attributes.runtime.dynamicRope", T::kBool, "false", kFree, kNone, "", S::kRecorded,
     "rotary tables at run time"},
    {"llm.attributes.runtime.dynamicMask", T::kBool, "false", kFree, kNone, "", S::kRecorded,
     "attention mask at run time"},
    {"llm.attributes.debug", T::kAny, "{}", kFree, kNone, "", S::kRecorded, "free-form metadata"},
    {"moe.apply", T::kBool, "false", kFree, kNone, "", S::kRefused, "mixture of experts"},
    {"moe.attributes.topK", T::kInt, "0", 0, 1024, "", S::kRecorded,
     "experts a token; 0 = the model's"},
    {"moe.attributes.expertSelection", T::kString, R"("")", kFree, kNone, "", S::kRecorded,
     "how experts are chosen"},
    {"equivalentTransformation.NormConv.apply", T::kBool, "false", kFree, kNone, "", S::kHonoured,
     "scale norm and convolution"},
    {"equivalentTransformation.QK.apply", T::kBool, "false", kFree, kNone, "", S::kHonoured,
     "scale query and key"},
    {"equivalentTransformation.UD.apply", T::kBool, "false", kFree, kNone, "", S::kHonoured,
     "scale up and down projections"},
    {"equivalentTransformation.UD.learn", T::kBool, "false", kFree, kNone, "", S::kRefused,
     "learn the up/down scales"},
    {"equivalentTransformation.VO.apply", T::kBool, "false", kFree, kNone, "", S::kHonoured,
     "scale value and output projections"},
    {"equivalentTransformation.SpinR1.apply", T::kBool, "false", kFree, kNone, "", S::kRefused,
     "rotate the residual stream"},
    {"equivalentTransformation.SpinR2.apply", T::kBool, "false", kFree, kNone, "", S::kRefused,
     "rotate value and output by head"},
    {"equivalentTransformation.QKRotation.apply", T::kBool, "false", kFree, kNone, "", S::kRefused,
     "rotate query and key"},
    {"equivalentTransformation.FeedForwardMultiLut.apply", T::kBool, "false", kFree, kNone, "",
     S::kRefused, "several tables for feed-forward activations"},
    {"equivalentTransformation.OptimizeFFN.apply", T::kBool, "false", kFree, kNone, "", S::kRefused,
     "rearrange feed-forward layers"},
    {"equivalentTransformation.HeadOutChRotation.apply", T::kBool, "false", kFree, kNone, "",
     S::kRefused, "rotate the head's output channels"},
    {"equivalentTransformation.HeadOutChRotation.matrixPath", T::kString, R"("")", kFree, kNone, "",
     S::kRecorded, "file of the rotation matrix"},
    {"searchWeightScale.apply", T::kBool, "false", kFree, kNone, "", S::kHonoured,
     "search the weight scales that keep the layers' results"},
    {"searchWeightScale.transformer.query", T::kBool, "false", kFree, kNone, "", S::kHonoured,
     "search for query weights"},
    {"searchWeightScale.transformer.key", T::kBool, "false", kFree, kNone, "", S::kHonoured,
     "search for key weights"},
    {"searchWeightScale.transformer.value", T::kBool, "false", kFree, kNone, "", S::kHonoured,
     "search for value weights"},
    {"searchWeightScale.transformer.out", T::kBool, "false", kFree, kNone, "", S::kHonoured,
     "search for out weights"},
    {"searchWeightScale.transformer.ffn", T::kBool, "false", kFree, kNone, "", S::kHonoured,
     "search for ffn weights"},
    {"searchWeightScale.layers", T::kStringList, "[]", kFree, kNone, "", S::kHonoured,
     "convolution and linear layers by name or glob; empty = all"},
    {"loadScale.apply", T::kBool, "false", kFree, kNone, "", S::kRefused, "load stored scales"},
    {"loadScale.path", T::kString, R"("")", kFree, kNone, "", S::kRecorded,
     "file of stored scales"},
    {"runtimeOptions.version", T::kString, R"("0.0.0")", kFree, kNone, "", S::kRecorded,
     "runtime version metadata"},
    {"saveSample.apply", T::kBool, "false", kFree, kNone, "", S::kHonoured,
     "write the samples that calibration saw"},
    {"saveSample.path", T::kString, R"("./samples")", kFree, kNone, "", S::kHonoured,
     "folder for the samples"},
    {"saveSample.maxSamples", T::kInt, "16", 1, 1000000, "", S::kHonoured, "how many are written"},
    {"extraOutput.apply", T::kBool, "false", kFree, kNone, "", S::kHonoured,
     "named layers become outputs"},
    {"extraOutput.layers", T::kStringList, "[]", kFree, kNone, "", S::kHonoured,
     "layers that become outputs, by name or glob; `qbcompiler layers` lists the names"},
    {"autoTune.apply", T::kBool, "false", kFree, kNone, "", S::kHonoured,
     "raise the most sensitive layers to 16 bit"},
    {"autoTune.metric", T::kEnum, R"("top1Agreement")", kFree, kNone, "sqnr cosine top1Agreement",
     S::kHonoured, "what has to reach the target, of the worst output"},
    {"autoTune.target", T::kFloat, "0.99", -200, 200, "", S::kHonoured,
     "value to reach: dB of sqnr, else a share"},
    {"autoTune.maxHighPrecisionShare", T::kFloat, "0.1", 0, 1, "", S::kHonoured,
     "most tensors (values and weights) that may be raised, as a share"},
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
constexpr auto kAdvanced = std::to_array<absl::string_view>({"hessianQuant", "biasCorrection",
                                                             "mod", "equivalentTransformation",
                                                             "searchWeightScale", "loadScale"});

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

std::string SnakeCase(absl::string_view camel_case) {
  if (camel_case == "calibDataPaths") {
    return "calib_data_path";
  }
  std::string snake;
  for (size_t i = 0; i < camel_case.size(); ++i) {
    const char c = camel_case[i];
    const bool upper = absl::ascii_isupper(static_cast<unsigned char>(c));
    const bool after_lower =
        i > 0 && !absl::ascii_isupper(static_cast<unsigned char>(camel_case[i - 1]));
    const bool before_lower = i + 1 < camel_case.size() &&
                              absl::ascii_islower(static_cast<unsigned char>(camel_case[i + 1]));
    if (upper && i > 0 && (after_lower || before_lower)) {
      snake.push_back('_');
    }
    snake.push_back(absl::ascii_tolower(static_cast<unsigned char>(c)));
  }
  return snake;
}

std::string SnakePath(absl::string_view path) {
  std::string snake;
  for (const absl::string_view level : absl::StrSplit(path, '.')) {
    absl::StrAppend(&snake, snake.empty() ? "" : ".", SnakeCase(level));
  }
  return snake;
}

absl::Span<const RemovedKey> RemovedConfigKeys() { return kRemoved; }

absl::Span<const ConfigGroup> ConfigGroups() {
  static constexpr auto kGroups = std::to_array<ConfigGroup>(
      {{"quantization", kQuantization}, {"advancedQuantization", kAdvanced}});
  return kGroups;
}

}  // namespace qb
