#include "tests/conformance/conformance_case.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <type_traits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "core/base/failure.h"
#include "core/base/file_map.h"
#include "core/base/status_macros.h"
#include "core/execute/executor.h"
#include "core/frontends/onnx/onnx_import.h"
#include "core/frontends/onnx/scalar_values.h"
#include "core/frontends/onnx/tensor_file.h"
#include "core/passes/pipeline.h"

namespace qb::conformance {
namespace {

absl::StatusOr<std::vector<Tensor>> ReadTensors(const std::string& folder, const char* stem) {
  std::vector<Tensor> tensors;
  for (int i = 0;; ++i) {
    const std::string path = absl::StrCat(folder, "/test_data_set_0/", stem, "_", i, ".pb");
    if (!std::filesystem::exists(path)) {
      return tensors;
    }
    QB_ASSIGN_OR_RETURN(const FileMap map, FileMap::Open(path));
    absl::StatusOr<Tensor> tensor = ReadOnnxTensor(map.bytes());
    if (!tensor.ok()) {
      return absl::Status(tensor.status().code(),
                          absl::StrCat(stem, "_", i, ".pb: ", tensor.status().message()));
    }
    tensors.push_back(*std::move(tensor));
  }
}

template <typename T>
absl::Status CompareAs(const Tensor& got, const Tensor& expected) {
  for (int64_t i = 0; i < got.elements(); ++i) {
    const T a = got.data<T>()[i];
    const T b = expected.data<T>()[i];
    bool equal = a == b;
    if constexpr (std::is_floating_point_v<T>) {
      equal = equal || (std::isnan(a) && std::isnan(b)) ||
              std::abs(double{a} - double{b}) <= kAbsolute + kRelative * std::abs(double{b});
    }
    if (!equal) {
      return absl::InternalError(absl::StrCat("element ", i, " is ", a, ", expected ", b));
    }
  }
  return absl::OkStatus();
}

// Two roundings to ten bits of fraction may lie between the results.
absl::Status CompareHalves(const Tensor& got, const Tensor& expected) {
  constexpr double kHalfRelative = 1.0 / 512;
  const std::vector<double> got_values = onnx_import::DoublesOf(got);
  const std::vector<double> expected_values = onnx_import::DoublesOf(expected);
  for (size_t i = 0; i < got_values.size(); ++i) {
    const double a = got_values[i];
    const double b = expected_values[i];
    const bool equal = a == b || (std::isnan(a) && std::isnan(b)) ||
                       std::abs(a - b) <= kAbsolute + kHalfRelative * std::abs(b);
    if (!equal) {
      return absl::InternalError(absl::StrCat("element ", i, " is ", a, ", expected ", b));
    }
  }
  return absl::OkStatus();
}

struct Loaded {
  ImportedModel model;
  std::vector<Tensor> inputs;  // of the inputs that are left
};

// Imports with the inputs from `first_constant` on as constants.
absl::StatusOr<Loaded> Load(const std::string& folder, const std::vector<std::string>& names,
                            const std::vector<Tensor>& inputs, size_t first_constant) {
  ImportOptions options;
  options.accept_any_batch = true;
  Loaded loaded;
  for (size_t i = 0; i < names.size() && i < inputs.size(); ++i) {
    if (i >= first_constant) {
      options.constant_inputs[names[i]] = inputs[i];
    } else {
      options.input_shapes[names[i]] = inputs[i].shape();
      loaded.inputs.push_back(inputs[i]);
    }
  }
  QB_ASSIGN_OR_RETURN(loaded.model, ImportOnnx(folder + "/model.onnx", options));
  return loaded;
}

absl::StatusOr<Loaded> LoadAnyWay(const std::string& folder, const std::vector<Tensor>& inputs) {
  QB_ASSIGN_OR_RETURN(const std::vector<std::string> names, OnnxInputNames(folder + "/model.onnx"));
  absl::StatusOr<Loaded> loaded = Load(folder, names, inputs, inputs.size());
  for (const size_t first_constant : {size_t{1}, size_t{0}}) {
    if (!loaded.ok() && absl::StrContains(loaded.status().message(), "a constant is supported")) {
      loaded = Load(folder, names, inputs, first_constant);
    }
  }
  return loaded;
}

absl::Status RunAndCompare(const Loaded& loaded, const std::vector<Tensor>& expected) {
  QB_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs,
                      RunOnce(loaded.model.graph, loaded.inputs));
  if (outputs.size() != expected.size()) {
    return absl::InternalError(
        absl::StrCat(outputs.size(), " outputs, expected ", expected.size()));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const absl::Status status = CompareTensors(outputs[i], expected[i]);
    if (!status.ok()) {
      return absl::InternalError(absl::StrCat("output ", i, ": ", status.message()));
    }
  }
  return absl::OkStatus();
}

// The same after all passes.
absl::Status SimplifyAndCompare(Loaded& loaded, const std::vector<Tensor>& expected) {
  QB_RETURN_IF_ERROR(RunPasses(loaded.model.graph));
  const absl::Status status = RunAndCompare(loaded, expected);
  return status.ok() ? status
                     : absl::InternalError(absl::StrCat("after the passes: ", status.message()));
}

}  // namespace

absl::Status CompareTensors(const Tensor& got, const Tensor& expected) {
  if (got.type() != expected.type()) {
    return absl::InternalError(
        absl::StrCat("is ", got.type().ToString(), ", expected ", expected.type().ToString()));
  }
  switch (got.dtype()) {
    case DType::kFloat32:
      return CompareAs<float>(got, expected);
    case DType::kFloat64:
      return CompareAs<double>(got, expected);
    case DType::kFloat16:
      return CompareHalves(got, expected);
    default:
      return got.Equals(expected) ? absl::OkStatus() : absl::InternalError("the bytes differ");
  }
}

CaseResult RunCase(const std::string& folder) {
  const absl::StatusOr<std::vector<Tensor>> inputs = ReadTensors(folder, "input");
  // Inputs that are no tensors belong to operators that the importer refuses by name.
  absl::StatusOr<Loaded> loaded = LoadAnyWay(folder, inputs.ok() ? *inputs : std::vector<Tensor>());
  if (!loaded.ok()) {
    const bool refused = FailureCodeOf(loaded.status()) == FailureCode::kUnsupportedOperator;
    return {refused ? CaseResult::Kind::kNotSupported : CaseResult::Kind::kFailed,
            std::string(loaded.status().message())};
  }
  if (!inputs.ok()) {
    return {CaseResult::Kind::kFailed, std::string(inputs.status().message())};
  }
  const absl::StatusOr<std::vector<Tensor>> expected = ReadTensors(folder, "output");
  if (!expected.ok()) {
    return {CaseResult::Kind::kFailed, std::string(expected.status().message())};
  }
  absl::Status status = RunAndCompare(*loaded, *expected);
  if (status.ok()) {
    status = SimplifyAndCompare(*loaded, *expected);
  }
  if (status.ok()) {
    return {CaseResult::Kind::kPassed, ""};
  }
  return {
      absl::IsUnimplemented(status) ? CaseResult::Kind::kNotSupported : CaseResult::Kind::kFailed,
      std::string(status.message())};
}

}  // namespace qb::conformance
