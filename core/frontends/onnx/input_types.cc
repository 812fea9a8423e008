#include "core/frontends/onnx/input_types.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/status_macros.h"

namespace qb::onnx_import {
namespace {

using NamedDims = std::map<std::string, int64_t>;

// "?x3x'height'x224"
std::string DeclaredShape(const std::vector<OnnxDim>& dims) {
  return dims.empty() ? "scalar"
                      : absl::StrJoin(dims, "x", [](std::string* out, const OnnxDim& dim) {
                          if (dim.value.has_value()) {
                            absl::StrAppend(out, *dim.value);
                          } else {
                            absl::StrAppend(out, dim.name.empty() ? "?" : dim.name);
                          }
                        });
}

// A value of 0 or -1 marks an open dimension in files of some exporters.
bool IsOpen(const OnnxDim& dim) { return !dim.value.has_value() || *dim.value <= 0; }

absl::Status CheckElementType(const OnnxValue& input) {
  if (input.dtype == DType::kUndefined) {
    return absl::UnimplementedError(absl::StrCat("input '", input.name, "' has ", input.type_name,
                                                 "; tensors of numbers are supported"));
  }
  if (input.dims.has_value() && input.dims->size() > kMostRank) {
    return absl::InvalidArgumentError(absl::StrCat("input '", input.name, "' has rank ",
                                                   input.dims->size(), "; at most ", kMostRank,
                                                   " is supported"));
  }
  for (const OnnxDim& dim : input.dims.value_or(std::vector<OnnxDim>())) {
    if (dim.value.has_value() && *dim.value < -1) {
      return absl::InvalidArgumentError(
          absl::StrCat("input '", input.name, "' has a dimension of ", *dim.value,
                       "; 1 and more are accepted, 0 and -1 as open dimensions"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckGivenNames(const OnnxModel& model, const ImportOptions& options) {
  for (const auto& [name, shape] : options.input_shapes) {
    std::vector<std::string> known;
    for (const OnnxValue& input : model.inputs) {
      known.push_back(absl::StrCat("'", input.name, "'"));
    }
    if (std::find(known.begin(), known.end(), absl::StrCat("'", name, "'")) == known.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--input-shape names '", name, "', the model's inputs are ", absl::StrJoin(known, ", ")));
    }
  }
  return absl::OkStatus();
}

// The dimension that `name` stands for becomes `value`; it must not stand for another already.
absl::Status Bind(const std::string& name, int64_t value, absl::string_view input,
                  NamedDims& named) {
  const auto [entry, added] = named.emplace(name, value);
  if (!added && entry->second != value) {
    return absl::InvalidArgumentError(absl::StrCat("input '", input, "': dimension '", name,
                                                   "' would be ", value, " here and ",
                                                   entry->second, " elsewhere (--input-shape)"));
  }
  return absl::OkStatus();
}

absl::Status BindGivenShape(const OnnxValue& input, const Shape& given, NamedDims& named) {
  if (!input.dims.has_value()) {
    return absl::OkStatus();
  }
  const auto mismatch = [&] {
    return absl::InvalidArgumentError(absl::StrCat("input '", input.name, "': --input-shape gives ",
                                                   given.ToString(), ", the model declares ",
                                                   DeclaredShape(*input.dims)));
  };
  if (given.rank() != static_cast<int64_t>(input.dims->size())) {
    return mismatch();
  }
  for (int64_t axis = 0; axis < given.rank(); ++axis) {
    const OnnxDim& dim = (*input.dims)[static_cast<size_t>(axis)];
    if (!IsOpen(dim) && *dim.value != given[axis]) {
      return mismatch();
    }
    if (IsOpen(dim) && !dim.name.empty()) {
      QB_RETURN_IF_ERROR(Bind(dim.name, given[axis], input.name, named));
    }
  }
  return absl::OkStatus();
}

// Open batch dimensions that no given shape decides.
void BindBatch(const OnnxModel& model, NamedDims& named) {
  for (const OnnxValue& input : model.inputs) {
    if (input.dims.has_value() && !input.dims->empty() && IsOpen(input.dims->front()) &&
        !input.dims->front().name.empty()) {
      named.emplace(input.dims->front().name, 1);
    }
  }
}

absl::StatusOr<Shape> ResolveShape(const OnnxValue& input, const ImportOptions& options,
                                   const NamedDims& named) {
  const auto given = options.input_shapes.find(input.name);
  if (given != options.input_shapes.end()) {
    return given->second;
  }
  if (!input.dims.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("input '", input.name, "' has no declared shape; give it with --input-shape ",
                     input.name, ":<d0>x<d1>x..."));
  }
  std::vector<int64_t> dims;
  for (const OnnxDim& dim : *input.dims) {
    const auto bound = named.find(dim.name);
    if (!IsOpen(dim)) {
      dims.push_back(*dim.value);
    } else if (!dim.name.empty() && bound != named.end()) {
      dims.push_back(bound->second);
    } else if (dims.empty()) {
      dims.push_back(1);
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("input '", input.name, "' has the open shape ", DeclaredShape(*input.dims),
                       "; give its dimensions with --input-shape ", input.name, ":<d0>x<d1>x..."));
    }
  }
  return Shape(std::move(dims));
}

absl::Status CheckBatch(const OnnxModel& model, const std::vector<TensorType>& types) {
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i].shape.rank() < 2) {
      continue;
    }
    if (types[i].shape[0] > 1) {
      return absl::UnimplementedError(
          absl::StrCat("input '", model.inputs[i].name, "' has shape ", types[i].shape.ToString(),
                       ", a fixed batch of ", types[i].shape[0],
                       "; export the model with batch 1 or with an open batch dimension"));
    }
    return absl::OkStatus();
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<TensorType>> ResolveInputTypes(const OnnxModel& model,
                                                          const ImportOptions& options) {
  QB_RETURN_IF_ERROR(CheckGivenNames(model, options));
  NamedDims named;
  for (const OnnxValue& input : model.inputs) {
    QB_RETURN_IF_ERROR(CheckElementType(input));
    const auto given = options.input_shapes.find(input.name);
    if (given != options.input_shapes.end()) {
      QB_RETURN_IF_ERROR(BindGivenShape(input, given->second, named));
    }
  }
  BindBatch(model, named);
  std::vector<TensorType> types;
  for (const OnnxValue& input : model.inputs) {
    QB_ASSIGN_OR_RETURN(Shape shape, ResolveShape(input, options, named));
    const absl::StatusOr<int64_t> elements = CheckedElements(shape.dims());
    if (!elements.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("input '", input.name, "': ", elements.status().message()));
    }
    types.push_back({input.dtype, std::move(shape)});
  }
  if (!options.accept_any_batch) {
    QB_RETURN_IF_ERROR(CheckBatch(model, types));
  }
  return types;
}

}  // namespace qb::onnx_import
