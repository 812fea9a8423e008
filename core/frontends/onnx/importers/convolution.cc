// Conv: 1-D (as 2-D of height 1) and 2-D.
#include "core/ops/convolution.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/status_macros.h"
#include "core/frontends/onnx/importers/all_importers.h"
#include "core/frontends/onnx/importers/window.h"

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

}  // namespace

absl::Status ImportConv(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "X"));
  QB_ASSIGN_OR_RETURN(Node * weights, node.Input(1, "W"));
  QB_ASSIGN_OR_RETURN(Node * image, AsImage(node, "x", input));
  QB_ASSIGN_OR_RETURN(const std::vector<int64_t> kernel, KernelOf(node, input, weights));
  QB_ASSIGN_OR_RETURN(Node * image_weights, AsImage(node, "weights", weights));
  QB_ASSIGN_OR_RETURN(const Window window, ReadWindow(node, input->shape(), kernel));
  auto attrs = std::make_unique<ConvolutionAttrs>();
  SetWindow(window, *attrs);
  QB_ASSIGN_OR_RETURN(attrs->group_number, node.IntAttr("group", 1));
  std::vector<Node*> operands = {image, image_weights};
  if (node.HasInput(2)) {
    QB_ASSIGN_OR_RETURN(Node * bias, node.Input(2, "B"));
    operands.push_back(bias);
  }
  return FinishImage(node, input, OpKind::kConvolution, operands, std::move(attrs));
}

}  // namespace qb::onnx_import
