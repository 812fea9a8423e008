// ConvTranspose: 1-D (as 2-D of height 1), 2-D, and 3-D as a sum of 2-D forms.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/status_macros.h"
#include "core/frontends/onnx/importers/all_importers.h"
#include "core/frontends/onnx/importers/window.h"
#include "core/ops/movement.h"
#include "core/ops/transpose_convolution.h"

namespace qb::onnx_import {
namespace {

// Bounds that keep every product below within int64.
constexpr int64_t kLargest = int64_t{1} << 24;

absl::StatusOr<std::vector<int64_t>> KernelOf(NodeImporter& node, const Shape& input,
                                              const Shape& weights) {
  QB_ASSIGN_OR_RETURN(const std::vector<int64_t> declared, node.IntsAttr("kernel_shape"));
  if (weights.rank() != input.rank()) {
    return absl::InvalidArgumentError(absl::StrCat("input ", input.ToString(), " and weights ",
                                                   weights.ToString(), " differ in rank"));
  }
  const std::vector<int64_t> kernel(weights.begin() + 2, weights.end());
  if (!declared.empty() && declared != kernel) {
    return absl::InvalidArgumentError(
        absl::StrCat("kernel_shape is [", absl::StrJoin(declared, ", "),
                     "], the weights have shape ", weights.ToString()));
  }
  return kernel;
}

// `count` numbers from 0 on for the spatial axes; empty when the attribute is absent.
absl::StatusOr<std::vector<int64_t>> SpatialList(NodeImporter& node, absl::string_view name,
                                                 size_t count) {
  QB_ASSIGN_OR_RETURN(std::vector<int64_t> values, node.IntsAttr(name));
  if (name == "output_shape" && values.size() == count + 2) {
    values.erase(values.begin(),
                 values.begin() + 2);  // batch and channels, as some writers have it
  }
  const bool fits = values.empty() || values.size() == count;
  if (!fits || std::any_of(values.begin(), values.end(),
                           [](int64_t value) { return value < 0 || value > kLargest; })) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute '", name, "' is [", absl::StrJoin(values, ", "), "]; ", count,
                     " numbers from 0 to ", kLargest, " are accepted"));
  }
  return values;
}

struct Spread {
  Window window;
  int64_t out_padding[Window::kAxes] = {0, 0, 0};
};

// Paddings that give `result` elements along an axis. What is missing beyond all taps becomes
// additional output padding. Source: ONNX ConvTranspose, output_shape.
void FitResult(int64_t size, int64_t result, bool upper, size_t axis, Spread& spread) {
  Window& window = spread.window;
  const int64_t total = window.stride[axis] * (size - 1) + spread.out_padding[axis] +
                        (window.kernel[axis] - 1) * window.dilation[axis] + 1 - result;
  spread.out_padding[axis] += std::max<int64_t>(-total, 0);
  const int64_t cut = std::max<int64_t>(total, 0);
  const int64_t less = cut / 2;
  window.begin[axis] = upper ? less : cut - less;
  window.end[axis] = upper ? cut - less : less;
}

absl::StatusOr<Spread> ReadSpread(NodeImporter& node, const Shape& input,
                                  const std::vector<int64_t>& kernel) {
  Spread spread;
  QB_ASSIGN_OR_RETURN(spread.window, ReadWindow(node, input, kernel));
  const auto spatial = static_cast<size_t>(input.rank() - 2);
  QB_ASSIGN_OR_RETURN(const std::vector<int64_t> out_padding,
                      SpatialList(node, "output_padding", spatial));
  QB_ASSIGN_OR_RETURN(const std::vector<int64_t> out_shape,
                      SpatialList(node, "output_shape", spatial));
  QB_ASSIGN_OR_RETURN(const std::string auto_pad, node.StringAttr("auto_pad", "NOTSET"));
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  for (size_t i = 0; i < spatial; ++i) {
    const size_t axis = Window::kAxes - spatial + i;
    const int64_t size = input[static_cast<int64_t>(i) + 2];
    if (size > kLargest) {
      return absl::InvalidArgumentError(absl::StrCat("the input has shape ", input.ToString(),
                                                     "; up to ", kLargest,
                                                     " elements along an axis are accepted"));
    }
    spread.out_padding[axis] = out_padding.empty() ? 0 : out_padding[i];
    if (!out_shape.empty()) {
      FitResult(size, out_shape[i], auto_pad == "SAME_UPPER", axis, spread);
    } else if (same) {
      FitResult(size, size * spread.window.stride[axis], auto_pad == "SAME_UPPER", axis, spread);
    }
  }
  return spread;
}

// [C, M / groups, Kh, Kw] -> [M, C / groups, Kh, Kw].
absl::StatusOr<Node*> ResultChannelsFirst(NodeImporter& node, Node* weights, int64_t groups) {
  const Shape shape = weights->shape();
  TransposeAttrs swap;
  if (groups == 1) {
    swap.transpose_axes = {1, 0, 2, 3};
    return node.Add("weights_by_result", OpKind::kTranspose, {weights}, std::move(swap));
  }
  if (groups < 1 || shape[0] % groups != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "group is ", groups, ", which does not divide the ", shape[0], " channels of the weights"));
  }
  const int64_t depth = shape[0] / groups;
  QB_ASSIGN_OR_RETURN(Node * split, node.AddReshape("weights_by_group", weights,
                                                    {groups, depth, shape[1], shape[2], shape[3]}));
  swap.transpose_axes = {0, 2, 1, 3, 4};
  QB_ASSIGN_OR_RETURN(Node * swapped,
                      node.Add("weights_swapped", OpKind::kTranspose, {split}, std::move(swap)));
  return node.AddReshape("weights_by_result", swapped,
                         {groups * shape[1], depth, shape[2], shape[3]});
}

struct TransposeParts {
  Node* x = nullptr;        // [N, C, H, W]
  Node* weights = nullptr;  // [C, M / groups, Kh, Kw]
  Node* bias = nullptr;     // null: none
};

absl::StatusOr<Node*> AddTranspose(NodeImporter& node, absl::string_view role,
                                   const TransposeParts& parts, const Spread& spread,
                                   int64_t groups) {
  TransposeConvolutionAttrs attrs;
  SetWindow(spread.window, attrs);
  attrs.south_out_padding = spread.out_padding[Window::kHeight];
  attrs.east_out_padding = spread.out_padding[Window::kWidth];
  attrs.group_number = groups;
  QB_ASSIGN_OR_RETURN(Node * by_result, ResultChannelsFirst(node, parts.weights, groups));
  std::vector<Node*> operands = {parts.x, by_result};
  if (parts.bias != nullptr) {
    operands.push_back(parts.bias);
  }
  return node.Add(role, OpKind::kTransposeConvolution, operands, std::move(attrs));
}

// The frames [N, D, ...] `stride` apart, between zeros, moved `tap` steps back in the result.
absl::StatusOr<Node*> SpreadFrames(NodeImporter& node, const std::string& role, Node* frames,
                                   const Spread& spread, int64_t tap) {
  constexpr size_t kDepth = Window::kDepth;
  const Window& window = spread.window;
  const Shape shape = frames->shape();
  const int64_t stride = window.stride[kDepth];
  if (stride > 1) {
    Shape apart = {shape[0], shape[1], 1, shape[2], shape[3], shape[4]};
    QB_ASSIGN_OR_RETURN(frames, node.AddReshape(role + "_frames", frames, apart));
    PadAttrs zeros;
    zeros.padding_list.assign(12, 0);
    zeros.padding_list[8] = stride - 1;
    QB_ASSIGN_OR_RETURN(frames,
                        node.Add(role + "_apart", OpKind::kPad, {frames}, std::move(zeros)));
    QB_ASSIGN_OR_RETURN(
        frames, node.AddReshape(role + "_joined", frames,
                                {shape[0], shape[1] * stride, shape[2], shape[3], shape[4]}));
  }
  const int64_t step = window.dilation[kDepth];
  PadAttrs place;
  place.padding_list.assign(10, 0);
  place.padding_list[1] = tap * step - window.begin[kDepth];
  place.padding_list[6] = (window.kernel[kDepth] - 1 - tap) * step - window.end[kDepth] +
                          spread.out_padding[kDepth] - (stride - 1);
  return node.Add(role + "_placed", OpKind::kPad, {frames}, std::move(place));
}
// A 3-D form is the sum over the taps along the depth of 2-D forms on each frame.
absl::Status ImportVolume(NodeImporter& node, Node* input, Node* weights, const Spread& spread,
                          int64_t groups) {
  constexpr int64_t kMostTaps = 64;
  const int64_t taps = spread.window.kernel[Window::kDepth];
  if (taps > kMostTaps) {
    return absl::UnimplementedError(
        absl::StrCat("a kernel of depth ", taps, " is not supported; up to ", kMostTaps, " are"));
  }
  const Shape& x = input->shape();
  const Shape& w = weights->shape();
  QB_ASSIGN_OR_RETURN(Node * frames, node.AddTranspose("frames", input, {0, 2, 1, 3, 4}));
  TransposeParts parts;
  QB_ASSIGN_OR_RETURN(parts.x, node.AddReshape("images", frames, {x[0] * x[2], x[1], x[3], x[4]}));
  Node* sum = nullptr;
  for (int64_t tap = 0; tap < taps; ++tap) {
    const std::string role = absl::StrCat("tap_", tap);
    QB_ASSIGN_OR_RETURN(parts.weights,
                        node.AddSlice(role + "_weights", weights, 2, {tap, tap + 1}));
    QB_ASSIGN_OR_RETURN(parts.weights,
                        node.AddReshape(role + "_window", parts.weights, {w[0], w[1], w[3], w[4]}));
    QB_ASSIGN_OR_RETURN(Node * images, AddTranspose(node, role, parts, spread, groups));
    const Shape& y = images->shape();
    QB_ASSIGN_OR_RETURN(images,
                        node.AddReshape(role + "_volume", images, {x[0], x[2], y[1], y[2], y[3]}));
    QB_ASSIGN_OR_RETURN(images, SpreadFrames(node, role, images, spread, tap));
    if (sum != nullptr) {
      QB_ASSIGN_OR_RETURN(images, node.Add(role + "_sum", OpKind::kAdding, {sum, images}));
    }
    sum = images;
  }
  if (!node.HasInput(2)) {
    return node.Finish(node.AddTranspose("", sum, {0, 2, 1, 3, 4}));
  }
  QB_ASSIGN_OR_RETURN(Node * bias, node.Input(2, "B"));
  QB_ASSIGN_OR_RETURN(bias, node.AddReshape("bias", bias, {bias->shape().elements(), 1, 1, 1}));
  QB_ASSIGN_OR_RETURN(sum, node.AddTranspose("volume", sum, {0, 2, 1, 3, 4}));
  return node.Finish(node.Add("", OpKind::kAdding, {sum, bias}));
}

}  // namespace

absl::Status ImportConvTranspose(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "X"));
  QB_ASSIGN_OR_RETURN(Node * weights, node.Input(1, "W"));
  QB_ASSIGN_OR_RETURN(const std::vector<int64_t> kernel,
                      KernelOf(node, input->shape(), weights->shape()));
  QB_ASSIGN_OR_RETURN(const Spread spread, ReadSpread(node, input->shape(), kernel));
  QB_ASSIGN_OR_RETURN(const int64_t groups, node.IntAttr("group", 1));
  if (input->shape().rank() == 5) {
    return ImportVolume(node, input, weights, spread, groups);
  }
  TransposeParts parts;
  QB_ASSIGN_OR_RETURN(parts.x, AsImage(node, "x", input));
  QB_ASSIGN_OR_RETURN(parts.weights, AsImage(node, "weights", weights));
  if (node.HasInput(2)) {
    QB_ASSIGN_OR_RETURN(parts.bias, node.Input(2, "B"));
  }
  const bool flat = input->shape().rank() == 3;
  QB_ASSIGN_OR_RETURN(Node * image, AddTranspose(node, flat ? "2d" : "", parts, spread, groups));
  if (!flat) {
    return node.Finish(image);
  }
  const Shape& shape = image->shape();
  return node.Finish(node.AddReshape("", image, {shape[0], shape[1], shape[3]}));
}

}  // namespace qb::onnx_import
