#include "core/dataset/sample_layout.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/status_macros.h"

namespace qb {
namespace {

// IEEE 754 binary16 to binary32.
float HalfToFloat(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t exponent = half >> 10 & 0x1fu;
  const uint32_t fraction = half & 0x3ffu;
  if (exponent == 0) {
    const float magnitude = std::ldexp(static_cast<float>(fraction), -24);
    return sign != 0 ? -magnitude : magnitude;
  }
  const uint32_t wide = exponent == 31 ? 255u : exponent + 112u;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

bool IsSafeCast(DType from, DType to) {
  if (from == to) {
    return true;
  }
  if (to == DType::kFloat32) {
    return IsFloat(from) || IsInteger(from);
  }
  if (to == DType::kInt64) {
    return IsInteger(from) && from != DType::kUint64;
  }
  if (to == DType::kInt32) {
    return from == DType::kInt8 || from == DType::kInt16 || from == DType::kUint8 ||
           from == DType::kUint16;
  }
  return false;
}

template <typename From, typename To>
void CastElements(const Tensor& from, Tensor& to) {
  const From* source = from.data<From>();
  To* target = to.mutable_data<To>();
  const int64_t elements = from.elements();
  for (int64_t i = 0; i < elements; ++i) {
    // NOLINTNEXTLINE(bugprone-signed-char-misuse): int8_t is a number
    target[i] = static_cast<To>(source[i]);
  }
}

template <typename To>
void CastFrom(const Tensor& from, Tensor& to) {
  switch (from.dtype()) {
    case DType::kInt8:
      return CastElements<int8_t, To>(from, to);
    case DType::kInt16:
      return CastElements<int16_t, To>(from, to);
    case DType::kInt32:
      return CastElements<int32_t, To>(from, to);
    case DType::kInt64:
      return CastElements<int64_t, To>(from, to);
    case DType::kUint8:
      return CastElements<uint8_t, To>(from, to);
    case DType::kUint16:
      return CastElements<uint16_t, To>(from, to);
    case DType::kUint32:
      return CastElements<uint32_t, To>(from, to);
    case DType::kUint64:
      return CastElements<uint64_t, To>(from, to);
    case DType::kFloat64:
      return CastElements<double, To>(from, to);
    case DType::kFloat16: {
      const uint16_t* source = from.data<uint16_t>();
      To* target = to.mutable_data<To>();
      for (int64_t i = 0; i < from.elements(); ++i) {
        target[i] = static_cast<To>(HalfToFloat(source[i]));
      }
      return;
    }
    default:
      QB_CHECK_MSG(false, "no cast from ", DTypeName(from.dtype()));
  }
}

Tensor Cast(const Tensor& array, DType to) {
  if (array.dtype() == to) {
    return array;
  }
  Tensor result = Tensor::Allocate({to, array.shape()});
  switch (to) {
    case DType::kFloat32:
      CastFrom<float>(array, result);
      break;
    case DType::kInt64:
      CastFrom<int64_t>(array, result);
      break;
    case DType::kInt32:
      CastFrom<int32_t>(array, result);
      break;
    default:
      QB_CHECK_MSG(false, "no cast to ", DTypeName(to));
  }
  return result;
}

// The four-dimensional array with its axes permuted; batch is 1.
Tensor Permute(const Tensor& array, const std::vector<int64_t>& axes) {
  const Shape& shape = array.shape();
  const std::vector<int64_t> strides = shape.strides();
  Shape to({shape[axes[0]], shape[axes[1]], shape[axes[2]], shape[axes[3]]});
  Tensor result = Tensor::Allocate({array.dtype(), to});
  const int64_t size = SizeBytes(array.dtype());
  const char* source = static_cast<const char*>(array.raw());
  char* target = static_cast<char*>(result.mutable_raw());
  const auto stride = [&](int axis) {
    return strides[static_cast<size_t>(axes[static_cast<size_t>(axis)])];
  };
  for (int64_t a = 0; a < to[1]; ++a) {
    for (int64_t b = 0; b < to[2]; ++b) {
      for (int64_t c = 0; c < to[3]; ++c) {
        const int64_t from = a * stride(1) + b * stride(2) + c * stride(3);
        std::memcpy(target, source + from * size, static_cast<size_t>(size));
        target += size;
      }
    }
  }
  return result;
}

template <typename Float, typename Bits, Bits kExponent>
int64_t FirstNonFiniteOf(const Tensor& tensor) {
  const Bits* values = tensor.data<Bits>();
  const int64_t elements = tensor.elements();
  // A block at a time: the inner loop vectorizes, the position is looked for only in a bad block.
  constexpr int64_t kBlock = 4096;
  for (int64_t begin = 0; begin < elements; begin += kBlock) {
    const int64_t end = std::min(elements, begin + kBlock);
    uint32_t bad = 0;
    for (int64_t i = begin; i < end; ++i) {
      bad |= static_cast<uint32_t>((values[i] & kExponent) == kExponent);
    }
    if (bad == 0) {
      continue;
    }
    for (int64_t i = begin; i < end; ++i) {
      if ((values[i] & kExponent) == kExponent) {
        return i;
      }
    }
  }
  return -1;
}

// Channels, height and width are one number: both orders of the axes fit.
bool IsCube(const Shape& shape) {
  return shape.rank() == 4 && shape[1] == shape[2] && shape[2] == shape[3] && shape[1] > 1;
}

absl::Status BothReadings(const TensorType& found, const InputSpec& spec) {
  return absl::InvalidArgumentError(absl::StrCat(
      "found ", found.ToString(), ", which fits input '", spec.name, "' ", spec.type.ToString(),
      " read as CHW and read as HWC; an array with the batch axis (1x", found.shape.ToString(),
      ") is taken as it is"));
}

}  // namespace

absl::StatusOr<SampleReading> ChoosePixelReading(const TensorType& found, const InputSpec& spec,
                                                 bool channels_first) {
  SampleReading reading;
  reading.from = found.dtype;
  const Shape& want = spec.type.shape;
  const int64_t height = found.shape[0], width = found.shape[1], channels = found.shape[2];
  const bool batched = want.rank() == 4 && want[0] == 1;
  const std::vector<int64_t> tail(want.begin() + (batched ? 1 : 0), want.end());
  const bool first = tail == std::vector<int64_t>{channels, height, width};
  const bool last = tail == std::vector<int64_t>{height, width, channels};
  if (!IsSafeCast(found.dtype, spec.type.dtype) || (!first && !last)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "found pixels of ", height, "x", width, "x", channels, " (HWC, ", DTypeName(found.dtype),
        "), expected ", spec.type.ToString(), " of input '", spec.name, "'"));
  }
  if (first && last && channels > 1 && !channels_first) {
    return absl::InvalidArgumentError(
        absl::StrCat("pixels of ", height, "x", width, "x", channels, " fit input '", spec.name,
                     "' ", spec.type.ToString(),
                     " read as NCHW and read as NHWC; preprocessing.autoConvertFormat takes NCHW"));
  }
  if (first) {
    reading.transpose_axes = {0, 3, 1, 2};
    reading.note = "HWC read as NCHW";
  } else {
    reading.note = "HWC read as NHWC";
  }
  return reading;
}

Tensor AsFloat32(const Tensor& array) { return Cast(array, DType::kFloat32); }

absl::StatusOr<SampleReading> ChooseReading(const TensorType& found, const InputSpec& spec) {
  SampleReading reading;
  reading.from = found.dtype;
  const auto error = [&] {
    return absl::InvalidArgumentError(absl::StrCat("found ", found.ToString(), ", expected ",
                                                   spec.type.ToString(), " of input '", spec.name,
                                                   "'"));
  };
  if (!IsSafeCast(found.dtype, spec.type.dtype)) {
    return error();
  }
  if (found.dtype != spec.type.dtype) {
    reading.note = absl::StrCat(DTypeName(found.dtype), " read as ", DTypeName(spec.type.dtype));
  }
  const Shape& want = spec.type.shape;
  std::vector<int64_t> dims = found.shape.dims();
  if (found.shape.rank() + 1 == want.rank() && want[0] == 1) {
    dims.insert(dims.begin(), 1);
  }
  if (dims == want.dims()) {
    if (found.shape.rank() < want.rank() && IsCube(want)) {
      return BothReadings(found, spec);
    }
    return reading;
  }
  const bool batched = dims.size() == found.shape.dims().size();
  if (dims.size() != 4 || want.rank() != 4 || dims[0] != want[0]) {
    return error();
  }
  std::string layout;
  if (dims == std::vector<int64_t>{want[0], want[2], want[3], want[1]}) {
    reading.transpose_axes = {0, 3, 1, 2};
    layout = batched ? "NHWC read as NCHW" : "HWC read as NCHW";
  } else if (dims == std::vector<int64_t>{want[0], want[3], want[1], want[2]}) {
    reading.transpose_axes = {0, 2, 3, 1};
    layout = batched ? "NCHW read as NHWC" : "CHW read as NHWC";
  } else {
    return error();
  }
  reading.note = reading.note.empty() ? layout : absl::StrCat(reading.note, ", ", layout);
  return reading;
}

Tensor ApplyReading(const Tensor& array, const SampleReading& reading, const InputSpec& spec) {
  Tensor value = Cast(array, spec.type.dtype);
  if (!reading.transpose_axes.empty()) {
    std::vector<int64_t> dims = value.shape().dims();
    if (dims.size() == 3) {
      dims.insert(dims.begin(), 1);
    }
    value = Permute(value.Reshaped(Shape(dims)), reading.transpose_axes);
  }
  return value.Reshaped(spec.type.shape);
}

int64_t FirstNonFinite(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kFloat32:
      return FirstNonFiniteOf<float, uint32_t, 0x7f800000u>(tensor);
    case DType::kFloat64:
      return FirstNonFiniteOf<double, uint64_t, 0x7ff0000000000000u>(tensor);
    case DType::kFloat16:
      return FirstNonFiniteOf<float, uint16_t, 0x7c00u>(tensor);
    default:
      return -1;
  }
}

}  // namespace qb
