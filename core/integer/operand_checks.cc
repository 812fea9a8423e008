#include "core/integer/operand_checks.h"

#include "core/base/status_macros.h"
#include "core/integer/requant.h"
#include "core/integer/tables.h"

namespace qb::integer::internal {

absl::Status CheckRequant(Requant requant) {
  if (requant.mantissa < 0 || requant.shift < 1 || requant.shift > 62) {
    return Bad("requantization ", requant.mantissa, " / 2^", requant.shift,
               "; accepted: mantissa >= 0, shift 1 to 62");
  }
  return absl::OkStatus();
}

absl::Status CheckClamp(int32_t low, int32_t high, DType dtype) {
  if (low < LeastCode(dtype) || high > MostCode(dtype) || low > high) {
    return Bad("clamp to [", low, ", ", high, "]; accepted: an interval within [", LeastCode(dtype),
               ", ", MostCode(dtype), "]");
  }
  return absl::OkStatus();
}

absl::Status CheckInt8(const Operands& t) {
  for (size_t i = 0; i < t.count(); ++i) {
    if (t.x(i).dtype != DType::kInt8) {
      return Bad("input ", i, " has type ", DTypeName(t.x(i).dtype), "; accepted: int8");
    }
  }
  if (t.y().dtype != DType::kInt8) {
    return Bad("the output has type ", DTypeName(t.y().dtype), "; accepted: int8");
  }
  return absl::OkStatus();
}

bool IsCode(const TensorInfo& tensor) {
  return tensor.dtype == DType::kInt8 || tensor.dtype == DType::kInt16;
}

absl::Status CheckCodes(const Operands& t) {
  for (size_t i = 0; i < t.count(); ++i) {
    if (!IsCode(t.x(i))) {
      return Bad("input ", i, " has type ", DTypeName(t.x(i).dtype), "; accepted: int8, int16");
    }
  }
  if (!IsCode(t.y())) {
    return Bad("the output has type ", DTypeName(t.y().dtype), "; accepted: int8, int16");
  }
  return absl::OkStatus();
}

absl::Status CheckSameType(const Operands& t) {
  for (size_t i = 0; i < t.count(); ++i) {
    if (t.x(i).dtype != t.y().dtype) {
      return Bad("input ", i, " has type ", DTypeName(t.x(i).dtype), ", the output ",
                 DTypeName(t.y().dtype), "; accepted: one type");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckShape(const Operands& t, const std::vector<int64_t>& dims) {
  if (t.y().shape.dims() != dims) {
    return Bad("the output has shape ", t.y().shape.ToString(), "; the layer makes ",
               Shape(dims).ToString());
  }
  return absl::OkStatus();
}

absl::Status CheckRank4(const Operands& t) {
  if (t.x(0).shape.rank() != 4 || t.y().shape.rank() != 4 || t.x(0).shape[0] != 1 ||
      t.y().shape[0] != 1) {
    return Bad("shapes ", t.x(0).shape.ToString(), " and ", t.y().shape.ToString(),
               "; accepted: NHWC with batch 1");
  }
  return absl::OkStatus();
}

absl::Status CheckRequants(const std::vector<Requant>& requants) {
  for (const Requant& requant : requants) {
    QB_RETURN_IF_ERROR(CheckRequant(requant));
  }
  return absl::OkStatus();
}

absl::Status CheckSameElements(const Operands& t) {
  if (t.x(0).shape.elements() != t.y().shape.elements()) {
    return Bad("the input has shape ", t.x(0).shape.ToString(), ", the output ",
               t.y().shape.ToString(), "; accepted: as many elements");
  }
  return absl::OkStatus();
}

absl::Status CheckKnots(const LutParams& p, const Operands& t) {
  QB_RETURN_IF_ERROR(CheckCodes(t));
  if (p.knots.size() != kLookupKnots || !p.table.empty()) {
    return Bad("the table of an int16 input has ", p.knots.size(), " knots and ", p.table.size(),
               " entries; accepted: ", kLookupKnots, " and 0");
  }
  for (const int16_t knot : p.knots) {
    if (knot < -kMostKnot || knot > kMostKnot) {
      return Bad("a knot is ", knot, "; accepted: magnitudes up to ", kMostKnot);
    }
  }
  const Shape& shape = t.y().shape;
  const size_t channels = shape.rank() == 0 ? 1 : static_cast<size_t>(shape[shape.rank() - 1]);
  if (p.requant.size() != 1 && (p.requant.size() != channels || t.x(0).shape != shape)) {
    return Bad("the table has ", p.requant.size(), " multipliers; accepted: 1, or ", channels,
               " where input and output have one shape");
  }
  return CheckRequants(p.requant);
}

}  // namespace qb::integer::internal
