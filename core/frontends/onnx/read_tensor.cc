#include "core/frontends/onnx/read_tensor.h"

#include <onnx/onnx_pb.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/frontends/onnx/onnx_model.h"

namespace qb::onnx_import {
namespace {

struct TypeRow {
  int32_t number;
  const char* name;
  DType dtype;
};

// By number: Debian's onnx_proto knows the first sixteen, newer files use the others.
constexpr auto kTypes = std::to_array<TypeRow>({
    {0, "UNDEFINED", DType::kUndefined},
    {1, "FLOAT", DType::kFloat32},
    {2, "UINT8", DType::kUint8},
    {3, "INT8", DType::kInt8},
    {4, "UINT16", DType::kUint16},
    {5, "INT16", DType::kInt16},
    {6, "INT32", DType::kInt32},
    {7, "INT64", DType::kInt64},
    {8, "STRING", DType::kUndefined},
    {9, "BOOL", DType::kBool},
    {10, "FLOAT16", DType::kFloat16},
    {11, "DOUBLE", DType::kFloat64},
    {12, "UINT32", DType::kUint32},
    {13, "UINT64", DType::kUint64},
    {14, "COMPLEX64", DType::kUndefined},
    {15, "COMPLEX128", DType::kUndefined},
    {16, "BFLOAT16", DType::kUndefined},
    {17, "FLOAT8E4M3FN", DType::kUndefined},
    {18, "FLOAT8E4M3FNUZ", DType::kUndefined},
    {19, "FLOAT8E5M2", DType::kUndefined},
    {20, "FLOAT8E5M2FNUZ", DType::kUndefined},
    {21, "UINT4", DType::kUndefined},
    {22, "INT4", DType::kUndefined},
    {23, "FLOAT4E2M1", DType::kUndefined},
});

absl::Status CountMismatch(int64_t got, int64_t wanted, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("has ", got, " ", what, ", its shape needs ", wanted));
}

// Truth values come from outside as arbitrary bytes; kernels rely on 0 and 1.
bool NeedsNormalizing(const TensorType& type, const uint8_t* bytes) {
  if (type.dtype != DType::kBool) {
    return false;
  }
  for (int64_t i = 0; i < type.size_bytes(); ++i) {
    if (bytes[i] > 1) {
      return true;
    }
  }
  return false;
}

// A tensor on bytes that `owner` holds; copied only when they are misaligned or not normalized.
Tensor OnBytes(const TensorType& type, const uint8_t* bytes, std::shared_ptr<const void> owner) {
  const bool aligned =
      reinterpret_cast<uintptr_t>(bytes) % static_cast<uintptr_t>(SizeBytes(type.dtype)) == 0;
  if (aligned && !NeedsNormalizing(type, bytes)) {
    return Tensor::Borrow(type, bytes, std::move(owner));
  }
  Tensor copy = Tensor::Allocate(type);
  std::memcpy(copy.mutable_raw(), bytes, static_cast<size_t>(type.size_bytes()));
  if (type.dtype == DType::kBool) {
    uint8_t* values = copy.mutable_data<uint8_t>();
    for (int64_t i = 0; i < type.size_bytes(); ++i) {
      values[i] = values[i] != 0 ? 1 : 0;
    }
  }
  return copy;
}

absl::StatusOr<Tensor> FromRawData(const TensorType& type, onnx::TensorProto& proto) {
  const auto size = static_cast<int64_t>(proto.raw_data().size());
  if (size != type.size_bytes()) {
    return CountMismatch(size, type.size_bytes(), "bytes of raw data");
  }
  const std::shared_ptr<const std::string> raw(proto.release_raw_data());
  return OnBytes(type, reinterpret_cast<const uint8_t*>(raw->data()), raw);
}

template <typename To, typename Field>
absl::StatusOr<Tensor> FromField(const TensorType& type, const Field& field) {
  const int64_t wanted = type.shape.elements();
  if (field.size() != wanted) {
    return CountMismatch(field.size(), wanted, "values");
  }
  Tensor tensor = Tensor::Allocate(type);
  To* out = tensor.mutable_data<To>();
  for (int i = 0; i < field.size(); ++i) {
    out[i] = static_cast<To>(field.Get(i));
  }
  return tensor;
}

absl::StatusOr<Tensor> FromTypedField(const TensorType& type, const onnx::TensorProto& proto) {
  switch (type.dtype) {
    case DType::kFloat32:
      return FromField<float>(type, proto.float_data());
    case DType::kFloat64:
      return FromField<double>(type, proto.double_data());
    case DType::kInt64:
      return FromField<int64_t>(type, proto.int64_data());
    case DType::kUint64:
      return FromField<uint64_t>(type, proto.uint64_data());
    case DType::kUint32:
      return FromField<uint32_t>(type, proto.uint64_data());
    case DType::kInt32:
      return FromField<int32_t>(type, proto.int32_data());
    case DType::kInt16:
      return FromField<int16_t>(type, proto.int32_data());
    case DType::kInt8:
      return FromField<int8_t>(type, proto.int32_data());
    case DType::kUint16:
    case DType::kFloat16:  // the bits of the half float
      return FromField<uint16_t>(type, proto.int32_data());
    case DType::kUint8:
      return FromField<uint8_t>(type, proto.int32_data());
    case DType::kBool: {
      QB_ASSIGN_OR_RETURN(Tensor bits, FromField<uint8_t>(type, proto.int32_data()));
      const auto* bytes = static_cast<const uint8_t*>(bits.raw());
      return NeedsNormalizing(type, bytes) ? OnBytes(type, bytes, nullptr) : bits;
    }
    case DType::kUndefined:
      break;
  }
  return absl::InternalError("an element type without a field");
}

absl::StatusOr<ExternalPlace> ReadPlace(const onnx::TensorProto& proto) {
  ExternalPlace place;
  for (const onnx::StringStringEntryProto& entry : proto.external_data()) {
    int64_t number = 0;
    if (entry.key() == "location") {
      place.location = entry.value();
    } else if (entry.key() == "offset" || entry.key() == "length") {
      if (!absl::SimpleAtoi(entry.value(), &number) || number < 0) {
        return absl::InvalidArgumentError(absl::StrCat("external data has ", entry.key(), " '",
                                                       entry.value().substr(0, 64),
                                                       "', a number of bytes is accepted"));
      }
      (entry.key() == "offset" ? place.offset : place.length) = number;
    } else if (entry.key() != "checksum") {  // SHA-1 of the file; the bytes are what they are
      return absl::InvalidArgumentError(
          absl::StrCat("external data has the key '", entry.key().substr(0, 64),
                       "'; location, offset, length and checksum are accepted"));
    }
  }
  return place;
}

absl::StatusOr<Tensor> FromExternal(const TensorType& type, const onnx::TensorProto& proto,
                                    ExternalFiles& files) {
  QB_ASSIGN_OR_RETURN(const ExternalPlace place, ReadPlace(proto));
  QB_ASSIGN_OR_RETURN(ExternalBytes bytes, files.Find(place, type.size_bytes()));
  if (type.size_bytes() == 0) {
    return Tensor::Allocate(type);
  }
  return OnBytes(type, bytes.data, std::move(bytes.owner));
}

absl::StatusOr<Tensor> Read(onnx::TensorProto& proto, ExternalFiles& files) {
  const DType dtype = DTypeFromOnnx(proto.data_type());
  if (dtype == DType::kUndefined) {
    return absl::UnimplementedError(absl::StrCat(
        "has element type ", OnnxTypeName(proto.data_type()), ", which is not supported"));
  }
  if (proto.has_segment()) {
    return absl::UnimplementedError("is stored in segments, which is not supported");
  }
  std::vector<int64_t> dims(proto.dims().begin(), proto.dims().end());
  if (dims.size() > kMostRank) {
    return absl::InvalidArgumentError(
        absl::StrCat("has rank ", dims.size(), "; at most ", kMostRank, " is supported"));
  }
  QB_RETURN_IF_ERROR(CheckedElements(dims).status());
  const TensorType type{dtype, Shape(std::move(dims))};
  if (proto.data_location() == onnx::TensorProto::EXTERNAL) {
    return FromExternal(type, proto, files);
  }
  return proto.has_raw_data() ? FromRawData(type, proto) : FromTypedField(type, proto);
}

}  // namespace

DType DTypeFromOnnx(int32_t data_type) {
  for (const TypeRow& row : kTypes) {
    if (row.number == data_type) {
      return row.dtype;
    }
  }
  return DType::kUndefined;
}

std::string OnnxTypeName(int32_t data_type) {
  for (const TypeRow& row : kTypes) {
    if (row.number == data_type) {
      return row.name;
    }
  }
  return absl::StrCat("type ", data_type);
}

absl::StatusOr<Tensor> ReadTensor(onnx::TensorProto& proto, ExternalFiles& files) {
  absl::StatusOr<Tensor> tensor = Read(proto, files);
  if (!tensor.ok()) {
    return absl::Status(
        tensor.status().code(),
        absl::StrCat("tensor '", proto.name().substr(0, 256), "': ", tensor.status().message()));
  }
  return tensor;
}

}  // namespace qb::onnx_import
