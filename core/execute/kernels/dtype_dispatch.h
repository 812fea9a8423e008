// From a run-time dtype to a compile-time element type.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "core/execute/kernel.h"
#include "core/ir/dtype.h"

namespace qb::execute {

template <typename T>
struct TypeTag {
  using type = T;
};

// Calls visit(TypeTag<T>{}) for the types that arithmetic runs in; the others are widened to these
// (widening.h). Errors: Unimplemented for types that are no numbers.
template <typename Visitor>
KernelOr DispatchArithmetic(DType dtype, Visitor&& visit) {
  switch (dtype) {
    case DType::kFloat32:
      return visit(TypeTag<float>{});
    case DType::kFloat64:
      return visit(TypeTag<double>{});
    case DType::kInt32:
      return visit(TypeTag<int32_t>{});
    case DType::kInt64:
      return visit(TypeTag<int64_t>{});
    case DType::kUint64:
      return visit(TypeTag<uint64_t>{});
    default:
      return absl::UnimplementedError(absl::StrCat("no kernel for ", DTypeName(dtype)));
  }
}

// Calls visit(TypeTag<U>{}) with the unsigned type of the element's size, for code that only moves.
template <typename Visitor>
KernelOr DispatchSize(DType dtype, Visitor&& visit) {
  switch (SizeBytes(dtype)) {
    case 1:
      return visit(TypeTag<uint8_t>{});
    case 2:
      return visit(TypeTag<uint16_t>{});
    case 4:
      return visit(TypeTag<uint32_t>{});
    case 8:
      return visit(TypeTag<uint64_t>{});
    default:
      return absl::UnimplementedError(absl::StrCat("no kernel for ", DTypeName(dtype)));
  }
}

}  // namespace qb::execute
