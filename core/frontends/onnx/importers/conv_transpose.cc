// ConvTranspose: 1-D (as 2-D of height 1) and 2-D.
#include <algorithm>
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
  int64_t out_padding[2] = {0, 0};
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
    const size_t axis = 2 - spatial + i;
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

}  // namespace

absl::Status ImportConvTranspose(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "X"));
  QB_ASSIGN_OR_RETURN(Node * weights, node.Input(1, "W"));
  QB_ASSIGN_OR_RETURN(Node * image, AsImage(node, "x", input));
  QB_ASSIGN_OR_RETURN(const std::vector<int64_t> kernel,
                      KernelOf(node, input->shape(), weights->shape()));
  QB_ASSIGN_OR_RETURN(Node * image_weights, AsImage(node, "weights", weights));
  QB_ASSIGN_OR_RETURN(const Spread spread, ReadSpread(node, input->shape(), kernel));
  auto attrs = std::make_unique<TransposeConvolutionAttrs>();
  SetWindow(spread.window, *attrs);
  attrs->south_out_padding = spread.out_padding[0];
  attrs->east_out_padding = spread.out_padding[1];
  QB_ASSIGN_OR_RETURN(attrs->group_number, node.IntAttr("group", 1));
  QB_ASSIGN_OR_RETURN(Node * by_result,
                      ResultChannelsFirst(node, image_weights, attrs->group_number));
  std::vector<Node*> operands = {image, by_result};
  if (node.HasInput(2)) {
    QB_ASSIGN_OR_RETURN(Node * bias, node.Input(2, "B"));
    operands.push_back(bias);
  }
  return FinishImage(node, input, OpKind::kTransposeConvolution, operands, std::move(attrs));
}

}  // namespace qb::onnx_import
