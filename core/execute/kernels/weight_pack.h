// Weights in the layout that a primitive wants, and the layout of a kernel's scratch memory.
#pragma once

#include <cstdint>
#include <optional>

#include "core/execute/kernels/onednn.h"
#include "core/ir/tensor.h"
#include <dnnl.hpp>

namespace qb::execute {

// Parts of one scratch block, each 64-byte aligned.
class ScratchLayout {
 public:
  void Add(int64_t bytes, int64_t& offset) {
    offset = bytes_;
    bytes_ += (bytes + 63) / 64 * 64;
  }
  int64_t bytes() const { return bytes_; }

 private:
  int64_t bytes_ = 0;
};

// Constant weights are reordered once, when the kernel is made, and shared by all contexts; where
// the primitive takes them as they are, nothing is copied. Computed weights are reordered in each
// run.
class WeightPack {
 public:
  // Throws dnnl::error. `constant` is null for computed weights.
  WeightPack(const memory::desc& in_graph, const memory::desc& wanted, const Tensor* constant,
             const dnnl::engine& engine);

  // The weights for a run. `scratch` has scratch_bytes().
  memory Get(const void* in_graph, void* scratch, dnnl::stream& stream) const;

  int64_t scratch_bytes() const {
    return reorder_.has_value() ? static_cast<int64_t>(wanted_.get_size()) : 0;
  }
  int64_t packed_bytes() const {
    return packed_.has_value() ? static_cast<int64_t>(wanted_.get_size()) : 0;
  }

 private:
  const dnnl::engine engine_;
  const memory::desc in_graph_;
  const memory::desc wanted_;
  std::optional<memory> packed_;
  std::optional<dnnl::reorder> reorder_;
};

}  // namespace qb::execute
