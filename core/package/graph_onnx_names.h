// Names that the writer and the reader of graph.onnx share.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "core/ir/node.h"

namespace qb {

inline constexpr char kMbltDomain[] = "qbc.mblt";
inline constexpr int64_t kMbltOpset = 1;
inline constexpr char kWeightsEntry[] = "weights.bin";

// The op_type of a node in the file. A convolution's name says how its channels are grouped.
std::string FileOpType(const Node& node);
// The OpKind name in core/ops that a file's op_type stands for.
absl::string_view OpNameOfFile(absl::string_view op_type);

}  // namespace qb
