// Operators whose result is known at import: Constant, ConstantOfShape, Range, Shape, Size.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/frontends/onnx/importers/all_importers.h"
#include "core/frontends/onnx/onnx_model.h"
#include "core/frontends/onnx/scalar_values.h"

namespace qb::onnx_import {
namespace {

// A scalar for one-element forms ("value_int"), a list for the others.
absl::StatusOr<Tensor> ConstantValue(NodeImporter& node) {
  if (node.HasAttr("value")) {
    QB_ASSIGN_OR_RETURN(std::optional<Tensor> value, node.TensorAttr("value"));
    return *std::move(value);
  }
  if (node.HasAttr("value_float")) {
    QB_ASSIGN_OR_RETURN(const float value, node.FloatAttr("value_float", 0.0f));
    return Tensor::OfFloats({}, {value});
  }
  if (node.HasAttr("value_floats")) {
    QB_ASSIGN_OR_RETURN(const std::vector<float> values, node.FloatsAttr("value_floats"));
    return Tensor::OfFloats({static_cast<int64_t>(values.size())}, values);
  }
  if (node.HasAttr("value_int")) {
    QB_ASSIGN_OR_RETURN(const int64_t value, node.IntAttr("value_int", 0));
    return Tensor::OfInt64s({}, {value});
  }
  if (node.HasAttr("value_ints")) {
    QB_ASSIGN_OR_RETURN(const std::vector<int64_t> values, node.ManyIntsAttr("value_ints"));
    return Tensor::OfInt64s({static_cast<int64_t>(values.size())}, values);
  }
  return absl::UnimplementedError(
      "the value is missing or of a kind that is not supported (strings and sparse tensors)");
}

// Repeats the one element of `value`: each copy doubles what is filled.
void FillWith(const Tensor& value, Tensor& filled) {
  const int64_t total = filled.size_bytes();
  if (total == 0) {
    return;
  }
  auto* out = static_cast<uint8_t*>(filled.mutable_raw());
  int64_t done = value.size_bytes();
  std::memcpy(out, value.raw(), static_cast<size_t>(done));
  while (done < total) {
    const int64_t next = std::min(done, total - done);
    std::memcpy(out + done, out, static_cast<size_t>(next));
    done += next;
  }
}

// The number of elements of a Range. Source: ONNX Range.
absl::StatusOr<int64_t> RangeCount(double start, double limit, double delta) {
  constexpr int64_t kMost = kMostFoldedBytes / 8;
  const double count = std::ceil((limit - start) / delta);
  if (delta == 0.0 || !std::isfinite(count) || count > static_cast<double>(kMost)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a range from ", start, " to ", limit, " by ", delta, " is not possible"));
  }
  return static_cast<int64_t>(std::max(count, 0.0));
}

absl::Status CheckStaticSize(const Node& value) {
  if (value.op() == OpKind::kTrim) {
    return absl::UnimplementedError(absl::StrCat(
        "value '", value.name(), "' has a size that only the run knows; it cannot be asked for"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Tensor> ScalarInput(NodeImporter& node, int64_t index, absl::string_view what) {
  QB_ASSIGN_OR_RETURN(Tensor value, node.ConstantInput(index, what));
  if (value.elements() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " has ", value.elements(), " elements; one is accepted"));
  }
  return value;
}

}  // namespace

absl::Status ImportConstant(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Tensor value, ConstantValue(node));
  return node.Finish(node.AddInitializer(std::move(value)));
}

absl::Status ImportConstantOfShape(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(std::vector<int64_t> dims, node.IntsInput(0, "input"));
  QB_ASSIGN_OR_RETURN(const std::optional<Tensor> given, node.TensorAttr("value"));
  const Tensor value = given.value_or(Tensor::OfFloats({1}, {0.0f}));
  if (value.elements() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("value has ", value.elements(), " elements; one is accepted"));
  }
  if (dims.size() > kMostRank) {
    return absl::InvalidArgumentError(absl::StrCat("the result would have rank ", dims.size()));
  }
  QB_ASSIGN_OR_RETURN(const int64_t elements, CheckedElements(dims));
  const int64_t element_bytes = SizeBytes(value.dtype());
  if (elements > kMostFoldedBytes / element_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("the constant would have ", elements,
                                                     " elements; at most ", kMostFoldedBytes,
                                                     " bytes are computed at import"));
  }
  Tensor filled = Tensor::Allocate({value.dtype(), Shape(std::move(dims))});
  FillWith(value, filled);
  return node.Finish(node.AddConstant("", std::move(filled)));
}

absl::Status ImportRange(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(const Tensor start, ScalarInput(node, 0, "start"));
  QB_ASSIGN_OR_RETURN(const Tensor limit, ScalarInput(node, 1, "limit"));
  QB_ASSIGN_OR_RETURN(const Tensor delta, ScalarInput(node, 2, "delta"));
  const DType dtype = start.dtype();
  if (limit.dtype() != dtype || delta.dtype() != dtype || dtype == DType::kBool) {
    return absl::InvalidArgumentError("start, limit and delta have to be of one numeric type");
  }
  const double first = DoublesOf(start).front();
  const double step = DoublesOf(delta).front();
  QB_ASSIGN_OR_RETURN(const int64_t count, RangeCount(first, DoublesOf(limit).front(), step));
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(first + static_cast<double>(i) * step);
  }
  return node.Finish(node.AddConstant("", TensorOfDoubles(dtype, {count}, values)));
}

absl::Status ImportShape(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(const Node* input, node.Input(0, "data"));
  QB_RETURN_IF_ERROR(CheckStaticSize(*input));
  const int64_t rank = input->shape().rank();
  int64_t start = 0;
  int64_t end = rank;
  if (node.opset() >= 15) {
    QB_ASSIGN_OR_RETURN(start, node.IntAttr("start", 0));
    QB_ASSIGN_OR_RETURN(end, node.IntAttr("end", rank));
    start = std::clamp<int64_t>(start < 0 ? start + rank : start, 0, rank);
    end = std::clamp<int64_t>(end < 0 ? end + rank : end, start, rank);
  }
  const std::vector<int64_t> dims(input->shape().begin() + start, input->shape().begin() + end);
  return node.Finish(node.AddConstant("", Tensor::OfInt64s({end - start}, dims)));
}

absl::Status ImportSize(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(const Node* input, node.Input(0, "data"));
  QB_RETURN_IF_ERROR(CheckStaticSize(*input));
  return node.Finish(node.AddConstant("", Tensor::OfInt64s({}, {input->shape().elements()})));
}

}  // namespace qb::onnx_import
