#include "core/ops/constant_text.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/digest.h"
#include "core/base/status_macros.h"

namespace qb {
namespace {

// Calls `visit` with a value of the C++ type that holds elements of `dtype` (float16: its bits).
template <typename Visitor>
auto VisitDType(DType dtype, Visitor&& visit) {
  switch (dtype) {
    case DType::kFloat32:
      return visit(float{});
    case DType::kFloat64:
      return visit(double{});
    case DType::kUint8:
    case DType::kBool:
      return visit(uint8_t{});
    case DType::kInt8:
      return visit(int8_t{});
    case DType::kUint16:
    case DType::kFloat16:
      return visit(uint16_t{});
    case DType::kInt16:
      return visit(int16_t{});
    case DType::kInt32:
      return visit(int32_t{});
    case DType::kUint32:
      return visit(uint32_t{});
    case DType::kUint64:
      return visit(uint64_t{});
    case DType::kInt64:
    case DType::kUndefined:
      break;
  }
  QB_CHECK(dtype == DType::kInt64);
  return visit(int64_t{});
}

template <typename T>
std::string ElementToken(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return FloatToken(value);
  } else if constexpr (sizeof(T) == 1) {
    return absl::StrCat(static_cast<int>(value));
  } else {
    return absl::StrCat(value);
  }
}

template <typename T>
absl::StatusOr<T> ReadElement(TextScanner& scanner) {
  QB_ASSIGN_OR_RETURN(const std::string token, scanner.ReadNumber("a value"));
  if constexpr (std::is_same_v<T, float>) {
    if (float value = 0; absl::SimpleAtof(token, &value)) {
      return value;
    }
  } else if constexpr (std::is_same_v<T, double>) {
    if (double value = 0; absl::SimpleAtod(token, &value)) {
      return value;
    }
  } else {
    using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
    Wide value = 0;
    if (absl::SimpleAtoi(token, &value) && value >= Wide{std::numeric_limits<T>::min()} &&
        value <= Wide{std::numeric_limits<T>::max()}) {
      return static_cast<T>(value);
    }
  }
  return scanner.Error(absl::StrCat("'", token, "' is no value of this type"));
}

template <typename T>
absl::Status ReadList(TextScanner& scanner, Tensor& tensor) {
  QB_RETURN_IF_ERROR(scanner.Expect('['));
  T* out = tensor.mutable_data<T>();
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    if (i > 0) {
      QB_RETURN_IF_ERROR(scanner.Expect(','));
    }
    QB_ASSIGN_OR_RETURN(out[i], ReadElement<T>(scanner));
  }
  return scanner.Expect(']');
}

template <typename T>
absl::Status ReadSplat(TextScanner& scanner, Tensor& tensor) {
  QB_RETURN_IF_ERROR(scanner.Expect('('));
  QB_ASSIGN_OR_RETURN(const T value, ReadElement<T>(scanner));
  T* out = tensor.mutable_data<T>();
  std::fill(out, out + tensor.elements(), value);
  return scanner.Expect(')');
}

// SplitMix64: equal on every platform, unlike the distributions of <random>.
uint64_t NextRandom(uint64_t& state) {
  state += 0x9e3779b97f4a7c15u;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

absl::Status ReadRandom(TextScanner& scanner, Tensor& tensor) {
  if (tensor.dtype() != DType::kFloat32) {
    return scanner.Error(
        absl::StrCat("random values of ", DTypeName(tensor.dtype()), "; accepted: float32"));
  }
  QB_RETURN_IF_ERROR(scanner.Expect('('));
  QB_ASSIGN_OR_RETURN(const int64_t seed, scanner.ReadInteger("a seed"));
  uint64_t state = static_cast<uint64_t>(seed);
  float* out = tensor.mutable_data<float>();
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    // 24 bits: exact in a float, and the result stays below 1.
    out[i] = static_cast<float>(NextRandom(state) >> 40) * 0x1p-23f - 1.0f;
  }
  return scanner.Expect(')');
}

}  // namespace

std::string ConstantToken(const Tensor& tensor, int64_t most_values) {
  if (tensor.elements() > most_values) {
    return absl::StrCat("sha256(",
                        Sha256Hex(absl::string_view(static_cast<const char*>(tensor.raw()),
                                                    static_cast<size_t>(tensor.size_bytes()))),
                        ")");
  }
  std::string token = "[";
  VisitDType(tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* values = tensor.data<T>();
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      absl::StrAppend(&token, i == 0 ? "" : ", ", ElementToken(values[i]));
    }
  });
  return token + "]";
}

absl::StatusOr<Tensor> ReadConstant(TextScanner& scanner, const TensorType& type) {
  Tensor tensor = Tensor::Allocate(type);
  if (scanner.Peek('[')) {
    QB_RETURN_IF_ERROR(VisitDType(
        type.dtype, [&](auto zero) { return ReadList<decltype(zero)>(scanner, tensor); }));
    return tensor;
  }
  QB_ASSIGN_OR_RETURN(const std::string form, scanner.ReadIdentifier("'[', splat or random"));
  if (form == "splat") {
    QB_RETURN_IF_ERROR(VisitDType(
        type.dtype, [&](auto zero) { return ReadSplat<decltype(zero)>(scanner, tensor); }));
    return tensor;
  }
  if (form == "random") {
    QB_RETURN_IF_ERROR(ReadRandom(scanner, tensor));
    return tensor;
  }
  return scanner.Error(absl::StrCat("'", form,
                                    "' gives no values; accepted: [...], splat(value), "
                                    "random(seed)"));
}

}  // namespace qb
