// Writing models of the default ONNX domain, node by node.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "core/ir/attributes.h"
#include "core/ir/tensor.h"

namespace qb {

// Values are known by their names, which the builder makes unique. Equal calls give equal bytes.
class OnnxBuilder {
 public:
  // `opset` of the default domain.
  OnnxBuilder(absl::string_view graph_name, int64_t opset);
  ~OnnxBuilder();
  OnnxBuilder(const OnnxBuilder&) = delete;
  OnnxBuilder& operator=(const OnnxBuilder&) = delete;

  int64_t opset() const;

  // Names that inputs and outputs of the model will have: nothing else may take them.
  void Reserve(absl::string_view name);
  // An input of the model, under exactly this name (reserve it first).
  std::string AddInput(absl::string_view name, const TensorType& type);
  // The model's next output: `value` under exactly this name.
  void AddOutput(absl::string_view name, const std::string& value, const TensorType& type);
  // The name of the node's result: `name` or, when it is taken, `name` with a number. An empty
  // operand stands for one that is left out.
  std::string AddNode(absl::string_view op, absl::string_view name,
                      const std::vector<std::string>& operands,
                      const std::vector<NamedAttr>& attributes = {});
  // A constant; equal names get numbers.
  std::string AddConstant(absl::string_view name, const Tensor& value);
  std::string AddFloats(absl::string_view name, Shape shape, const std::vector<float>& values);
  std::string AddInt64s(absl::string_view name, const std::vector<int64_t>& values);
  // Weights of 4 bits in [-8, 7], two a byte (opset 21 and newer).
  std::string AddInt4s(absl::string_view name, const Shape& shape,
                       const std::vector<int8_t>& values);

  // The serialized ModelProto. Errors: ResourceExhausted above 2 GiB, the limit of the format
  // without external data.
  absl::StatusOr<std::string> Finish();

 private:
  struct State;
  std::string UniqueName(absl::string_view wanted);
  std::unique_ptr<State> state_;
};

}  // namespace qb
