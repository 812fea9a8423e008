// Operators that masks, repetitions and comparisons with running numbers express: Trilu, OneHot,
// EyeLike, Tile, CastLike.
#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/frontends/onnx/importers/all_importers.h"
#include "core/frontends/onnx/scalar_values.h"
#include "core/ops/logic.h"
#include "core/ops/movement.h"

namespace qb::onnx_import {
namespace {
// 1 where column - row - k has the sign that is asked for.
Tensor Triangle(int64_t rows, int64_t columns, int64_t k, bool upper) {
  Tensor mask = Tensor::Allocate({DType::kBool, Shape{rows, columns}});
  uint8_t* out = mask.mutable_data<uint8_t>();
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      *out++ = (upper ? column - row >= k : column - row <= k) ? 1 : 0;
    }
  }
  return mask;
}

absl::Status CheckMaskBytes(int64_t rows, int64_t columns) {
  if (rows > 0 && columns > kMostFoldedBytes / rows) {
    return absl::ResourceExhaustedError(absl::StrCat("a mask of ", rows, " times ", columns,
                                                     " elements; at most ", kMostFoldedBytes,
                                                     " are accepted"));
  }
  return absl::OkStatus();
}

// 0, 1, ... n - 1 along `axis` of a shape that is 1 elsewhere.
absl::StatusOr<Node*> AddCounter(NodeImporter& node, int64_t n, int64_t axis, int64_t rank) {
  std::vector<int64_t> numbers(static_cast<size_t>(n));
  std::iota(numbers.begin(), numbers.end(), 0);
  std::vector<int64_t> dims(static_cast<size_t>(rank), 1);
  dims[static_cast<size_t>(axis)] = n;
  return node.AddConstant("numbers", Tensor::OfInt64s(Shape(std::move(dims)), numbers));
}

// Negative classes count from the end; what is outside hits no class.
absl::StatusOr<Node*> FromFrontNode(NodeImporter& node, Node* indices, int64_t depth) {
  QB_ASSIGN_OR_RETURN(Node * classes, node.AddCast("classes", indices, DType::kInt64));
  QB_ASSIGN_OR_RETURN(Node * zero, node.AddScalar("zero", DType::kInt64, 0.0));
  QB_ASSIGN_OR_RETURN(Node * count,
                      node.AddScalar("depth", DType::kInt64, static_cast<double>(depth)));
  QB_ASSIGN_OR_RETURN(Node * shifted, node.Add("from_end", OpKind::kAdding, {classes, count}));
  TensorCmpAttrs less;
  less.kind = CmpKind::kLess;
  QB_ASSIGN_OR_RETURN(Node * negative,
                      node.Add("negative", OpKind::kTensorCmp, {classes, zero}, std::move(less)));
  return node.Add("from_front", OpKind::kWhere, {negative, shifted, classes});
}
}  // namespace

absl::Status ImportTrilu(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "input"));
  QB_ASSIGN_OR_RETURN(const bool upper, node.BoolAttr("upper", true));
  int64_t k = 0;
  if (node.HasInput(1)) {
    QB_ASSIGN_OR_RETURN(k, node.IntInput(1, "k"));
  }
  const Shape& shape = input->shape();
  if (shape.rank() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("the input has shape ", shape.ToString(), "; matrices are accepted"));
  }
  const int64_t rows = shape[shape.rank() - 2];
  const int64_t columns = shape[shape.rank() - 1];
  QB_RETURN_IF_ERROR(CheckMaskBytes(rows, columns));
  k = std::clamp(k, -rows - 1, columns + 1);
  QB_ASSIGN_OR_RETURN(Node * mask, node.AddConstant("mask", Triangle(rows, columns, k, upper)));
  QB_ASSIGN_OR_RETURN(Node * zero, node.AddScalar("zero", input->type().dtype, 0.0));
  return node.Finish(node.Add("", OpKind::kWhere, {mask, input, zero}));
}

absl::Status ImportOneHot(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * indices, node.Input(0, "indices"));
  QB_ASSIGN_OR_RETURN(const Tensor depth_value, node.ConstantInput(1, "depth"));
  QB_ASSIGN_OR_RETURN(Node * values, node.Input(2, "values"));
  QB_ASSIGN_OR_RETURN(const int64_t given_axis, node.IntAttr("axis", -1));
  const int64_t rank = indices->shape().rank() + 1;
  QB_ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(given_axis, rank));
  if (depth_value.elements() != 1 || values->shape() != Shape{2}) {
    return absl::InvalidArgumentError(absl::StrCat("depth is ", depth_value.type().ToString(),
                                                   " and values ", values->type().ToString(),
                                                   "; one number and a list of two are accepted"));
  }
  const int64_t depth = IntegersOf(depth_value).front();
  if (depth < 0 || depth > kMostFoldedBytes / 8) {
    return absl::InvalidArgumentError(absl::StrCat("depth is ", depth));
  }
  QB_ASSIGN_OR_RETURN(Node * classes, FromFrontNode(node, indices, depth));
  std::vector<int64_t> dims = indices->shape().dims();
  dims.insert(dims.begin() + axis, 1);
  QB_ASSIGN_OR_RETURN(Node * spread, node.AddReshape("spread", classes, Shape(std::move(dims))));
  QB_ASSIGN_OR_RETURN(Node * numbers, AddCounter(node, depth, axis, rank));
  QB_ASSIGN_OR_RETURN(Node * hit, node.Add("hit", OpKind::kTensorCmp, {spread, numbers}));
  QB_ASSIGN_OR_RETURN(Node * off, node.AddSlice("off", values, 0, {0, 1}));
  QB_ASSIGN_OR_RETURN(Node * on, node.AddSlice("on", values, 0, {1, 2}));
  return node.Finish(node.Add("", OpKind::kWhere, {hit, on, off}));
}

absl::Status ImportEyeLike(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(const Node* input, node.Input(0, "input"));
  QB_ASSIGN_OR_RETURN(int64_t k, node.IntAttr("k", 0));
  QB_ASSIGN_OR_RETURN(const DType dtype, node.DTypeAttr("dtype", input->type().dtype));
  if (input->shape().rank() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("the input has shape ", input->shape().ToString(), "; a matrix is accepted"));
  }
  const int64_t rows = input->shape()[0];
  const int64_t columns = input->shape()[1];
  QB_RETURN_IF_ERROR(CheckMaskBytes(rows, columns));
  k = std::clamp(k, -rows - 1, columns + 1);
  std::vector<int64_t> values(static_cast<size_t>(rows * columns), 0);
  for (int64_t row = std::max<int64_t>(-k, 0); row < rows && row + k < columns; ++row) {
    values[static_cast<size_t>(row * columns + row + k)] = 1;
  }
  return node.Finish(node.AddConstant("", TensorOfIntegers(dtype, input->shape(), values)));
}

// Each axis gets a new one before it, along which it is repeated.
absl::Status ImportTile(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "input"));
  QB_ASSIGN_OR_RETURN(const std::vector<int64_t> repeats, node.IntsInput(1, "repeats"));
  const Shape& shape = input->shape();
  if (static_cast<int64_t>(repeats.size()) != shape.rank()) {
    return absl::InvalidArgumentError(absl::StrCat("repeats has ", repeats.size(),
                                                   " elements for an input of ", shape.ToString()));
  }
  std::vector<int64_t> split;
  std::vector<int64_t> result;
  ExpandAttrs expand;
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    const int64_t times = repeats[static_cast<size_t>(axis)];
    if (times < 0 || times > (int64_t{1} << 31)) {
      return absl::InvalidArgumentError(absl::StrCat("repeats has ", times));
    }
    if (times != 1) {
      split.push_back(1);
      expand.shape.push_back(times);
    }
    split.push_back(shape[axis]);
    expand.shape.push_back(shape[axis]);
    result.push_back(shape[axis] * times);
  }
  if (split.size() == repeats.size()) {
    return node.Finish(input);
  }
  QB_ASSIGN_OR_RETURN(Node * divided, node.AddReshape("split", input, Shape(split)));
  QB_ASSIGN_OR_RETURN(Node * repeated,
                      node.Add("repeated", OpKind::kExpand, {divided}, std::move(expand)));
  return node.Finish(node.AddReshape("", repeated, Shape(result)));
}

absl::Status ImportCastLike(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "input"));
  QB_ASSIGN_OR_RETURN(const Node* like, node.Input(1, "target_type"));
  node.IgnoreAttr("saturate");  // for 8-bit floats
  return node.Finish(node.AddCast("", input, like->type().dtype));
}

}  // namespace qb::onnx_import
