// The dry run of a calibration set: what the model would see, and what looks wrong about it.
#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/base/cancel_token.h"
#include "core/base/json.h"
#include "core/dataset/dataset.h"

namespace qb {

// {samples, inputs: [{name, type, min, max, channels: [{mean, deviation}]}], warnings: [text]} over
// all samples after their preparation. Channels are those of the input's shape where it tells them,
// else the whole input is one.
//
// Warnings are hints from the numbers alone: all samples alike, values that hardly vary behind a
// normalize (were they normalized before?), 0..255 that no step scales, a first channel darker than
// the third (BGR?).
//
// Errors: those of Load; CANCELLED.
absl::StatusOr<Json> CheckCalibrationSet(const Dataset& dataset, absl::Span<const InputSpec> inputs,
                                         const DatasetOptions& options, const CancelToken& cancel);

}  // namespace qb
