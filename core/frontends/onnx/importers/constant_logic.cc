// Comparisons, logic and Where. The graph has no such operators: they occur in shape arithmetic,
// where every operand is known, and are evaluated here.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/frontends/onnx/importers/all_importers.h"
#include "core/frontends/onnx/scalar_values.h"

namespace qb::onnx_import {
namespace {

struct Comparison {
  absl::string_view op_type;
  bool (*of_integers)(int64_t a, int64_t b);
  bool (*of_doubles)(double a, double b);
};

constexpr auto kComparisons = std::to_array<Comparison>({
    {"And", [](int64_t a, int64_t b) { return a != 0 && b != 0; },
     [](double a, double b) { return a != 0 && b != 0; }},
    {"Equal", [](int64_t a, int64_t b) { return a == b; },
     [](double a, double b) { return a == b; }},
    {"Greater", [](int64_t a, int64_t b) { return a > b; },
     [](double a, double b) { return a > b; }},
    {"GreaterOrEqual", [](int64_t a, int64_t b) { return a >= b; },
     [](double a, double b) { return a >= b; }},
    {"Less", [](int64_t a, int64_t b) { return a < b; }, [](double a, double b) { return a < b; }},
    {"LessOrEqual", [](int64_t a, int64_t b) { return a <= b; },
     [](double a, double b) { return a <= b; }},
    {"Or", [](int64_t a, int64_t b) { return a != 0 || b != 0; },
     [](double a, double b) { return a != 0 || b != 0; }},
});

// For each element of `result` the index of the element of `operand` that broadcasting puts there.
std::vector<int64_t> BroadcastIndices(const Shape& operand, const Shape& result) {
  const std::vector<int64_t> strides = operand.strides();
  const int64_t extra = result.rank() - operand.rank();
  std::vector<int64_t> indices(static_cast<size_t>(result.elements()), 0);
  int64_t inner = 1;  // elements of the result below the axis
  for (int64_t axis = result.rank() - 1; axis >= extra; --axis) {
    const int64_t dim = result[axis];
    if (operand[axis - extra] != 1) {
      const int64_t stride = strides[static_cast<size_t>(axis - extra)];
      for (size_t i = 0; i < indices.size(); ++i) {
        indices[i] += (static_cast<int64_t>(i) / inner % dim) * stride;
      }
    }
    inner *= dim;
  }
  return indices;
}

// Indices and numbers of eight bytes are made for each element.
constexpr int64_t kMostElements = int64_t{1} << 22;

absl::Status CheckSize(const Shape& shape) {
  QB_ASSIGN_OR_RETURN(const int64_t elements, CheckedElements(shape.dims()));
  if (elements > kMostElements) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "a constant of ", elements, " elements; at most ", kMostElements, " are accepted here"));
  }
  return absl::OkStatus();
}

// Both operands too: with an empty dimension a result is smaller than they are.
absl::StatusOr<Shape> BroadcastResult(const Shape& a, const Shape& b) {
  QB_RETURN_IF_ERROR(CheckSize(a));
  QB_RETURN_IF_ERROR(CheckSize(b));
  QB_ASSIGN_OR_RETURN(Shape shape, BroadcastShapes(a, b));
  QB_RETURN_IF_ERROR(CheckSize(shape));
  return shape;
}

template <typename T, typename Compare>
Tensor Evaluate(const std::vector<T>& a, const std::vector<T>& b,
                const std::vector<int64_t>& a_indices, const std::vector<int64_t>& b_indices,
                const Shape& shape, Compare compare) {
  Tensor result = Tensor::Allocate({DType::kBool, shape});
  uint8_t* out = result.mutable_data<uint8_t>();
  for (size_t i = 0; i < a_indices.size(); ++i) {
    out[i] = compare(a[static_cast<size_t>(a_indices[i])], b[static_cast<size_t>(b_indices[i])]);
  }
  return result;
}

}  // namespace

absl::Status ImportComparison(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(const Tensor a, node.ConstantInput(0, "A"));
  QB_ASSIGN_OR_RETURN(const Tensor b, node.ConstantInput(1, "B"));
  if (a.dtype() != b.dtype()) {
    return absl::InvalidArgumentError(absl::StrCat("operands are ", a.type().ToString(), " and ",
                                                   b.type().ToString(), "; one type is accepted"));
  }
  QB_ASSIGN_OR_RETURN(const Shape shape, BroadcastResult(a.shape(), b.shape()));
  const std::vector<int64_t> a_indices = BroadcastIndices(a.shape(), shape);
  const std::vector<int64_t> b_indices = BroadcastIndices(b.shape(), shape);
  for (const Comparison& row : kComparisons) {
    if (row.op_type == node.op_type()) {
      Tensor result = IsFloat(a.dtype()) ? Evaluate(DoublesOf(a), DoublesOf(b), a_indices,
                                                    b_indices, shape, row.of_doubles)
                                         : Evaluate(IntegersOf(a), IntegersOf(b), a_indices,
                                                    b_indices, shape, row.of_integers);
      return node.Finish(node.AddConstant("", std::move(result)));
    }
  }
  return absl::InternalError("a comparison without a row");
}

absl::Status ImportNot(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(const Tensor input, node.ConstantInput(0, "X"));
  if (input.dtype() != DType::kBool) {
    return absl::InvalidArgumentError(
        absl::StrCat("the operand is ", input.type().ToString(), "; bool is accepted"));
  }
  Tensor result = Tensor::Allocate(input.type());
  std::transform(input.data<uint8_t>(), input.data<uint8_t>() + input.elements(),
                 result.mutable_data<uint8_t>(), [](uint8_t x) { return x == 0 ? 1 : 0; });
  return node.Finish(node.AddConstant("", std::move(result)));
}

absl::Status ImportWhere(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(const Tensor condition, node.ConstantInput(0, "condition"));
  QB_ASSIGN_OR_RETURN(const Tensor x, node.ConstantInput(1, "X"));
  QB_ASSIGN_OR_RETURN(const Tensor y, node.ConstantInput(2, "Y"));
  if (condition.dtype() != DType::kBool || x.dtype() != y.dtype()) {
    return absl::InvalidArgumentError(
        absl::StrCat("operands are ", condition.type().ToString(), ", ", x.type().ToString(),
                     " and ", y.type().ToString(), "; bool and twice one type are accepted"));
  }
  QB_ASSIGN_OR_RETURN(const Shape values, BroadcastResult(x.shape(), y.shape()));
  QB_ASSIGN_OR_RETURN(const Shape shape, BroadcastResult(condition.shape(), values));
  const std::vector<int64_t> c_indices = BroadcastIndices(condition.shape(), shape);
  const std::vector<int64_t> x_indices = BroadcastIndices(x.shape(), shape);
  const std::vector<int64_t> y_indices = BroadcastIndices(y.shape(), shape);
  Tensor result = Tensor::Allocate({x.dtype(), shape});
  const int64_t size = SizeBytes(x.dtype());
  auto* out = static_cast<uint8_t*>(result.mutable_raw());
  for (size_t i = 0; i < c_indices.size(); ++i) {
    const bool chosen = condition.data<uint8_t>()[c_indices[i]] != 0;
    const auto* from = static_cast<const uint8_t*>(chosen ? x.raw() : y.raw());
    const int64_t index = chosen ? x_indices[i] : y_indices[i];
    std::memcpy(out + static_cast<int64_t>(i) * size, from + index * size,
                static_cast<size_t>(size));
  }
  return node.Finish(node.AddConstant("", std::move(result)));
}

}  // namespace qb::onnx_import
