// The table of operators that can be imported.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include "core/frontends/onnx/node_importer.h"

namespace qb::onnx_import {

struct OpImporter {
  absl::string_view op_type;
  int64_t first_opset;  // the first supported one that has the operator
  int64_t last_opset;
  absl::Status (*import)(NodeImporter& node);
};

// Sorted by op_type.
absl::Span<const OpImporter> AllImporters();
// Null when there is none.
const OpImporter* FindImporter(absl::string_view op_type);

// convolution.cc
absl::Status ImportConv(NodeImporter& node);
absl::Status ImportConvTranspose(NodeImporter& node);
// pooling.cc
absl::Status ImportAveragePool(NodeImporter& node);
absl::Status ImportMaxPool(NodeImporter& node);
absl::Status ImportGlobalAveragePool(NodeImporter& node);
absl::Status ImportGlobalMaxPool(NodeImporter& node);
absl::Status ImportLpPool(NodeImporter& node);
absl::Status ImportGlobalLpPool(NodeImporter& node);
// matmul.cc
absl::Status ImportGemm(NodeImporter& node);
absl::Status ImportMatMul(NodeImporter& node);
// normalization.cc
absl::Status ImportBatchNormalization(NodeImporter& node);
absl::Status ImportSoftmax(NodeImporter& node);
absl::Status ImportLogSoftmax(NodeImporter& node);
// pointwise.cc
absl::Status ImportPlainPointwise(NodeImporter& node);  // without attributes: Relu, Exp, ...
absl::Status ImportCast(NodeImporter& node);
absl::Status ImportClip(NodeImporter& node);
absl::Status ImportElu(NodeImporter& node);
absl::Status ImportHardSigmoid(NodeImporter& node);
absl::Status ImportLeakyRelu(NodeImporter& node);
absl::Status ImportPRelu(NodeImporter& node);
absl::Status ImportReciprocal(NodeImporter& node);
absl::Status ImportIdentity(NodeImporter& node);
absl::Status ImportDropout(NodeImporter& node);
// elementwise.cc
absl::Status ImportBinary(NodeImporter& node);  // Add, Sub, Mul, Div
absl::Status ImportPow(NodeImporter& node);
absl::Status ImportVariadic(NodeImporter& node);  // Max, Min, Sum
absl::Status ImportMean(NodeImporter& node);
// reduce.cc
absl::Status ImportReduce(NodeImporter& node);
absl::Status ImportReduceLogSumExp(NodeImporter& node);
// concat_split.cc
absl::Status ImportConcat(NodeImporter& node);
absl::Status ImportSplit(NodeImporter& node);
absl::Status ImportSlice(NodeImporter& node);
// reshape.cc
absl::Status ImportReshape(NodeImporter& node);
absl::Status ImportFlatten(NodeImporter& node);
absl::Status ImportSqueeze(NodeImporter& node);
absl::Status ImportUnsqueeze(NodeImporter& node);
// movement.cc
absl::Status ImportTranspose(NodeImporter& node);
absl::Status ImportPad(NodeImporter& node);
absl::Status ImportGather(NodeImporter& node);
absl::Status ImportExpand(NodeImporter& node);
absl::Status ImportDepthToSpace(NodeImporter& node);
absl::Status ImportSpaceToDepth(NodeImporter& node);
// resize.cc
absl::Status ImportResize(NodeImporter& node);
absl::Status ImportUpsample(NodeImporter& node);
// constants.cc
absl::Status ImportConstant(NodeImporter& node);
absl::Status ImportConstantOfShape(NodeImporter& node);
absl::Status ImportRange(NodeImporter& node);
absl::Status ImportShape(NodeImporter& node);
absl::Status ImportSize(NodeImporter& node);
// logic.cc
absl::Status ImportComparison(NodeImporter& node);  // Equal, Less, ...
absl::Status ImportLogical(NodeImporter& node);     // And, Or, Xor
absl::Status ImportNot(NodeImporter& node);
absl::Status ImportBitwise(NodeImporter& node);  // BitwiseAnd, BitwiseOr, BitwiseXor
absl::Status ImportBitwiseNot(NodeImporter& node);
absl::Status ImportBitShift(NodeImporter& node);
absl::Status ImportMod(NodeImporter& node);
absl::Status ImportWhere(NodeImporter& node);
absl::Status ImportIsNaN(NodeImporter& node);
absl::Status ImportIsInf(NodeImporter& node);
// activation.cc
absl::Status ImportCelu(NodeImporter& node);
absl::Status ImportGelu(NodeImporter& node);
absl::Status ImportSelu(NodeImporter& node);
absl::Status ImportShrink(NodeImporter& node);
absl::Status ImportThresholdedRelu(NodeImporter& node);
// sample_normalization.cc
absl::Status ImportLayerNormalization(NodeImporter& node);
absl::Status ImportInstanceNormalization(NodeImporter& node);
absl::Status ImportGroupNormalization(NodeImporter& node);
absl::Status ImportLrn(NodeImporter& node);
absl::Status ImportLpNormalization(NodeImporter& node);
absl::Status ImportMeanVarianceNormalization(NodeImporter& node);
// search.cc
absl::Status ImportArg(NodeImporter& node);  // ArgMax, ArgMin
absl::Status ImportTopK(NodeImporter& node);
absl::Status ImportCumSum(NodeImporter& node);
absl::Status ImportHardmax(NodeImporter& node);
// indexing.cc
absl::Status ImportGatherElements(NodeImporter& node);
absl::Status ImportGatherND(NodeImporter& node);
absl::Status ImportScatterElements(NodeImporter& node);
absl::Status ImportScatterND(NodeImporter& node);
absl::Status ImportReverseSequence(NodeImporter& node);
// selection.cc
absl::Status ImportTrilu(NodeImporter& node);
absl::Status ImportOneHot(NodeImporter& node);
absl::Status ImportEyeLike(NodeImporter& node);
absl::Status ImportTile(NodeImporter& node);
absl::Status ImportCastLike(NodeImporter& node);
// counted.cc
absl::Status ImportNonZero(NodeImporter& node);
absl::Status ImportCompress(NodeImporter& node);
absl::Status ImportUnique(NodeImporter& node);
absl::Status ImportNonMaxSuppression(NodeImporter& node);
// sampling.cc
absl::Status ImportGridSample(NodeImporter& node);
absl::Status ImportAffineGrid(NodeImporter& node);
absl::Status ImportRoiAlign(NodeImporter& node);
absl::Status ImportMaxUnpool(NodeImporter& node);
absl::Status ImportDet(NodeImporter& node);
// losses.cc
absl::Status ImportNegativeLogLikelihoodLoss(NodeImporter& node);
absl::Status ImportSoftmaxCrossEntropyLoss(NodeImporter& node);
// signal.cc
absl::Status ImportDft(NodeImporter& node);
absl::Status ImportStft(NodeImporter& node);
absl::Status ImportWindowFunction(NodeImporter& node);  // HannWindow, HammingWindow, BlackmanWindow
absl::Status ImportMelWeightMatrix(NodeImporter& node);
// patches.cc
absl::Status ImportCenterCropPad(NodeImporter& node);
absl::Status ImportCol2Im(NodeImporter& node);
// einsum.cc
absl::Status ImportEinsum(NodeImporter& node);
// recurrent.cc
absl::Status ImportRecurrent(NodeImporter& node);  // LSTM, GRU, RNN
// control_flow.cc
absl::Status ImportIf(NodeImporter& node);
absl::Status ImportLoop(NodeImporter& node);
absl::Status ImportScan(NodeImporter& node);
// quantized.cc
absl::Status ImportQuantizeLinear(NodeImporter& node);
absl::Status ImportDequantizeLinear(NodeImporter& node);
absl::Status ImportDynamicQuantizeLinear(NodeImporter& node);
absl::Status ImportMatMulInteger(NodeImporter& node);
absl::Status ImportQLinearMatMul(NodeImporter& node);
absl::Status ImportConvInteger(NodeImporter& node);
absl::Status ImportQLinearConv(NodeImporter& node);

}  // namespace qb::onnx_import
