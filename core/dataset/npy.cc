#include "core/dataset/npy.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/file_map.h"
#include "core/base/status_macros.h"

namespace qb {
namespace {

// magic "\x93NUMPY" | major u8 | minor u8 | header length u16 (version 1) or u32, little endian |
// header: a Python dict literal | elements
constexpr absl::string_view kMagic("\x93NUMPY", 6);
constexpr int64_t kMaxHeaderBytes = int64_t{64} << 10;
constexpr size_t kMaxRank = 32;

struct Descr {
  absl::string_view code;
  DType dtype;
};

constexpr auto kDescrs = std::to_array<Descr>({
    {"f4", DType::kFloat32},
    {"f8", DType::kFloat64},
    {"f2", DType::kFloat16},
    {"i1", DType::kInt8},
    {"i2", DType::kInt16},
    {"i4", DType::kInt32},
    {"i8", DType::kInt64},
    {"u1", DType::kUint8},
    {"u2", DType::kUint16},
    {"u4", DType::kUint32},
    {"u8", DType::kUint64},
    {"b1", DType::kBool},
});

// A cursor over the dict literal. Only what numpy writes is accepted: strings without escapes,
// True, False, tuples of integers.
class HeaderCursor {
 public:
  explicit HeaderCursor(absl::string_view text) : text_(text) {}

  bool Consume(char wanted) {
    SkipSpace();
    if (position_ < text_.size() && text_[position_] == wanted) {
      ++position_;
      return true;
    }
    return false;
  }

  std::optional<absl::string_view> String() {
    SkipSpace();
    if (position_ >= text_.size() || (text_[position_] != '\'' && text_[position_] != '"')) {
      return std::nullopt;
    }
    const char quote = text_[position_];
    const size_t end = text_.find(quote, position_ + 1);
    if (end == absl::string_view::npos) {
      return std::nullopt;
    }
    const absl::string_view value = text_.substr(position_ + 1, end - position_ - 1);
    position_ = end + 1;
    return value;
  }

  std::optional<bool> Bool() {
    SkipSpace();
    for (const auto& [word, value] : {std::pair<absl::string_view, bool>{"True", true},
                                      std::pair<absl::string_view, bool>{"False", false}}) {
      if (absl::StartsWith(text_.substr(position_), word)) {
        position_ += word.size();
        return value;
      }
    }
    return std::nullopt;
  }

  std::optional<std::vector<int64_t>> Tuple() {
    if (!Consume('(')) {
      return std::nullopt;
    }
    std::vector<int64_t> values;
    while (!Consume(')')) {
      SkipSpace();
      const size_t begin = position_;
      while (position_ < text_.size() && text_[position_] >= '0' && text_[position_] <= '9') {
        ++position_;
      }
      int64_t value = 0;
      if (!absl::SimpleAtoi(text_.substr(begin, position_ - begin), &value) ||
          values.size() >= kMaxRank) {
        return std::nullopt;
      }
      values.push_back(value);
      // Python 2 wrote long integers with a suffix.
      if (position_ < text_.size() && text_[position_] == 'L') {
        ++position_;
      }
      if (!Consume(',') && !Peek(')')) {
        return std::nullopt;
      }
    }
    return values;
  }

  bool Peek(char wanted) {
    SkipSpace();
    return position_ < text_.size() && text_[position_] == wanted;
  }

  bool AtEnd() {
    SkipSpace();
    return position_ == text_.size();
  }

 private:
  void SkipSpace() {
    while (position_ < text_.size() &&
           (text_[position_] == ' ' || text_[position_] == '\n' || text_[position_] == '\t')) {
      ++position_;
    }
  }

  absl::string_view text_;
  size_t position_ = 0;
};

absl::Status ParseDescr(absl::string_view descr, NpyHeader& header) {
  absl::string_view code = descr;
  if (!code.empty() && absl::StrContains("<>|=", code.substr(0, 1))) {
    header.big_endian = code[0] == '>';
    code.remove_prefix(1);
  }
  for (const Descr& row : kDescrs) {
    if (row.code == code) {
      header.type.dtype = row.dtype;
      return absl::OkStatus();
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("element type '", descr.substr(0, 40),
                   "' is not accepted; plain booleans, integers and floats are (objects are never "
                   "unpickled)"));
}

absl::Status ParseField(absl::string_view key, HeaderCursor& cursor, NpyHeader& header,
                        std::vector<int64_t>& dims) {
  if (key == "descr") {
    const std::optional<absl::string_view> descr = cursor.String();
    if (!descr.has_value()) {
      return absl::InvalidArgumentError("a record type is not accepted; plain numbers are");
    }
    return ParseDescr(*descr, header);
  }
  if (key == "fortran_order") {
    if (const std::optional<bool> value = cursor.Bool(); value.has_value()) {
      header.fortran_order = *value;
      return absl::OkStatus();
    }
  }
  if (key == "shape") {
    if (std::optional<std::vector<int64_t>> value = cursor.Tuple(); value.has_value()) {
      dims = std::move(*value);
      return absl::OkStatus();
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the .npy header's field '", key.substr(0, 40), "' cannot be read"));
}

absl::Status ParseDict(absl::string_view text, NpyHeader& header) {
  HeaderCursor cursor(text);
  std::vector<int64_t> dims;
  std::vector<absl::string_view> seen;
  if (!cursor.Consume('{')) {
    return absl::InvalidArgumentError("the .npy header is no dictionary");
  }
  while (!cursor.Consume('}')) {
    const std::optional<absl::string_view> key = cursor.String();
    if (!key.has_value() || !cursor.Consume(':') || seen.size() >= 3 ||
        std::find(seen.begin(), seen.end(), *key) != seen.end()) {
      return absl::InvalidArgumentError("the .npy header is malformed");
    }
    seen.push_back(*key);
    QB_RETURN_IF_ERROR(ParseField(*key, cursor, header, dims));
    if (!cursor.Consume(',') && !cursor.Peek('}')) {
      return absl::InvalidArgumentError("the .npy header is malformed");
    }
  }
  if (seen.size() != 3 || !cursor.AtEnd()) {
    return absl::InvalidArgumentError(
        "the .npy header must have exactly the fields descr, fortran_order and shape");
  }
  QB_RETURN_IF_ERROR(CheckedElements(dims).status());
  header.type.shape = Shape(std::move(dims));
  return absl::OkStatus();
}

uint64_t LittleEndian(absl::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) {
    value = value << 8 | static_cast<uint8_t>(bytes[i]);
  }
  return value;
}

// Copies one element, swapping its bytes when asked.
void CopyElement(const char* from, char* to, size_t size, bool swap) {
  std::memcpy(to, from, size);
  if (swap) {
    std::reverse(to, to + size);
  }
}

void CopyElements(const NpyHeader& header, const char* from, char* to) {
  const Shape& shape = header.type.shape;
  const int64_t elements = shape.elements();
  const size_t size = static_cast<size_t>(SizeBytes(header.type.dtype));
  if (!header.fortran_order || shape.rank() < 2) {
    if (!header.big_endian) {
      std::memcpy(to, from, static_cast<size_t>(elements) * size);
      return;
    }
    for (int64_t i = 0; i < elements; ++i) {
      const size_t at = static_cast<size_t>(i) * size;
      CopyElement(from + at, to + at, size, true);
    }
    return;
  }
  // The first index runs fastest in the file: walk the file, step through the row-major result.
  const std::vector<int64_t> strides = shape.strides();
  std::vector<int64_t> index(static_cast<size_t>(shape.rank()), 0);
  int64_t target = 0;
  for (int64_t i = 0; i < elements; ++i) {
    CopyElement(from + static_cast<size_t>(i) * size, to + static_cast<size_t>(target) * size, size,
                header.big_endian);
    for (size_t axis = 0; axis < index.size(); ++axis) {
      target += strides[axis];
      if (++index[axis] < shape[static_cast<int64_t>(axis)]) {
        break;
      }
      target -= strides[axis] * index[axis];
      index[axis] = 0;
    }
  }
}

}  // namespace

absl::StatusOr<NpyHeader> ParseNpyHeader(absl::string_view bytes) {
  if (bytes.size() < 12 || !absl::StartsWith(bytes, kMagic)) {
    return absl::InvalidArgumentError(
        absl::StrCat("not a .npy file (", bytes.size(), " bytes without its signature)"));
  }
  const int major = static_cast<uint8_t>(bytes[6]);
  if (major < 1 || major > 3) {
    return absl::InvalidArgumentError(
        absl::StrCat(".npy version ", major, " is not known; 1, 2 and 3 are"));
  }
  const size_t length_bytes = major == 1 ? 2 : 4;
  const int64_t length = static_cast<int64_t>(LittleEndian(bytes.substr(8, length_bytes)));
  NpyHeader header;
  header.data_offset = static_cast<int64_t>(8 + length_bytes) + length;
  if (length > kMaxHeaderBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the .npy header has ", length, " bytes; at most 65536 are accepted"));
  }
  const int64_t size = static_cast<int64_t>(bytes.size());
  if (header.data_offset > size) {
    return absl::InvalidArgumentError("the file ends within its .npy header");
  }
  QB_RETURN_IF_ERROR(
      ParseDict(bytes.substr(8 + length_bytes, static_cast<size_t>(length)), header));
  const int64_t wanted = header.type.size_bytes();
  if (size - header.data_offset < wanted) {
    return absl::InvalidArgumentError(absl::StrCat("the file is cut off: ", header.type.ToString(),
                                                   " needs ", wanted, " bytes, there are ",
                                                   size - header.data_offset));
  }
  return header;
}

absl::StatusOr<Tensor> ParseNpy(absl::string_view bytes) {
  QB_ASSIGN_OR_RETURN(const NpyHeader header, ParseNpyHeader(bytes));
  Tensor tensor = Tensor::Allocate(header.type);
  if (tensor.elements() > 0) {
    CopyElements(header, bytes.data() + header.data_offset,
                 static_cast<char*>(tensor.mutable_raw()));
  }
  return tensor;
}

absl::StatusOr<Tensor> ReadNpy(const std::string& path) {
  QB_ASSIGN_OR_RETURN(const FileMap file, FileMap::Open(path));
  return ParseNpy(file.bytes());
}

std::string SerializeNpy(const Tensor& tensor) {
  std::string descr;
  for (const Descr& row : kDescrs) {
    if (row.dtype == tensor.dtype()) {
      descr = absl::StrCat(SizeBytes(tensor.dtype()) == 1 ? "|" : "<", row.code);
    }
  }
  QB_CHECK_MSG(!descr.empty(), "dtype ", DTypeName(tensor.dtype()), " has no .npy code");
  const bool single = tensor.shape().rank() == 1;
  std::string header =
      absl::StrCat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (",
                   absl::StrJoin(tensor.shape().dims(), ", "), single ? ",), }" : "), }");
  const size_t prefix = kMagic.size() + 4;
  header.append((64 - (prefix + header.size() + 1) % 64) % 64, ' ');
  header.push_back('\n');
  std::string bytes(kMagic.data(), kMagic.size());
  bytes.append({'\x01', '\x00', static_cast<char>(header.size() & 0xff),
                static_cast<char>(header.size() >> 8)});
  bytes.append(header);
  bytes.append(static_cast<const char*>(tensor.raw()), static_cast<size_t>(tensor.size_bytes()));
  return bytes;
}

}  // namespace qb
