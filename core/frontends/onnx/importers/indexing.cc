// GatherElements, GatherND, Scatter, ScatterElements, ScatterND, ReverseSequence.
#include "core/ops/indexing.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/frontends/onnx/importers/all_importers.h"

namespace qb::onnx_import {
namespace {

absl::StatusOr<ScatterReduction> ReadReduction(NodeImporter& node) {
  if (node.opset() < 16) {
    return ScatterReduction::kNone;
  }
  QB_ASSIGN_OR_RETURN(const std::string text, node.StringAttr("reduction", "none"));
  for (const auto& [reduction, name] : EnumNames<ScatterReduction>::kNames) {
    if (text == name) {
      return reduction;
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("reduction is '", text, "'; none, add, mul, max and min are accepted"));
}

}  // namespace

absl::Status ImportGatherElements(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * data, node.Input(0, "data"));
  QB_ASSIGN_OR_RETURN(Node * indices, node.Input(1, "indices"));
  QB_ASSIGN_OR_RETURN(const int64_t axis, node.IntAttr("axis", 0));
  GatherAttrs attrs;
  QB_ASSIGN_OR_RETURN(attrs.axis, NormalizeAxis(axis, data->shape().rank()));
  return node.Finish(node.Add("", OpKind::kGatherElements, {data, indices}, std::move(attrs)));
}

absl::Status ImportGatherND(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * data, node.Input(0, "data"));
  QB_ASSIGN_OR_RETURN(Node * indices, node.Input(1, "indices"));
  GatherNDAttrs attrs;
  if (node.opset() >= 12) {
    QB_ASSIGN_OR_RETURN(attrs.batch_dims, node.IntAttr("batch_dims", 0));
  }
  return node.Finish(node.Add("", OpKind::kGatherND, {data, indices}, std::move(attrs)));
}

absl::Status ImportScatterElements(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * data, node.Input(0, "data"));
  QB_ASSIGN_OR_RETURN(Node * indices, node.Input(1, "indices"));
  QB_ASSIGN_OR_RETURN(Node * updates, node.Input(2, "updates"));
  QB_ASSIGN_OR_RETURN(const int64_t axis, node.IntAttr("axis", 0));
  ScatterElementsAttrs attrs;
  QB_ASSIGN_OR_RETURN(attrs.axis, NormalizeAxis(axis, data->shape().rank()));
  QB_ASSIGN_OR_RETURN(attrs.reduction, ReadReduction(node));
  return node.Finish(
      node.Add("", OpKind::kScatterElements, {data, indices, updates}, std::move(attrs)));
}

absl::Status ImportScatterND(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * data, node.Input(0, "data"));
  QB_ASSIGN_OR_RETURN(Node * indices, node.Input(1, "indices"));
  QB_ASSIGN_OR_RETURN(Node * updates, node.Input(2, "updates"));
  ScatterNDAttrs attrs;
  QB_ASSIGN_OR_RETURN(attrs.reduction, ReadReduction(node));
  return node.Finish(node.Add("", OpKind::kScatterND, {data, indices, updates}, std::move(attrs)));
}

absl::Status ImportReverseSequence(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * data, node.Input(0, "input"));
  QB_ASSIGN_OR_RETURN(Node * lengths, node.Input(1, "sequence_lens"));
  ReverseSequenceAttrs attrs;
  QB_ASSIGN_OR_RETURN(attrs.batch_axis, node.IntAttr("batch_axis", 1));
  QB_ASSIGN_OR_RETURN(attrs.time_axis, node.IntAttr("time_axis", 0));
  return node.Finish(node.Add("", OpKind::kReverseSequence, {data, lengths}, std::move(attrs)));
}

}  // namespace qb::onnx_import
