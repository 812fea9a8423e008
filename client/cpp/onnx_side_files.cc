#include "client/cpp/onnx_side_files.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace qb::client {
namespace {

constexpr int kMaxDepth = 100;

enum class Message { kModel, kGraph, kNode, kAttribute, kTensor, kSparse, kFunction, kEntry };

// Fields to descend into. Source: the numbers of onnx.proto3, which never change.
struct Descent {
  Message in;
  uint64_t field;
  Message into;
};
constexpr auto kDescents = std::to_array<Descent>({
    {Message::kModel, 7, Message::kGraph},
    {Message::kModel, 25, Message::kFunction},
    {Message::kGraph, 1, Message::kNode},
    {Message::kGraph, 5, Message::kTensor},
    {Message::kGraph, 15, Message::kSparse},
    {Message::kFunction, 7, Message::kNode},
    {Message::kNode, 5, Message::kAttribute},
    {Message::kAttribute, 5, Message::kTensor},
    {Message::kAttribute, 6, Message::kGraph},
    {Message::kAttribute, 10, Message::kTensor},
    {Message::kAttribute, 11, Message::kGraph},
    {Message::kAttribute, 22, Message::kSparse},
    {Message::kAttribute, 23, Message::kSparse},
    {Message::kSparse, 1, Message::kTensor},
    {Message::kSparse, 2, Message::kTensor},
    {Message::kTensor, 13, Message::kEntry},
});
constexpr uint64_t kEntryKey = 1;
constexpr uint64_t kEntryValue = 2;

std::optional<uint64_t> TakeVarint(absl::string_view& bytes) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (bytes.empty()) {
      return std::nullopt;
    }
    const auto byte = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) {
      return value;
    }
  }
  return std::nullopt;
}

struct Field {
  uint64_t number = 0;
  absl::string_view bytes;  // of a length-delimited field, else empty
  bool delimited = false;
};

// The next field of a message, or nothing at its end or where it is damaged.
std::optional<Field> TakeField(absl::string_view& bytes) {
  const std::optional<uint64_t> tag = TakeVarint(bytes);
  if (!tag.has_value()) {
    return std::nullopt;
  }
  Field field = {.number = *tag >> 3};
  uint64_t size = 0;
  switch (*tag & 7) {
    case 0:
      return TakeVarint(bytes).has_value() ? std::optional<Field>(field) : std::nullopt;
    case 1:
      size = 8;
      break;
    case 2: {
      const std::optional<uint64_t> length = TakeVarint(bytes);
      if (!length.has_value()) {
        return std::nullopt;
      }
      size = *length;
      field.delimited = true;
      break;
    }
    case 5:
      size = 4;
      break;
    default:  // groups do not exist in ONNX
      return std::nullopt;
  }
  if (size > bytes.size()) {
    return std::nullopt;
  }
  if (field.delimited) {
    field.bytes = bytes.substr(0, size);
  }
  bytes.remove_prefix(size);
  return field;
}

void AddLocation(absl::string_view entry, std::vector<std::string>& locations) {
  absl::string_view key;
  absl::string_view value;
  while (const std::optional<Field> field = TakeField(entry)) {
    if (field->number == kEntryKey) {
      key = field->bytes;
    } else if (field->number == kEntryValue) {
      value = field->bytes;
    }
  }
  const std::string location(value);
  if (key == "location" &&
      std::find(locations.begin(), locations.end(), location) == locations.end()) {
    locations.push_back(location);
  }
}

void Walk(Message message, absl::string_view bytes, int depth,
          std::vector<std::string>& locations) {
  if (message == Message::kEntry) {
    AddLocation(bytes, locations);
    return;
  }
  if (depth > kMaxDepth) {
    return;
  }
  while (const std::optional<Field> field = TakeField(bytes)) {
    for (const Descent& descent : kDescents) {
      if (field->delimited && descent.in == message && descent.field == field->number) {
        Walk(descent.into, field->bytes, depth + 1, locations);
      }
    }
  }
}

}  // namespace

std::vector<std::string> ExternalDataLocations(absl::string_view model_bytes) {
  std::vector<std::string> locations;
  Walk(Message::kModel, model_bytes, 0, locations);
  return locations;
}

}  // namespace qb::client
