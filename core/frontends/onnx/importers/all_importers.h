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
// constant_logic.cc: on constants only
absl::Status ImportComparison(NodeImporter& node);  // Equal, Less, And, ...
absl::Status ImportNot(NodeImporter& node);
absl::Status ImportWhere(NodeImporter& node);

}  // namespace qb::onnx_import
