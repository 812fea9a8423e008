#include "core/ir/dtype.h"

#include <array>

namespace qb {
namespace {

struct DTypeRow {
  DType dtype;
  absl::string_view name;
  int64_t size_bytes;
};

constexpr auto kDTypes = std::to_array<DTypeRow>({
    {DType::kUndefined, "undefined", 0},
    {DType::kFloat32, "float32", 4},
    {DType::kUint8, "uint8", 1},
    {DType::kInt8, "int8", 1},
    {DType::kUint16, "uint16", 2},
    {DType::kInt16, "int16", 2},
    {DType::kInt32, "int32", 4},
    {DType::kInt64, "int64", 8},
    {DType::kBool, "bool", 1},
    {DType::kFloat16, "float16", 2},
    {DType::kFloat64, "float64", 8},
    {DType::kUint32, "uint32", 4},
    {DType::kUint64, "uint64", 8},
});

const DTypeRow& RowOf(DType dtype) {
  for (const DTypeRow& row : kDTypes) {
    if (row.dtype == dtype) {
      return row;
    }
  }
  return kDTypes[0];
}

}  // namespace

int64_t SizeBytes(DType dtype) { return RowOf(dtype).size_bytes; }
absl::string_view DTypeName(DType dtype) { return RowOf(dtype).name; }

std::optional<DType> DTypeFromName(absl::string_view name) {
  for (const DTypeRow& row : kDTypes) {
    if (row.name == name && row.dtype != DType::kUndefined) {
      return row.dtype;
    }
  }
  return std::nullopt;
}

bool IsFloat(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kFloat64;
}

bool IsInteger(DType dtype) {
  return dtype != DType::kUndefined && dtype != DType::kBool && !IsFloat(dtype);
}

}  // namespace qb
