#include "core/frontends/onnx/scan_limits.h"

#include <array>
#include <cstdint>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"

namespace qb::onnx_import {
namespace {

// kList stands for every message whose fields are counted but not entered.
enum class Kind {
  kModel,
  kGraph,
  kNode,
  kAttribute,
  kTraining,
  kFunction,
  kValue,
  kType,
  kTensorType,
  kList,
  kLeaf
};

// A length-delimited field that is entered rather than skipped. Field numbers of onnx.proto.
struct Child {
  Kind parent;
  uint64_t field;
  Kind child;
};

constexpr auto kChildren = std::to_array<Child>({
    {Kind::kModel, 7, Kind::kGraph},       // graph
    {Kind::kModel, 20, Kind::kTraining},   // training_info
    {Kind::kModel, 25, Kind::kFunction},   // functions
    {Kind::kTraining, 1, Kind::kGraph},    // initialization
    {Kind::kTraining, 2, Kind::kGraph},    // algorithm
    {Kind::kFunction, 7, Kind::kNode},     // node
    {Kind::kGraph, 1, Kind::kNode},        // node
    {Kind::kGraph, 5, Kind::kList},        // initializer
    {Kind::kGraph, 11, Kind::kValue},      // input
    {Kind::kGraph, 12, Kind::kValue},      // output
    {Kind::kGraph, 13, Kind::kValue},      // value_info
    {Kind::kGraph, 14, Kind::kList},       // quantization_annotation
    {Kind::kNode, 5, Kind::kAttribute},    // attribute
    {Kind::kAttribute, 5, Kind::kList},    // t
    {Kind::kAttribute, 6, Kind::kGraph},   // g
    {Kind::kAttribute, 10, Kind::kList},   // tensors
    {Kind::kAttribute, 11, Kind::kGraph},  // graphs
    {Kind::kValue, 2, Kind::kType},        // type
    {Kind::kType, 1, Kind::kTensorType},   // tensor_type
    {Kind::kTensorType, 2, Kind::kList},   // shape
});

Kind ChildKind(Kind parent, uint64_t field) {
  for (const Child& child : kChildren) {
    if (child.parent == parent && child.field == field) {
      return child.child;
    }
  }
  return Kind::kLeaf;
}

absl::Status Damaged() {
  return absl::InvalidArgumentError("the file is damaged or is not an ONNX model");
}

// A read position in wire-format bytes.
class Reader {
 public:
  explicit Reader(absl::string_view bytes) : rest_(bytes) {}

  bool done() const { return rest_.empty(); }
  bool Varint(uint64_t* value) {
    *value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) {
        return false;
      }
      const auto byte = static_cast<uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) {
        return true;
      }
    }
    return false;
  }
  bool Take(uint64_t count, absl::string_view* taken) {
    if (count > rest_.size()) {
      return false;
    }
    *taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return true;
  }

 private:
  absl::string_view rest_;
};

class Scanner {
 public:
  absl::Status Scan(absl::string_view bytes, Kind kind, int64_t depth) {
    if (depth > kMostNesting) {
      return absl::InvalidArgumentError(
          absl::StrCat("subgraphs are nested deeper than ", kMostNesting / 3, " levels"));
    }
    Reader reader(bytes);
    while (!reader.done()) {
      uint64_t tag = 0;
      if (!reader.Varint(&tag)) {
        return Damaged();
      }
      QB_RETURN_IF_ERROR(ScanField(reader, tag, kind, depth));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status ScanField(Reader& reader, uint64_t tag, Kind kind, int64_t depth) {
    absl::string_view bytes;
    uint64_t value = 0;
    switch (tag & 7) {
      case 0:
        return reader.Varint(&value) ? absl::OkStatus() : Damaged();
      case 1:
        return reader.Take(8, &bytes) ? absl::OkStatus() : Damaged();
      case 5:
        return reader.Take(4, &bytes) ? absl::OkStatus() : Damaged();
      case 2:
        break;
      default:  // groups are not used by onnx.proto
        return Damaged();
    }
    if (!reader.Varint(&value) || !reader.Take(value, &bytes)) {
      return Damaged();
    }
    if (++elements_ > kMostElements) {
      return absl::InvalidArgumentError(absl::StrCat("the model has more than ", kMostElements,
                                                     " nodes, attributes and values in all"));
    }
    const Kind child = ChildKind(kind, tag >> 3);
    return child == Kind::kLeaf ? absl::OkStatus() : Scan(bytes, child, depth + 1);
  }

  int64_t elements_ = 0;
};

}  // namespace

absl::Status CheckScanLimits(absl::string_view bytes) {
  return Scanner().Scan(bytes, Kind::kModel, 0);
}

}  // namespace qb::onnx_import
