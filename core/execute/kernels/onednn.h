// What the kernels on oneDNN share: descriptors, a primitive with its scratch memory, one thread.
//
// dnnl.hpp throws dnnl::error; the makers catch it here (MakeGuarded) and nothing escapes. Running
// a primitive that was created does not fail.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "core/execute/kernel.h"
#include "core/ir/shape.h"
#include <dnnl.hpp>

namespace qb::execute {

using dnnl::memory;

// A row-major float32 descriptor.
inline memory::desc PlainDesc(absl::Span<const int64_t> dims) {
  memory::dims strides(dims.size(), 1);
  for (size_t d = dims.size(); d-- > 1;) {
    strides[d - 1] = strides[d] * std::max<int64_t>(dims[d], 1);
  }
  return memory::desc(memory::dims(dims.begin(), dims.end()), memory::data_type::f32, strides);
}

// The default attributes: scratch memory comes from the arena.
inline dnnl::primitive_attr UserScratch() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

inline memory Bind(const memory::desc& desc, const dnnl::engine& engine, const void* data) {
  return memory(desc, engine, const_cast<void*>(data));
}

// Runs `make`, which may throw dnnl::error.
template <typename Make>
KernelOr MakeGuarded(Make&& make) {
  try {
    return make();
  } catch (const dnnl::error& error) {
    return absl::UnimplementedError(absl::StrCat("oneDNN has no implementation: ", error.what()));
  }
}

}  // namespace qb::execute
