// Values that exist in two layouts while a channels-last graph is written in the channels-first
// operators of ONNX: a Transpose is written only where both are needed.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "core/ir/tensor.h"
#include "core/package/onnx_builder.h"

namespace qb {

// The layouts of one value; an empty name does not exist yet.
struct TwoLayouts {
  std::string plain;           // as the graph has it
  std::string channels_first;  // of rank 4 only: the last axis second
};

template <typename Key>
class LayoutTable {
 public:
  explicit LayoutTable(OnnxBuilder& builder) : builder_(builder) {}

  // NOLINTBEGIN(performance-unnecessary-value-param): moved, which the check misses in a template
  void SetPlain(Key key, std::string value) { values_[key].plain = std::move(value); }
  void SetChannelsFirst(Key key, std::string value) {
    values_[key].channels_first = std::move(value);
  }
  // NOLINTEND(performance-unnecessary-value-param)
  bool Has(Key key) const { return values_.contains(key); }
  bool HasChannelsFirst(Key key) const {
    const auto found = values_.find(key);
    return found != values_.end() && !found->second.channels_first.empty();
  }
  bool HasPlain(Key key) const {
    const auto found = values_.find(key);
    return found != values_.end() && !found->second.plain.empty();
  }

  // Precondition of both: Has(key); of the second also a value of rank 4.
  std::string Plain(Key key) {
    TwoLayouts& value = values_.at(key);
    if (value.plain.empty()) {
      value.plain = Transposed(value.channels_first, {0, 2, 3, 1}, "/nhwc");
    }
    return value.plain;
  }
  std::string ChannelsFirst(Key key) {
    TwoLayouts& value = values_.at(key);
    if (value.channels_first.empty()) {
      value.channels_first = Transposed(value.plain, {0, 3, 1, 2}, "/nchw");
    }
    return value.channels_first;
  }

 private:
  std::string Transposed(const std::string& value, std::vector<int64_t> perm,
                         absl::string_view suffix) {
    return builder_.AddNode("Transpose", absl::StrCat(value, suffix), {value},
                            {{"perm", std::move(perm)}});
  }

  OnnxBuilder& builder_;
  absl::flat_hash_map<Key, TwoLayouts> values_;
};

// The axis of a channels-last image in its channels-first form.
inline int64_t ChannelsFirstAxis(int64_t axis) {
  constexpr int64_t kPlace[4] = {0, 2, 3, 1};
  return kPlace[axis];
}
// The elements of a tensor under permuted axes: dimension i of the result is dimension axes[i].
Tensor PermuteAxes(const Tensor& tensor, const std::vector<int64_t>& axes);
// The same elements with leading axes of 1 up to rank 4.
Tensor ToRank4(const Tensor& tensor);

}  // namespace qb
