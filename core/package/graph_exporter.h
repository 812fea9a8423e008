// The state of one export of a graph. Internal to core/package: each function below writes one
// family of operators.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

#include "core/ir/graph.h"
#include "core/ops/activation.h"
#include "core/package/image_layout.h"
#include "core/package/onnx_builder.h"

namespace qb {

class GraphExporter {
 public:
  explicit GraphExporter(OnnxBuilder& builder) : builder_(builder), values_(builder) {}

  OnnxBuilder& builder() { return builder_; }
  int64_t opset() const { return builder_.opset(); }
  LayoutTable<const Node*>& values() { return values_; }

  // The operand as the graph has it; constants are written when first asked for.
  std::string Plain(const Node* node);
  // The same of an image (rank 4, channels last), channels first.
  std::string ChannelsFirst(const Node* node);
  // True when the node's work is best written channels first: all its varying operands of rank 4
  // exist in that layout. Precondition: an operator that does not care about the layout.
  bool PrefersChannelsFirst(const Node& node) const;
  // An operand of elementwise work that is written channels first: lower ranks get leading axes.
  std::string BroadcastChannelsFirst(const Node* node);
  // Records the node's value in the layout that it was written in.
  void Set(const Node* node, bool channels_first, std::string value);
  // The value after a fused activation.
  std::string Activated(const Activation& activation, std::string value);

 private:
  OnnxBuilder& builder_;
  LayoutTable<const Node*> values_;
};

absl::Status NoOnnxForm(const Node& node, absl::string_view what);

// export_images.cc
absl::Status ExportConvolution(GraphExporter& out, const Node& node);
absl::Status ExportTransposeConvolution(GraphExporter& out, const Node& node);
absl::Status ExportPooling(GraphExporter& out, const Node& node);
absl::Status ExportGlobalPooling(GraphExporter& out, const Node& node);
absl::Status ExportResize(GraphExporter& out, const Node& node);
absl::Status ExportDepthSpace(GraphExporter& out, const Node& node);
absl::Status ExportBatchnorm(GraphExporter& out, const Node& node);
// export_arithmetic.cc
absl::Status ExportPointwise(GraphExporter& out, const Node& node);
absl::Status ExportCast(GraphExporter& out, const Node& node);
absl::Status ExportElementwise(GraphExporter& out, const Node& node);
absl::Status ExportPRelu(GraphExporter& out, const Node& node);
absl::Status ExportMatMul(GraphExporter& out, const Node& node);
absl::Status ExportSoftmax(GraphExporter& out, const Node& node);
absl::Status ExportReduce(GraphExporter& out, const Node& node);
// export_normalization.cc
absl::Status ExportLayerNormalization(GraphExporter& out, const Node& node);
absl::Status ExportRmsNormalization(GraphExporter& out, const Node& node);
// export_logic.cc
absl::Status ExportTensorCmp(GraphExporter& out, const Node& node);
absl::Status ExportLogical(GraphExporter& out, const Node& node);
absl::Status ExportWhere(GraphExporter& out, const Node& node);
absl::Status ExportMod(GraphExporter& out, const Node& node);
absl::Status ExportArg(GraphExporter& out, const Node& node);
absl::Status ExportCumSum(GraphExporter& out, const Node& node);
absl::Status ExportNonMaxSuppression(GraphExporter& out, const Node& node);
absl::Status ExportTrim(GraphExporter& out, const Node& node);
absl::Status ExportCountUsed(GraphExporter& out, const Node& node);
// export_movement.cc
absl::Status ExportReshape(GraphExporter& out, const Node& node);
absl::Status ExportTranspose(GraphExporter& out, const Node& node);
absl::Status ExportConcatenate(GraphExporter& out, const Node& node);
absl::Status ExportSlice(GraphExporter& out, const Node& node);
absl::Status ExportPad(GraphExporter& out, const Node& node);
absl::Status ExportExpand(GraphExporter& out, const Node& node);
absl::Status ExportGather(GraphExporter& out, const Node& node);
absl::Status ExportGatherElements(GraphExporter& out, const Node& node);
absl::Status ExportGatherND(GraphExporter& out, const Node& node);
absl::Status ExportScatterElements(GraphExporter& out, const Node& node);
absl::Status ExportScatterND(GraphExporter& out, const Node& node);

}  // namespace qb
