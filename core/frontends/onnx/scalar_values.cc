#include "core/frontends/onnx/scalar_values.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace qb::onnx_import {
namespace {

// IEEE 754 half precision: 1 sign, 5 exponent and 10 fraction bits.
double DoubleOfHalf(uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const int fraction = bits & 0x3ff;
  double magnitude = 0.0;
  if (exponent == 0x1f) {
    magnitude = fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                              : std::numeric_limits<double>::infinity();
  } else if (exponent == 0) {
    magnitude = std::ldexp(fraction, -24);
  } else {
    magnitude = std::ldexp(fraction + 1024, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

uint16_t HalfOfDouble(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::abs(value);
  if (std::isnan(value)) {
    return sign | 0x7e00;
  }
  if (magnitude >= 65520.0) {  // rounds to infinity
    return sign | 0x7c00;
  }
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  // The distance of neighbours: 2^(exponent - 11), at least that of the denormals.
  const int step = std::max(exponent - 11, -24);
  const auto units = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, -step)));
  // A carry out of the fraction moves into the exponent as it should.
  return static_cast<uint16_t>(sign | (static_cast<uint32_t>(step + 24) * 1024 + units));
}

int64_t Truncated(double value) {
  if (std::isnan(value)) {
    return 0;
  }
  if (value >= 9223372036854775808.0) {
    return std::numeric_limits<int64_t>::max();
  }
  if (value <= -9223372036854775808.0) {
    return std::numeric_limits<int64_t>::min();
  }
  return static_cast<int64_t>(value);
}

template <typename To, typename From>
To Converted(From value) {
  if constexpr (std::is_same_v<To, int64_t> && std::is_floating_point_v<From>) {
    return Truncated(static_cast<double>(value));
  } else {
    return static_cast<To>(value);
  }
}

template <typename From, typename To>
std::vector<To> Read(const Tensor& tensor) {
  std::vector<To> values;
  values.reserve(static_cast<size_t>(tensor.elements()));
  for (const From value : tensor.values<From>()) {
    values.push_back(Converted<To>(value));
  }
  return values;
}

template <typename To>
std::vector<To> ReadAs(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kFloat32:
      return Read<float, To>(tensor);
    case DType::kFloat64:
      return Read<double, To>(tensor);
    case DType::kInt8:
      return Read<int8_t, To>(tensor);
    case DType::kInt16:
      return Read<int16_t, To>(tensor);
    case DType::kInt32:
      return Read<int32_t, To>(tensor);
    case DType::kInt64:
      return Read<int64_t, To>(tensor);
    case DType::kUint8:
    case DType::kBool:
      return Read<uint8_t, To>(tensor);
    case DType::kUint16:
      return Read<uint16_t, To>(tensor);
    case DType::kUint32:
      return Read<uint32_t, To>(tensor);
    case DType::kUint64:
      return Read<uint64_t, To>(tensor);
    case DType::kFloat16: {
      std::vector<To> values;
      for (const uint16_t bits : tensor.values<uint16_t>()) {
        values.push_back(Converted<To>(DoubleOfHalf(bits)));
      }
      return values;
    }
    case DType::kUndefined:
      break;
  }
  return {};
}

template <typename To, typename From>
void Write(const std::vector<From>& values, Tensor& tensor) {
  To* out = tensor.mutable_data<To>();
  for (size_t i = 0; i < values.size(); ++i) {
    if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
      out[i] = static_cast<To>(Truncated(values[i]));
    } else {
      out[i] = static_cast<To>(values[i]);
    }
  }
}

template <typename From>
Tensor WriteAs(DType dtype, Shape shape, const std::vector<From>& values) {
  Tensor tensor = Tensor::Allocate({dtype, std::move(shape)});
  QB_CHECK(static_cast<size_t>(tensor.elements()) == values.size());
  switch (dtype) {
    case DType::kFloat32:
      Write<float>(values, tensor);
      break;
    case DType::kFloat64:
      Write<double>(values, tensor);
      break;
    case DType::kInt8:
      Write<int8_t>(values, tensor);
      break;
    case DType::kInt16:
      Write<int16_t>(values, tensor);
      break;
    case DType::kInt32:
      Write<int32_t>(values, tensor);
      break;
    case DType::kInt64:
      Write<int64_t>(values, tensor);
      break;
    case DType::kUint8:
      Write<uint8_t>(values, tensor);
      break;
    case DType::kUint16:
      Write<uint16_t>(values, tensor);
      break;
    case DType::kUint32:
      Write<uint32_t>(values, tensor);
      break;
    case DType::kUint64:
      Write<uint64_t>(values, tensor);
      break;
    case DType::kBool:
      for (size_t i = 0; i < values.size(); ++i) {
        tensor.mutable_data<uint8_t>()[i] = values[i] != 0 ? 1 : 0;
      }
      break;
    case DType::kFloat16:
      for (size_t i = 0; i < values.size(); ++i) {
        tensor.mutable_data<uint16_t>()[i] = HalfOfDouble(static_cast<double>(values[i]));
      }
      break;
    case DType::kUndefined:
      break;
  }
  return tensor;
}

}  // namespace

std::vector<int64_t> IntegersOf(const Tensor& tensor) { return ReadAs<int64_t>(tensor); }

std::vector<double> DoublesOf(const Tensor& tensor) { return ReadAs<double>(tensor); }

Tensor TensorOfIntegers(DType dtype, Shape shape, const std::vector<int64_t>& values) {
  return WriteAs(dtype, std::move(shape), values);
}

Tensor TensorOfDoubles(DType dtype, Shape shape, const std::vector<double>& values) {
  return WriteAs(dtype, std::move(shape), values);
}

absl::StatusOr<Tensor> ScalarOf(DType dtype, double value) {
  Tensor scalar = TensorOfDoubles(dtype, {}, {value});
  if (IsInteger(dtype) && DoublesOf(scalar).front() != value) {
    return absl::InvalidArgumentError(
        absl::StrCat(value, " is no value of type ", DTypeName(dtype)));
  }
  return scalar;
}

}  // namespace qb::onnx_import
