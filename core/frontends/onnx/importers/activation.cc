// Activations with parameters of their own, and those that are written with other operators.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/frontends/onnx/importers/all_importers.h"
#include "core/ops/pointwise.h"

namespace qb::onnx_import {

absl::Status ImportCelu(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "X"));
  CeluAttrs attrs;
  QB_ASSIGN_OR_RETURN(attrs.alpha, node.FloatAttr("alpha", 1.0f));
  if (attrs.alpha == 0.0f) {
    return absl::InvalidArgumentError("alpha is 0; any other number is accepted");
  }
  return node.Finish(node.Add("", OpKind::kCelu, {input}, std::move(attrs)));
}

absl::Status ImportSelu(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "X"));
  SeluAttrs attrs;
  QB_ASSIGN_OR_RETURN(attrs.alpha, node.FloatAttr("alpha", attrs.alpha));
  QB_ASSIGN_OR_RETURN(attrs.gamma, node.FloatAttr("gamma", attrs.gamma));
  return node.Finish(node.Add("", OpKind::kSelu, {input}, std::move(attrs)));
}

absl::Status ImportGelu(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "X"));
  QB_ASSIGN_OR_RETURN(const std::string approximate, node.StringAttr("approximate", "none"));
  if (approximate != "none" && approximate != "tanh") {
    return absl::InvalidArgumentError(
        absl::StrCat("approximate is '", approximate, "'; none and tanh are accepted"));
  }
  GeluAttrs attrs;
  attrs.approximate = approximate == "tanh";
  return node.Finish(node.Add("", OpKind::kGelu, {input}, std::move(attrs)));
}

absl::Status ImportShrink(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "input"));
  ShrinkAttrs attrs;
  QB_ASSIGN_OR_RETURN(attrs.lambd, node.FloatAttr("lambd", 0.5f));
  QB_ASSIGN_OR_RETURN(attrs.bias, node.FloatAttr("bias", 0.0f));
  return node.Finish(node.Add("", OpKind::kShrink, {input}, std::move(attrs)));
}

absl::Status ImportThresholdedRelu(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "X"));
  ThresholdedReluAttrs attrs;
  QB_ASSIGN_OR_RETURN(attrs.alpha, node.FloatAttr("alpha", 1.0f));
  return node.Finish(node.Add("", OpKind::kThresholdedRelu, {input}, std::move(attrs)));
}

}  // namespace qb::onnx_import
