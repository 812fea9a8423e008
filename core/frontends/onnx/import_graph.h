// OnnxModel -> Graph.
#pragma once

#include "absl/status/statusor.h"

#include "core/frontends/onnx/onnx_model.h"

namespace qb::onnx_import {

// Orders the nodes, imports each by its row in all_importers.cc and folds constants on the way.
// Takes the initializers out of `model`. Errors: as ImportOnnx, without FailureCode.
absl::StatusOr<Graph> ImportGraph(OnnxModel& model, const ImportOptions& options);

}  // namespace qb::onnx_import
