// Conv: 1-D (as 2-D of height 1), 2-D, and 3-D as a sum of 2-D convolutions.
#include "core/ops/convolution.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/status_macros.h"
#include "core/frontends/onnx/importers/all_importers.h"
#include "core/frontends/onnx/importers/window.h"
#include "core/ops/movement.h"

namespace qb::onnx_import {
namespace {

absl::StatusOr<std::vector<int64_t>> KernelOf(NodeImporter& node, const Node* input,
                                              const Node* weights) {
  QB_ASSIGN_OR_RETURN(const std::vector<int64_t> declared, node.IntsAttr("kernel_shape"));
  const Shape& shape = weights->shape();
  if (shape.rank() != input->shape().rank()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input ", input->shape().ToString(), " and weights ", shape.ToString(), " differ in rank"));
  }
  const std::vector<int64_t> kernel(shape.begin() + 2, shape.end());
  if (!declared.empty() && declared != kernel) {
    return absl::InvalidArgumentError(absl::StrCat("kernel_shape is [",
                                                   absl::StrJoin(declared, ", "),
                                                   "], the weights have shape ", shape.ToString()));
  }
  return kernel;
}
// [N, D, C, H, W] with the padding along the depth in it.
absl::StatusOr<Node*> PaddedFrames(NodeImporter& node, Node* input, const Window& window) {
  QB_ASSIGN_OR_RETURN(Node * frames, node.AddTranspose("frames", input, {0, 2, 1, 3, 4}));
  PadAttrs pad;
  pad.padding_list.assign(10, 0);
  pad.padding_list[1] = window.begin[Window::kDepth];
  pad.padding_list[6] = window.end[Window::kDepth];
  return node.Add("padded", OpKind::kPad, {frames}, std::move(pad));
}

// The sum over the taps along the depth of 2-D convolutions on each frame.
absl::Status ImportVolume(NodeImporter& node, Node* input, Node* weights, const Window& window,
                          const ConvolutionAttrs& attrs) {
  constexpr int64_t kMostTaps = 64;
  const int64_t taps = window.kernel[Window::kDepth];
  const int64_t step = window.dilation[Window::kDepth];
  const int64_t stride = window.stride[Window::kDepth];
  QB_ASSIGN_OR_RETURN(Node * frames, PaddedFrames(node, input, window));
  const Shape x = frames->shape();
  const Shape& w = weights->shape();
  const int64_t travel = x[1] - (taps - 1) * step - 1;
  if (taps > kMostTaps || travel < 0) {
    return absl::UnimplementedError(
        absl::StrCat("a kernel of depth ", taps, " on a padded depth of ", x[1],
                     " is not supported; up to ", kMostTaps, " within the input are"));
  }
  const int64_t results = travel / stride + 1;
  Node* sum = nullptr;
  for (int64_t tap = 0; tap < taps; ++tap) {
    const std::string role = absl::StrCat("tap_", tap);
    QB_ASSIGN_OR_RETURN(
        Node * images,
        node.AddSlice(role + "_frames", frames, 1,
                      {tap * step, tap * step + (results - 1) * stride + 1, stride}));
    QB_ASSIGN_OR_RETURN(
        images, node.AddReshape(role + "_images", images, {x[0] * results, x[2], x[3], x[4]}));
    QB_ASSIGN_OR_RETURN(Node * part, node.AddSlice(role + "_weights", weights, 2, {tap, tap + 1}));
    QB_ASSIGN_OR_RETURN(part, node.AddReshape(role + "_window", part, {w[0], w[1], w[3], w[4]}));
    std::vector<Node*> operands = {images, part};
    if (tap == 0 && node.HasInput(2)) {
      QB_ASSIGN_OR_RETURN(Node * bias, node.Input(2, "B"));
      operands.push_back(bias);
    }
    QB_ASSIGN_OR_RETURN(Node * product, node.Add(role, OpKind::kConvolution, operands, attrs));
    if (sum != nullptr) {
      QB_ASSIGN_OR_RETURN(product, node.Add(role + "_sum", OpKind::kAdding, {sum, product}));
    }
    sum = product;
  }
  const Shape& y = sum->shape();
  QB_ASSIGN_OR_RETURN(sum, node.AddReshape("volume", sum, {x[0], results, y[1], y[2], y[3]}));
  return node.Finish(node.AddTranspose("", sum, {0, 2, 1, 3, 4}));
}

}  // namespace

absl::Status ImportConv(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "X"));
  QB_ASSIGN_OR_RETURN(Node * weights, node.Input(1, "W"));
  QB_ASSIGN_OR_RETURN(const std::vector<int64_t> kernel, KernelOf(node, input, weights));
  QB_ASSIGN_OR_RETURN(const Window window, ReadWindow(node, input->shape(), kernel));
  auto attrs = std::make_unique<ConvolutionAttrs>();
  SetWindow(window, *attrs);
  QB_ASSIGN_OR_RETURN(attrs->group_number, node.IntAttr("group", 1));
  if (input->shape().rank() == 5) {
    return ImportVolume(node, input, weights, window, *attrs);
  }
  QB_ASSIGN_OR_RETURN(Node * image, AsImage(node, "x", input));
  QB_ASSIGN_OR_RETURN(Node * image_weights, AsImage(node, "weights", weights));
  std::vector<Node*> operands = {image, image_weights};
  if (node.HasInput(2)) {
    QB_ASSIGN_OR_RETURN(Node * bias, node.Input(2, "B"));
    operands.push_back(bias);
  }
  return FinishImage(node, input, OpKind::kConvolution, operands, std::move(attrs));
}

}  // namespace qb::onnx_import
