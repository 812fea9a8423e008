// What every frontend takes and gives.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/ir/graph.h"

namespace qb {

struct ImportOptions {
  // Shapes for inputs that leave dimensions open, by input name (flag --input-shape).
  std::map<std::string, Shape> input_shapes;
  // Inputs that become constants of these values, by name.
  std::map<std::string, Tensor> constant_inputs;
  // The compiler works on one sample at a time, so a model with a fixed batch above 1 is refused.
  // The float executor alone has no such limit.
  bool accept_any_batch = false;
};

// A file beside the model that holds weights.
struct ExternalFile {
  std::string path;  // as the model names it: relative to the model's folder
  std::string sha256;
};

struct ImportedModel {
  // float, NCHW; inputs and outputs with the names, order and element types of the source model.
  Graph graph = Graph();
  std::string source_sha256;                // of the model file
  std::vector<ExternalFile> external_data;  // in order of first use
  int64_t opset = 0;                        // of the default operator set
  int64_t ir_version = 0;
  std::string producer_name;
  std::string producer_version;
};

}  // namespace qb
