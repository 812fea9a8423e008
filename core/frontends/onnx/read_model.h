// ONNX bytes -> OnnxModel.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "core/frontends/onnx/onnx_model.h"

namespace qb::onnx_import {

// Parses the file under limits (2 GiB, CheckScanLimits) and takes weights from it and from the
// files beneath `folder`. Inputs that are also initializers are constants and are left out of
// `inputs`. Errors: InvalidArgument for damaged or inconsistent content, Unimplemented for opsets
// outside kOldestOnnxOpset..kNewestOnnxOpset, sparse initializers and element types that we lack.
absl::StatusOr<OnnxModel> ReadModel(absl::string_view bytes, const std::string& folder);

}  // namespace qb::onnx_import
