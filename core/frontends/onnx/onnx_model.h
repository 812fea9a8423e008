// The content of an ONNX file in plain structs: what the importers work on. Only reading the file
// itself (read_model.cc, read_tensor.cc) needs the protobuf classes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/frontends/imported_model.h"
#include "core/ir/tensor.h"

namespace qb::onnx_import {

// Above any real tensor's; keeps loops over axes short.
inline constexpr size_t kMostRank = 16;

// A dimension of a declared shape: a value, a name, or neither.
struct OnnxDim {
  std::optional<int64_t> value;
  std::string name;
};

struct OnnxValue {
  std::string name;
  DType dtype = DType::kUndefined;  // kUndefined: not declared, or a type that we lack
  std::string type_name;            // for messages: "float32", "STRING", "a sequence"
  std::optional<std::vector<OnnxDim>> dims;
};

struct OnnxGraph;

// An attribute of a kind that no supported operator has ("SPARSE_TENSOR").
struct OtherAttribute {
  std::string kind;
};

struct OnnxAttribute {
  std::string name;
  std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>,
               std::vector<std::string>, Tensor, std::shared_ptr<const OnnxGraph>, OtherAttribute>
      value;
};

struct OnnxNode {
  std::string name;    // may be empty
  std::string domain;  // empty for the default domain
  std::string op_type;
  std::vector<std::string> inputs;   // an empty name: the optional input is left out
  std::vector<std::string> outputs;  // likewise
  std::vector<OnnxAttribute> attributes;
  // Values of the graphs around it that the node's subgraphs read.
  std::vector<std::string> captures;

  // The name that messages use: its own, or that of its first output.
  const std::string& DisplayName() const;
};

struct OnnxInitializer {
  std::string name;
  Tensor value;
};

// A graph, or the body of a control-flow operator.
struct OnnxGraph {
  std::string graph_name;
  std::vector<OnnxValue> inputs;  // without those that are initializers
  std::vector<OnnxValue> outputs;
  std::vector<OnnxInitializer> initializers;
  std::vector<OnnxNode> nodes;
};

struct OnnxModel : OnnxGraph {
  int64_t opset = 0;
  int64_t ir_version = 0;
  std::string producer_name;
  std::string producer_version;
  std::vector<ExternalFile> external_files;
};

}  // namespace qb::onnx_import
