// Our graph as an ONNX ModelProto of domain "qbc.mblt" with external data, and back.
//
// Every operator becomes one node whose op_type and attributes are those of core/ops (a convolution
// is written as Convolution, GroupConvolution or DepthwiseConvolution); constants become
// initializers whose bytes lie in `weights.bin` on 64-byte boundaries. Netron and the onnx package
// open the result.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "core/ir/graph.h"
#include "core/package/graph_onnx_names.h"

namespace qb {

struct SerializedGraph {
  std::string model;  // bytes of the ModelProto, deterministic
  std::vector<absl::string_view>
      weights;          // pieces of weights.bin, views into the graph's constants
  std::string padding;  // what the padding views point into
};

// The views in `weights` live as long as `graph` and the returned object's heap storage.
// `weights_name` is the file name that the model gives for its constants.
std::unique_ptr<SerializedGraph> GraphToOnnx(const Graph& graph,
                                             absl::string_view weights_name = kWeightsEntry);

// `owner` keeps `weights` alive for the constants, which borrow from it. Treats both as hostile.
// Errors: DataLoss for malformed bytes, Unimplemented for operators of a newer compiler.
absl::StatusOr<Graph> GraphFromOnnx(absl::string_view model, absl::string_view weights,
                                    std::shared_ptr<const void> owner,
                                    absl::string_view weights_name = kWeightsEntry);

}  // namespace qb
