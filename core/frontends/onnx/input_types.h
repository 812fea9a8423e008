// Static types for the graph's inputs.
#pragma once

#include <vector>

#include "absl/status/statusor.h"

#include "core/frontends/imported_model.h"
#include "core/frontends/onnx/onnx_model.h"

namespace qb::onnx_import {

// One type for each of model.inputs, in order.
//
// An open first dimension is the batch and becomes 1; so does every other dimension of that name.
// Other open dimensions come from options.input_shapes, directly or by their name on another input.
// The model's batch is that of its first input of rank 2 or more (later inputs may be states, whose
// first dimension means something else).
// Errors: InvalidArgument naming the input and the flag --input-shape when a dimension stays open
// or a given shape contradicts the declared one; Unimplemented for element types that we lack, and
// for a fixed batch above 1 unless options.accept_any_batch.
absl::StatusOr<std::vector<TensorType>> ResolveInputTypes(const OnnxModel& model,
                                                          const ImportOptions& options);

}  // namespace qb::onnx_import
