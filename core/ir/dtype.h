// Element types.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace qb {

// Frozen: the numbers are those of onnx.TensorProto.DataType and are written to disk.
enum class DType : uint8_t {
  kUndefined = 0,
  kFloat32 = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kBool = 9,
  kFloat16 = 10,
  kFloat64 = 11,
  kUint32 = 12,
  kUint64 = 13,
};

// Bytes of one element; 0 for kUndefined.
int64_t SizeBytes(DType dtype);
// "float32", "int8", ... ; "undefined" for kUndefined.
absl::string_view DTypeName(DType dtype);
std::optional<DType> DTypeFromName(absl::string_view name);
bool IsFloat(DType dtype);
bool IsInteger(DType dtype);  // not kBool

}  // namespace qb
