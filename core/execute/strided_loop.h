// Loops over operands with strides: what broadcasting, slicing, transposing and expanding share.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

#include "core/ir/shape.h"

namespace qb::execute {

// A nest of loops over a row-major result and kOperands operands, with neighbouring dimensions
// joined where all strides allow it. dims is never empty; the last one is the inner loop.
template <int kOperands>
struct StridedLoop {
  std::vector<int64_t> dims;
  std::array<std::vector<int64_t>, kOperands> strides;  // in elements; may be 0 or negative

  int64_t inner() const { return dims.back(); }

  // Calls row(result_offset, operand_offsets) for each run of the inner loop, offsets in elements.
  template <typename Row>
  void ForEachRow(Row&& row) const {
    const size_t outer_rank = dims.size() - 1;
    std::vector<int64_t> index(outer_rank, 0);
    std::array<int64_t, kOperands> offsets{};
    int64_t rows = 1;
    for (size_t d = 0; d < outer_rank; ++d) {
      rows *= dims[d];
    }
    for (int64_t r = 0; r < rows; ++r) {
      row(r * inner(), offsets);
      Advance(index, offsets);
    }
  }

 private:
  void Advance(std::vector<int64_t>& index, std::array<int64_t, kOperands>& offsets) const {
    for (size_t d = index.size(); d-- > 0;) {
      for (int k = 0; k < kOperands; ++k) {
        offsets[static_cast<size_t>(k)] += strides[static_cast<size_t>(k)][d];
      }
      if (++index[d] < dims[d]) {
        return;
      }
      for (int k = 0; k < kOperands; ++k) {
        offsets[static_cast<size_t>(k)] -= strides[static_cast<size_t>(k)][d] * dims[d];
      }
      index[d] = 0;
    }
  }
};

// Joins dimensions; drops those of size 1. Precondition: all dims > 0.
template <int kOperands>
StridedLoop<kOperands> JoinLoops(absl::Span<const int64_t> dims,
                                 const std::array<std::vector<int64_t>, kOperands>& strides) {
  StridedLoop<kOperands> loop;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 1) {
      continue;
    }
    bool joins = !loop.dims.empty();
    for (size_t k = 0; k < kOperands && joins; ++k) {
      joins = loop.strides[k].back() == strides[k][d] * dims[d];
    }
    if (joins) {
      loop.dims.back() *= dims[d];
    } else {
      loop.dims.push_back(dims[d]);
    }
    for (size_t k = 0; k < kOperands; ++k) {
      if (joins) {
        loop.strides[k].back() = strides[k][d];
      } else {
        loop.strides[k].push_back(strides[k][d]);
      }
    }
  }
  if (loop.dims.empty()) {
    loop.dims.push_back(1);
    for (size_t k = 0; k < kOperands; ++k) {
      loop.strides[k].push_back(1);
    }
  }
  return loop;
}

// Strides of `operand` seen under the shape `result` that it broadcasts to: 0 along repeated axes.
inline std::vector<int64_t> BroadcastStrides(const Shape& operand, const Shape& result) {
  const std::vector<int64_t> own = operand.strides();
  std::vector<int64_t> strides(static_cast<size_t>(result.rank()), 0);
  const int64_t shift = result.rank() - operand.rank();
  for (int64_t d = 0; d < operand.rank(); ++d) {
    strides[static_cast<size_t>(d + shift)] = operand[d] == 1 ? 0 : own[static_cast<size_t>(d)];
  }
  return strides;
}

}  // namespace qb::execute
