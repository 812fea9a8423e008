// Between integer networks and the messages of program.proto. Internal to core/npu.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/integer/network.h"
#include "core/npu/program.pb.h"

namespace qb::npu {

// Appends to weights.bin, each slice at a multiple of 64 bytes.
class WeightsWriter {
 public:
  // The offset at which the bytes lie.
  uint64_t Append(const void* bytes, size_t size);
  std::string Finish() { return std::move(weights_); }

 private:
  std::string weights_;
};

// Fills the tensor but for its space and address.
void EncodeTensor(const integer::TensorInfo& tensor, v1::Tensor* message);
// Errors: DataLoss for numbers out of range.
absl::StatusOr<integer::TensorInfo> DecodeTensor(const v1::Tensor& message);

// Fills the operation of a valid layer and writes its weights.
void EncodeOperation(const integer::LayerParams& params, WeightsWriter& weights,
                     v1::Layer* message);
// The parameters, unchecked but for numbers that do not fit their type and slices that leave
// `weights`: integer::ValidateNetwork does the rest. Errors: DataLoss.
absl::StatusOr<integer::LayerParams> DecodeOperation(const v1::Layer& message,
                                                     absl::string_view weights);

// The slice of `weights`. Errors: DataLoss when it leaves them.
absl::StatusOr<absl::string_view> SliceOf(absl::string_view weights, uint64_t offset, uint64_t size);

}  // namespace qb::npu
