// Operators on images, which ONNX has channels first only.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/ops/convolution.h"
#include "core/ops/movement.h"
#include "core/ops/normalization.h"
#include "core/ops/pooling.h"
#include "core/ops/transpose_convolution.h"
#include "core/package/graph_exporter.h"

namespace qb {
namespace {

using Ints = std::vector<int64_t>;

std::string Image(GraphExporter& out, const Node* node, bool channel_last) {
  return channel_last ? out.ChannelsFirst(node) : out.Plain(node);
}

template <typename Attrs>
std::vector<NamedAttr> WindowAttributes(const Attrs& a) {
  return {{"kernel_shape", Ints{a.h_kernel, a.w_kernel}},
          {"strides", Ints{a.h_stride, a.w_stride}},
          {"dilations", Ints{a.h_dilation, a.w_dilation}},
          {"pads", Ints{a.north_padding, a.west_padding, a.south_padding, a.east_padding}}};
}

// A value that another operator computes, in a new order of its axes.
std::string Reordered(GraphExporter& out, const Node* node, const Ints& axes) {
  if (node->is_constant()) {
    return out.builder().AddConstant(node->name(), PermuteAxes(node->constant(), axes));
  }
  return out.builder().AddNode("Transpose", absl::StrCat(node->name(), "/order"), {out.Plain(node)},
                               {{"perm", axes}});
}

}  // namespace

absl::Status ExportConvolution(GraphExporter& out, const Node& node) {
  const auto& attrs = node.attrs<ConvolutionAttrs>();
  const Node* weights = node.operand(ConvolutionAttrs::kWeights);
  std::vector<std::string> operands = {
      Image(out, node.operand(ConvolutionAttrs::kInput), attrs.channel_last),
      attrs.channel_last ? Reordered(out, weights, {0, 3, 1, 2}) : out.Plain(weights)};
  if (node.operand_count() > ConvolutionAttrs::kBias) {
    operands.push_back(out.Plain(node.operand(ConvolutionAttrs::kBias)));
  }
  std::vector<NamedAttr> attributes = WindowAttributes(attrs);
  attributes.push_back({"group", attrs.group_number});
  out.Set(&node, attrs.channel_last,
          out.Activated(attrs.activation,
                        out.builder().AddNode("Conv", node.name(), operands, attributes)));
  return absl::OkStatus();
}

absl::Status ExportTransposeConvolution(GraphExporter& out, const Node& node) {
  using Attrs = TransposeConvolutionAttrs;
  const auto& attrs = node.attrs<Attrs>();
  const Node* weights = node.operand(Attrs::kWeights);
  if (!weights->is_constant()) {
    return NoOnnxForm(node, "weights that another operator computes");
  }
  // [M, C / g, Kh, Kw] to [C, M / g, Kh, Kw]: by group [M/g, C/g] is swapped.
  Tensor first =
      attrs.channel_last ? PermuteAxes(weights->constant(), {0, 3, 1, 2}) : weights->constant();
  const int64_t groups = attrs.group_number;
  const int64_t m = first.shape()[0] / groups;
  const int64_t c = first.shape()[1];
  const Tensor grouped = first.Reshaped(Shape{groups, m, c, first.shape()[2], first.shape()[3]});
  const Tensor swapped = PermuteAxes(grouped, {0, 2, 1, 3, 4})
                             .Reshaped(Shape{groups * c, m, first.shape()[2], first.shape()[3]});
  std::vector<std::string> operands = {Image(out, node.operand(Attrs::kInput), attrs.channel_last),
                                       out.builder().AddConstant(weights->name(), swapped)};
  if (node.operand_count() > Attrs::kBias) {
    operands.push_back(out.Plain(node.operand(Attrs::kBias)));
  }
  std::vector<NamedAttr> attributes = WindowAttributes(attrs);
  attributes.push_back({"group", groups});
  attributes.push_back({"output_padding", Ints{attrs.south_out_padding, attrs.east_out_padding}});
  out.Set(&node, attrs.channel_last,
          out.Activated(attrs.activation,
                        out.builder().AddNode("ConvTranspose", node.name(), operands, attributes)));
  return absl::OkStatus();
}

absl::Status ExportPooling(GraphExporter& out, const Node& node) {
  const auto& attrs = node.attrs<PoolingAttrs>();
  std::vector<NamedAttr> attributes = WindowAttributes(attrs);
  attributes.push_back({"ceil_mode", int64_t{attrs.is_ceil_mode ? 1 : 0}});
  const bool is_max = attrs.pool_type == PoolType::kMax;
  if (!is_max) {
    if (attrs.h_dilation != 1 || attrs.w_dilation != 1) {
      return NoOnnxForm(node, "an average with dilation");
    }
    attributes.erase(attributes.begin() + 2);  // AveragePool has no dilations before opset 19
    attributes.push_back({"count_include_pad", int64_t{attrs.is_include_pad ? 1 : 0}});
  }
  out.Set(&node, attrs.channel_last,
          out.builder().AddNode(is_max ? "MaxPool" : "AveragePool", node.name(),
                                {Image(out, node.operand(0), attrs.channel_last)}, attributes));
  return absl::OkStatus();
}

absl::Status ExportGlobalPooling(GraphExporter& out, const Node& node) {
  const bool last = node.attrs<GlobalAveragePoolingAttrs>().channel_last;
  out.Set(
      &node, last,
      out.builder().AddNode("GlobalAveragePool", node.name(), {Image(out, node.operand(0), last)}));
  return absl::OkStatus();
}

absl::Status ExportResize(GraphExporter& out, const Node& node) {
  const auto& attrs = node.attrs<ResizeAttrs>();
  if (!IsPlainResize(attrs)) {
    return NoOnnxForm(node, "antialias, exclude_outside or tf_crop_and_resize");
  }
  const bool first = out.PrefersChannelsFirst(node);
  Ints sizes = node.shape().dims();
  std::vector<float> scales = attrs.scales;
  if (first) {
    sizes = {sizes[0], sizes[3], sizes[1], sizes[2]};
    if (!scales.empty()) {
      scales = {scales[0], scales[3], scales[1], scales[2]};
    }
  }
  OnnxBuilder& builder = out.builder();
  const std::string image = first ? out.ChannelsFirst(node.operand(0)) : out.Plain(node.operand(0));
  std::vector<std::string> operands = {image, ""};
  // Scales enter the coordinates, so where the model had them they are kept.
  if (scales.empty()) {
    operands.push_back("");
    operands.push_back(builder.AddInt64s(absl::StrCat(node.name(), "/sizes"), sizes));
  } else {
    operands.push_back(builder.AddFloats(absl::StrCat(node.name(), "/scales"),
                                         {static_cast<int64_t>(scales.size())}, scales));
  }
  out.Set(&node, first,
          builder.AddNode("Resize", node.name(), operands,
                          {{"mode", std::string(NameOfEnum(attrs.mode))},
                           {"coordinate_transformation_mode", attrs.transform_mode},
                           {"nearest_mode", attrs.nearest_mode},
                           {"cubic_coeff_a", attrs.cubic_coeff_a}}));
  return absl::OkStatus();
}

absl::Status ExportDepthSpace(GraphExporter& out, const Node& node) {
  const auto& attrs = node.attrs<DepthSpaceAttrs>();
  std::vector<NamedAttr> attributes = {{"blocksize", attrs.block_size}};
  const bool to_space = node.op() == OpKind::kDepthToSpace;
  if (to_space) {
    attributes.push_back({"mode", std::string(attrs.order == DepthOrder::kCrd ? "CRD" : "DCR")});
  }
  out.Set(&node, attrs.channel_last,
          out.builder().AddNode(to_space ? "DepthToSpace" : "SpaceToDepth", node.name(),
                                {Image(out, node.operand(0), attrs.channel_last)}, attributes));
  return absl::OkStatus();
}

absl::Status ExportBatchnorm(GraphExporter& out, const Node& node) {
  const auto& attrs = node.attrs<BatchnormAttrs>();
  const bool last = node.shape().rank() == 4 && attrs.axis == 3;
  if (!last && attrs.axis != 1) {
    return NoOnnxForm(
        node, absl::StrCat("channels along axis ", attrs.axis, " of ", node.shape().ToString(),
                           "; the second axis, or the last "
                           "one of an image, is accepted"));
  }
  std::vector<std::string> operands = {Image(out, node.operand(BatchnormAttrs::kInput), last)};
  for (int64_t i = BatchnormAttrs::kGamma; i <= BatchnormAttrs::kVariance; ++i) {
    operands.push_back(out.Plain(node.operand(i)));
  }
  out.Set(&node, last,
          out.builder().AddNode("BatchNormalization", node.name(), operands,
                                {{"epsilon", attrs.epsilon}}));
  return absl::OkStatus();
}

}  // namespace qb
