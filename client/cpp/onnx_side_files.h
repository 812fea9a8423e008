// Which other files does an .onnx file name?
//
// Weights above 2 GiB, and smaller ones by choice, lie beside the model as "external data". The
// client must upload them with the model and links no ONNX reader, so it walks the protobuf wire
// format for the one thing that it needs.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace qb::client {

// The `location` of every tensor with external data, in the order of their first appearance, as
// they stand in the file: not checked, may be anything. Bytes that are not a ModelProto give what
// was found before the damage: judging the model is the compiler's work.
std::vector<std::string> ExternalDataLocations(absl::string_view model_bytes);

}  // namespace qb::client
