#include "core/package/graph_onnx_names.h"

#include "core/ops/convolution.h"
#include "core/ops/op_def.h"

namespace qb {

std::string FileOpType(const Node& node) {
  if (node.op() == OpKind::kConvolution) {
    const ConvolutionAttrs& attrs = node.attrs<ConvolutionAttrs>();
    const int64_t channels =
        node.operand(ConvolutionAttrs::kInput)->shape()[attrs.channel_last ? 3 : 1];
    if (attrs.group_number == 1) {
      return "Convolution";
    }
    return attrs.group_number == channels ? "DepthwiseConvolution" : "GroupConvolution";
  }
  return std::string(OpDefOf(node.op()).name);
}

absl::string_view OpNameOfFile(absl::string_view op_type) {
  if (op_type == "DepthwiseConvolution" || op_type == "GroupConvolution") {
    return OpDefOf(OpKind::kConvolution).name;
  }
  return op_type;
}

}  // namespace qb
