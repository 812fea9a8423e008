// NonZero, Compress, Unique, NonMaxSuppression: results as large as the values say. The graph has
// room for the most there can be, and a Trim with the number that counts (core/ops/selection.h).
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/frontends/onnx/importers/all_importers.h"
#include "core/ops/movement.h"
#include "core/ops/selection.h"

namespace qb::onnx_import {
namespace {

absl::StatusOr<Node*> Trimmed(NodeImporter& node, absl::string_view role, Node* value, Node* count,
                              int64_t axis) {
  TrimAttrs attrs;
  attrs.axis = axis;
  return node.Add(role, OpKind::kTrim, {value, count}, std::move(attrs));
}

// Coordinates of the elements that are not 0, all columns of them, and how many count.
struct NonZeroParts {
  Node* places = nullptr;  // [rank, elements]
  Node* count = nullptr;
};

absl::StatusOr<NonZeroParts> AddNonZero(NodeImporter& node, Node* input) {
  NonZeroParts parts;
  QB_ASSIGN_OR_RETURN(parts.places, node.Add("places", OpKind::kNonZero, {input}));
  QB_ASSIGN_OR_RETURN(Node * row, node.AddSlice("first_row", parts.places, 0, {0, 1}));
  QB_ASSIGN_OR_RETURN(row, node.AddReshape("first_list", row, {row->shape()[1]}));
  QB_ASSIGN_OR_RETURN(parts.count, node.Add("count", OpKind::kCountUsed, {row}));
  return parts;
}

// The elements of `data` that `indices`, padded with -1, name.
absl::StatusOr<Node*> GatherCounted(NodeImporter& node, absl::string_view role, Node* data,
                                    Node* indices, int64_t axis) {
  QB_ASSIGN_OR_RETURN(Node * zero, node.AddScalar("zero", DType::kInt64, 0.0));
  QB_ASSIGN_OR_RETURN(Node * safe,
                      node.Add(absl::StrCat(role, "_places"), OpKind::kMaximum, {indices, zero}));
  GatherAttrs attrs;
  attrs.axis = axis;
  return node.Add(absl::StrCat(role, "_padded"), OpKind::kGather, {data, safe}, std::move(attrs));
}

absl::StatusOr<float> ThresholdInput(NodeImporter& node, int64_t index, absl::string_view what) {
  QB_ASSIGN_OR_RETURN(const std::vector<float> values, node.FloatsInput(index, what));
  if (values.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " has ", values.size(), " elements; one is accepted"));
  }
  return values.front();
}

}  // namespace

absl::Status ImportNonZero(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "X"));
  QB_ASSIGN_OR_RETURN(const NonZeroParts parts, AddNonZero(node, input));
  return node.Finish(Trimmed(node, "", parts.places, parts.count, 1));
}

absl::Status ImportCompress(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "input"));
  QB_ASSIGN_OR_RETURN(Node * condition, node.Input(1, "condition"));
  int64_t axis = 0;
  Node* data = input;
  if (node.HasAttr("axis")) {
    QB_ASSIGN_OR_RETURN(axis, node.IntAttr("axis", 0));
    QB_ASSIGN_OR_RETURN(axis, NormalizeAxis(axis, input->shape().rank()));
  } else {
    QB_ASSIGN_OR_RETURN(data, node.AddReshape("flat", input, {input->shape().elements()}));
  }
  if (condition->type().dtype != DType::kBool || condition->shape().rank() != 1 ||
      condition->shape()[0] > data->shape()[axis]) {
    return absl::InvalidArgumentError(
        absl::StrCat("the condition is ", condition->type().ToString(), "; a list of up to ",
                     data->shape()[axis], " truth values is accepted"));
  }
  QB_ASSIGN_OR_RETURN(const NonZeroParts parts, AddNonZero(node, condition));
  QB_ASSIGN_OR_RETURN(Node * places,
                      node.AddReshape("list", parts.places, {condition->shape()[0]}));
  QB_ASSIGN_OR_RETURN(Node * chosen, GatherCounted(node, "chosen", data, places, axis));
  return node.Finish(Trimmed(node, "", chosen, parts.count, axis));
}

absl::Status ImportUnique(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "X"));
  UniqueAttrs attrs;
  QB_ASSIGN_OR_RETURN(attrs.sorted, node.BoolAttr("sorted", true));
  Node* data = input;
  if (node.HasAttr("axis")) {
    QB_ASSIGN_OR_RETURN(const int64_t axis, node.IntAttr("axis", 0));
    QB_ASSIGN_OR_RETURN(attrs.axis, NormalizeAxis(axis, input->shape().rank()));
  } else {
    QB_ASSIGN_OR_RETURN(data, node.AddReshape("flat", input, {input->shape().elements()}));
  }
  QB_ASSIGN_OR_RETURN(Node * first, node.Add("first", OpKind::kUnique, {data}, attrs));
  QB_ASSIGN_OR_RETURN(Node * count, node.Add("count", OpKind::kCountUsed, {first}));
  QB_ASSIGN_OR_RETURN(Node * chosen, GatherCounted(node, "values", data, first, attrs.axis));
  QB_RETURN_IF_ERROR(node.Finish(Trimmed(node, "", chosen, count, attrs.axis)));
  if (node.HasOutput(1)) {
    QB_ASSIGN_OR_RETURN(Node * indices, Trimmed(node, "indices", first, count, 0));
    QB_RETURN_IF_ERROR(node.SetOutput(1, indices));
  }
  if (node.HasOutput(2)) {
    attrs.part = UniquePart::kInverse;
    QB_ASSIGN_OR_RETURN(Node * inverse, node.Add("inverse", OpKind::kUnique, {data}, attrs));
    QB_RETURN_IF_ERROR(node.SetOutput(2, inverse));
  }
  if (node.HasOutput(3)) {
    attrs.part = UniquePart::kCounts;
    QB_ASSIGN_OR_RETURN(Node * counts, node.Add("counts_padded", OpKind::kUnique, {data}, attrs));
    QB_ASSIGN_OR_RETURN(counts, Trimmed(node, "counts", counts, count, 0));
    QB_RETURN_IF_ERROR(node.SetOutput(3, counts));
  }
  return absl::OkStatus();
}

absl::Status ImportNonMaxSuppression(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * boxes, node.Input(0, "boxes"));
  QB_ASSIGN_OR_RETURN(Node * scores, node.Input(1, "scores"));
  NonMaxSuppressionAttrs attrs;
  if (node.HasInput(2)) {
    QB_ASSIGN_OR_RETURN(attrs.max_output_size, node.IntInput(2, "max_output_boxes_per_class"));
  }
  attrs.max_output_size = std::max<int64_t>(attrs.max_output_size, 0);
  if (node.HasInput(3)) {
    QB_ASSIGN_OR_RETURN(attrs.iou_threshold, ThresholdInput(node, 3, "iou_threshold"));
  }
  if (node.HasInput(4)) {
    attrs.use_score_threshold = true;
    QB_ASSIGN_OR_RETURN(attrs.score_threshold, ThresholdInput(node, 4, "score_threshold"));
  }
  QB_ASSIGN_OR_RETURN(attrs.center_point_box, node.BoolAttr("center_point_box", false));
  QB_ASSIGN_OR_RETURN(Node * selected, node.Add("selected", OpKind::kNonMaxSuppression,
                                                {boxes, scores}, std::move(attrs)));
  QB_ASSIGN_OR_RETURN(Node * count, node.Add("count", OpKind::kCountUsed, {selected}));
  return node.Finish(Trimmed(node, "", selected, count, 0));
}

}  // namespace qb::onnx_import
