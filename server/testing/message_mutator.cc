#include "server/testing/message_mutator.h"

#include <array>
#include <limits>

#include "core/base/uuid.h"

namespace qb::server {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;

constexpr size_t kMaxRepeated = 3000;

}  // namespace

int64_t MessageMutator::Number() {
  using Limits = std::numeric_limits<int64_t>;
  static constexpr auto kNumbers = std::to_array<int64_t>(
      {0, 1, -1, 2, 63, 64, 255, 256, 65'535, 1'000'000, int64_t{1} << 31, (int64_t{1} << 31) - 1,
       -(int64_t{1} << 31), int64_t{1} << 40, int64_t{1} << 62, Limits::max(), Limits::min()});
  return Pick(4) == 0 ? static_cast<int64_t>(random_()) : kNumbers[Pick(kNumbers.size())];
}

double MessageMutator::Fraction() {
  using Limits = std::numeric_limits<double>;
  static constexpr auto kFractions =
      std::to_array<double>({0, -0.0, 0.5, 1, 2, -1, 1e300, -1e300, Limits::denorm_min(),
                             Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()});
  return kFractions[Pick(kFractions.size())];
}

std::string MessageMutator::Text() {
  static const auto& texts = *new std::vector<std::string>({
      "",
      " ",
      "x",
      "..",
      "../../../etc/passwd",
      "/etc/passwd",
      "a/../b",
      "a\\b",
      "a//b",
      "con",
      std::string("nul\0l", 5),
      "line\nline: line",
      "\xe2\x80\xae\xef\xbb\xbf",
      "%s%n%d",
      "'; DROP TABLE job; --",
      "-1",
      "18446744073709551616",
      "1e999",
      "{",
      "{\"a\": 1, \"a\": 2}",
      "[1, 2",
      "a: &a [*a]",
      "calibration: {mode: 99}",
      "unknown_setting: 1",
      std::string(64, '0'),
      std::string(64, 'G'),
      std::string(65, 'a'),
      std::string(256, 'a'),
      std::string(5000, '['),
      std::string(70'000, 'a'),
      "STALE_ATTEMPT: no",
      "aries-rb",
      "regulus-rb",
      "model.mxq",
  });
  switch (Pick(8)) {
    case 0:
      return MakeUuidV7(static_cast<int64_t>(random_() >> 20));
    case 1: {
      std::string ascii(Pick(40), ' ');
      for (char& c : ascii) {
        c = static_cast<char>(1 + Pick(126));
      }
      return ascii;
    }
    default:
      return texts[Pick(texts.size())];
  }
}

void MessageMutator::SetScalar(Message& message, const FieldDescriptor* field) {
  const Reflection& fields = *message.GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return fields.SetInt32(&message, field, static_cast<int32_t>(Number()));
    case FieldDescriptor::CPPTYPE_INT64:
      return fields.SetInt64(&message, field, Number());
    case FieldDescriptor::CPPTYPE_UINT32:
      return fields.SetUInt32(&message, field, static_cast<uint32_t>(Number()));
    case FieldDescriptor::CPPTYPE_UINT64:
      return fields.SetUInt64(&message, field, static_cast<uint64_t>(Number()));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return fields.SetDouble(&message, field, Fraction());
    case FieldDescriptor::CPPTYPE_FLOAT:
      return fields.SetFloat(&message, field, static_cast<float>(Fraction()));
    case FieldDescriptor::CPPTYPE_BOOL:
      return fields.SetBool(&message, field, Pick(2) == 0);
    case FieldDescriptor::CPPTYPE_ENUM:
      return fields.SetEnumValue(&message, field,
                                 static_cast<int>(Pick(2) == 0 ? Pick(40) : Number()));
    case FieldDescriptor::CPPTYPE_STRING:
      return fields.SetString(&message, field, Text());
    case FieldDescriptor::CPPTYPE_MESSAGE:
      break;  // is descended into
  }
}

void MessageMutator::AddScalar(Message& message, const FieldDescriptor* field) {
  const Reflection& fields = *message.GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_ENUM:
      return fields.AddEnumValue(&message, field,
                                 static_cast<int>(Pick(2) == 0 ? Pick(40) : Number()));
    case FieldDescriptor::CPPTYPE_STRING:
      return fields.AddString(&message, field, Text());
    case FieldDescriptor::CPPTYPE_INT64:
      return fields.AddInt64(&message, field, Number());
    case FieldDescriptor::CPPTYPE_INT32:
      return fields.AddInt32(&message, field, static_cast<int32_t>(Number()));
    default:
      break;  // no request repeats other types
  }
}

void MessageMutator::MutateRepeated(Message& message, const FieldDescriptor* field) {
  const Reflection& fields = *message.GetReflection();
  const int size = fields.FieldSize(message, field);
  const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
  switch (Pick(size == 0 ? 2 : 6)) {
    case 0: {
      const size_t count = Pick(20) == 0 ? kMaxRepeated : 1 + Pick(3);
      for (size_t i = 0; i < count; ++i) {
        if (!is_message) {
          AddScalar(message, field);
        } else if (size > 0) {
          const Message& first = fields.GetRepeatedMessage(message, field, 0);
          fields.AddMessage(&message, field)->CopyFrom(first);
        } else {
          fields.AddMessage(&message, field);
        }
      }
      return;
    }
    case 1:
      return fields.ClearField(&message, field);
    case 2:
      return fields.RemoveLast(&message, field);
    default:
      if (is_message) {
        MutateOnce(*fields.MutableRepeatedMessage(
            &message, field, static_cast<int>(Pick(static_cast<size_t>(size)))));
      } else {
        AddScalar(message, field);
      }
  }
}

void MessageMutator::MutateOnce(Message& message) {
  const auto* type = message.GetDescriptor();
  if (type->field_count() == 0) {
    return;
  }
  const FieldDescriptor* field =
      type->field(static_cast<int>(Pick(static_cast<size_t>(type->field_count()))));
  const Reflection& fields = *message.GetReflection();
  if (field->is_repeated()) {
    MutateRepeated(message, field);
  } else if (Pick(8) == 0) {
    fields.ClearField(&message, field);
  } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    MutateOnce(*fields.MutableMessage(&message, field));
  } else {
    SetScalar(message, field);
  }
}

void MessageMutator::MutateFields(Message& message) {
  const size_t count = 1 + Pick(3);
  for (size_t i = 0; i < count; ++i) {
    MutateOnce(message);
  }
}

void MessageMutator::MutateBytes(std::string& bytes) {
  const size_t count = 1 + Pick(4);
  for (size_t i = 0; i < count; ++i) {
    const size_t at = Pick(bytes.size() + 1);
    const size_t length = Pick(16);
    switch (Pick(6)) {
      case 0:
        bytes.resize(at);
        break;
      case 1:
        bytes.erase(at, length);
        break;
      case 2:
        bytes.insert(at, length, static_cast<char>(Pick(256)));
        break;
      case 3:
        bytes.insert(at, bytes.substr(Pick(bytes.size() + 1), length));
        break;
      default:
        if (at < bytes.size()) {
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << Pick(8)));
        }
    }
  }
}

}  // namespace qb::server
