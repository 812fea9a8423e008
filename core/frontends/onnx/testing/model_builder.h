// Small ONNX models for tests, written through onnx's own protobuf classes.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/frontends/imported_model.h"
#include "core/ir/tensor.h"

namespace qb::testing {

// Attributes of a node, one call each.
class NodeBuilder {
 public:
  explicit NodeBuilder(onnx::NodeProto* node) : node_(node) {}
  NodeBuilder& Int(const std::string& name, int64_t value);
  NodeBuilder& Ints(const std::string& name, const std::vector<int64_t>& values);
  NodeBuilder& Float(const std::string& name, float value);
  NodeBuilder& Floats(const std::string& name, const std::vector<float>& values);
  NodeBuilder& String(const std::string& name, const std::string& value);
  NodeBuilder& TensorOf(const std::string& name, const std::vector<int64_t>& dims,
                        const std::vector<float>& values);
  NodeBuilder& Named(const std::string& name);
  onnx::NodeProto& proto() { return *node_; }

 private:
  onnx::AttributeProto* Add(const std::string& name, onnx::AttributeProto::AttributeType type);
  onnx::NodeProto* node_;
};

class ModelBuilder {
 public:
  explicit ModelBuilder(int64_t opset = 13);

  // A dimension of -1 is open (without a name).
  ModelBuilder& Input(const std::string& name, const std::vector<int64_t>& dims,
                      int32_t type = onnx::TensorProto::FLOAT);
  // Each dimension is a number or a name: {"batch", "3", "height"}.
  ModelBuilder& OpenInput(const std::string& name, const std::vector<std::string>& dims);
  ModelBuilder& Output(const std::string& name, int32_t type = onnx::TensorProto::FLOAT);
  ModelBuilder& Floats(const std::string& name, const std::vector<int64_t>& dims,
                       const std::vector<float>& values);
  // A list of int64 (rank 1).
  ModelBuilder& Ints(const std::string& name, const std::vector<int64_t>& values);
  onnx::TensorProto& Initializer(const std::string& name, int32_t type,
                                 const std::vector<int64_t>& dims);
  NodeBuilder Node(const std::string& op_type, const std::vector<std::string>& inputs,
                   const std::vector<std::string>& outputs);

  onnx::ModelProto& proto() { return model_; }
  onnx::GraphProto& graph() { return *model_.mutable_graph(); }
  std::string Bytes() const { return model_.SerializeAsString(); }

  // By default with any batch: what the tests are about is elsewhere.
  absl::StatusOr<ImportedModel> Import(const ImportOptions& options = AnyBatch()) const;
  // The graph's text, or "ERROR: <message>".
  std::string Text(const ImportOptions& options = AnyBatch()) const;
  // The results for the given inputs; the test fails when there are none.
  std::vector<Tensor> Run(const std::vector<Tensor>& inputs) const;

  static ImportOptions AnyBatch();

 private:
  onnx::ModelProto model_;
};

// The elements of a float tensor.
std::vector<float> FloatsOf(const Tensor& tensor);

}  // namespace qb::testing
