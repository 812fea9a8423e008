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
    {"classification_torchvision", "classification",
     R"({"uint8Input":{"apply":true},"imageChannels":3,"preprocessing":{"apply":true,
         "autoConvertFormat":true,"pipeline":[
         {"op":"resize","size":256,"mode":"bilinear","backend":"pil"},
         {"op":"centerCrop","height":224,"width":224},
         {"op":"normalize","mean":[0.485,0.456,0.406],"std":[0.229,0.224,0.225],
          "scaleToUint8":true,"fuseIntoFirstLayer":true}]}})",
     "torchvision classifiers from raw images, uint8 input"},
    {"yolo_640", "detection",
     R"({"uint8Input":{"apply":true},"imageChannels":3,"preprocessing":{"apply":true,
         "autoConvertFormat":true,"pipeline":[
         {"op":"letterbox","height":640,"width":640,"padValue":114,"backend":"opencv"}]}})",
     "YOLO at 640 x 640 from raw images, uint8 input"},
    {"yolo_1280", "detection",
     R"({"uint8Input":{"apply":true},"imageChannels":3,"preprocessing":{"apply":true,
         "autoConvertFormat":true,"pipeline":[
         {"op":"letterbox","height":1280,"width":1280,"padValue":114,"backend":"opencv"}]}})",
     "YOLO at 1280 x 1280 from raw images, uint8 input"},
    {"llm", "",
     R"({"llm":{"apply":true,"attributes":{"maxSequenceLength":4096,"maxCacheLength":4096,
         "calibration":{"useFullSeqLength":true}}},"calibration":{"mode":0,"output":0},
         "equivalentTransformation":{"QK":{"apply":true},"UD":{"apply":true},"VO":{"apply":true},
         "SpinR1":{"apply":true},"SpinR2":{"apply":true},"OptimizeFFN":{"apply":true}}})",
     "language models"},
    {"llm_fast", "llm",
     R"({"llm":{"attributes":{"calibration":{"useFullSeqLength":false}}},
         "equivalentTransformation":{"QK":{"apply":false},"UD":{"apply":false},
         "VO":{"apply":false},"SpinR1":{"apply":false},"SpinR2":{"apply":false},
         "OptimizeFFN":{"apply":false}}})",
     "language models without equivalent transformations"},
    {"vision_transformer", "",
     R"({"calibration":{"method":1,"mode":0},
         "bit":{"transformer":{"activation":{"output":16,"ffn":16}}}})",
     "vision transformers: 16-bit residual and feed-forward activations"},
    {"multimodal", "", R"({"llm":{"apply":true},"calibration":{"method":3}})",
     "language models with other inputs"},
});

}  // namespace

absl::Span<const PresetInfo> AllPresets() { return kPresets; }

}  // namespace qb
