#include "core/frontends/onnx/importers/all_importers.h"

#include <algorithm>
#include <array>

#include "core/frontends/onnx/onnx_import.h"

namespace qb::onnx_import {
namespace {

constexpr int64_t kOldest = kOldestOnnxOpset;
constexpr int64_t kNewest = kNewestOnnxOpset;

constexpr auto kImporters = std::to_array<OpImporter>({
    {"Abs", kOldest, kNewest, ImportPlainPointwise},
    {"Add", kOldest, kNewest, ImportBinary},
    {"And", kOldest, kNewest, ImportComparison},
    {"AveragePool", kOldest, kNewest, ImportAveragePool},
    {"BatchNormalization", kOldest, kNewest, ImportBatchNormalization},
    {"Cast", kOldest, kNewest, ImportCast},
    {"Ceil", kOldest, kNewest, ImportPlainPointwise},
    {"Clip", kOldest, kNewest, ImportClip},
    {"Concat", kOldest, kNewest, ImportConcat},
    {"Constant", kOldest, kNewest, ImportConstant},
    {"ConstantOfShape", 9, kNewest, ImportConstantOfShape},
    {"Conv", kOldest, kNewest, ImportConv},
    {"ConvTranspose", kOldest, kNewest, ImportConvTranspose},
    {"DepthToSpace", kOldest, kNewest, ImportDepthToSpace},
    {"Div", kOldest, kNewest, ImportBinary},
    {"Dropout", kOldest, kNewest, ImportDropout},
    {"Elu", kOldest, kNewest, ImportElu},
    {"Equal", kOldest, kNewest, ImportComparison},
    {"Erf", 9, kNewest, ImportPlainPointwise},
    {"Exp", kOldest, kNewest, ImportPlainPointwise},
    {"Expand", 8, kNewest, ImportExpand},
    {"Flatten", kOldest, kNewest, ImportFlatten},
    {"Floor", kOldest, kNewest, ImportPlainPointwise},
    {"Gather", kOldest, kNewest, ImportGather},
    {"Gemm", kOldest, kNewest, ImportGemm},
    {"GlobalAveragePool", kOldest, kNewest, ImportGlobalAveragePool},
    {"GlobalMaxPool", kOldest, kNewest, ImportGlobalMaxPool},
    {"Greater", kOldest, kNewest, ImportComparison},
    {"GreaterOrEqual", 12, kNewest, ImportComparison},
    {"HardSigmoid", kOldest, kNewest, ImportHardSigmoid},
    {"HardSwish", 14, kNewest, ImportPlainPointwise},
    {"Identity", kOldest, kNewest, ImportIdentity},
    {"LeakyRelu", kOldest, kNewest, ImportLeakyRelu},
    {"Less", kOldest, kNewest, ImportComparison},
    {"LessOrEqual", 12, kNewest, ImportComparison},
    {"Log", kOldest, kNewest, ImportPlainPointwise},
    {"LogSoftmax", kOldest, kNewest, ImportLogSoftmax},
    {"MatMul", kOldest, kNewest, ImportMatMul},
    {"Max", kOldest, kNewest, ImportVariadic},
    {"MaxPool", kOldest, kNewest, ImportMaxPool},
    {"Mean", kOldest, kNewest, ImportMean},
    {"Min", kOldest, kNewest, ImportVariadic},
    {"Mul", kOldest, kNewest, ImportBinary},
    {"Neg", kOldest, kNewest, ImportPlainPointwise},
    {"Not", kOldest, kNewest, ImportNot},
    {"Or", kOldest, kNewest, ImportComparison},
    {"PRelu", kOldest, kNewest, ImportPRelu},
    {"Pad", kOldest, kNewest, ImportPad},
    {"Pow", kOldest, kNewest, ImportPow},
    {"Range", 11, kNewest, ImportRange},
    {"Reciprocal", kOldest, kNewest, ImportReciprocal},
    {"ReduceMax", kOldest, kNewest, ImportReduce},
    {"ReduceMean", kOldest, kNewest, ImportReduce},
    {"ReduceMin", kOldest, kNewest, ImportReduce},
    {"ReduceSum", kOldest, kNewest, ImportReduce},
    {"Relu", kOldest, kNewest, ImportPlainPointwise},
    {"Reshape", kOldest, kNewest, ImportReshape},
    {"Resize", 10, kNewest, ImportResize},
    {"Shape", kOldest, kNewest, ImportShape},
    {"Sigmoid", kOldest, kNewest, ImportPlainPointwise},
    {"Size", kOldest, kNewest, ImportSize},
    {"Slice", kOldest, kNewest, ImportSlice},
    {"Softmax", kOldest, kNewest, ImportSoftmax},
    {"Softplus", kOldest, kNewest, ImportPlainPointwise},
    {"SpaceToDepth", kOldest, kNewest, ImportSpaceToDepth},
    {"Split", kOldest, kNewest, ImportSplit},
    {"Sqrt", kOldest, kNewest, ImportPlainPointwise},
    {"Squeeze", kOldest, kNewest, ImportSqueeze},
    {"Sub", kOldest, kNewest, ImportBinary},
    {"Sum", kOldest, kNewest, ImportVariadic},
    {"Tanh", kOldest, kNewest, ImportPlainPointwise},
    {"Transpose", kOldest, kNewest, ImportTranspose},
    {"Unsqueeze", kOldest, kNewest, ImportUnsqueeze},
    {"Upsample", kOldest, 9, ImportUpsample},
    {"Where", 9, kNewest, ImportWhere},
});

constexpr bool IsSorted() {
  for (size_t i = 1; i < kImporters.size(); ++i) {
    if (!(kImporters[i - 1].op_type < kImporters[i].op_type)) {
      return false;
    }
  }
  return true;
}
static_assert(IsSorted(), "the table is searched by bisection");

}  // namespace

absl::Span<const OpImporter> AllImporters() { return kImporters; }

const OpImporter* FindImporter(absl::string_view op_type) {
  const auto found = std::lower_bound(
      kImporters.begin(), kImporters.end(), op_type,
      [](const OpImporter& row, absl::string_view name) { return row.op_type < name; });
  return found != kImporters.end() && found->op_type == op_type ? &*found : nullptr;
}

}  // namespace qb::onnx_import
