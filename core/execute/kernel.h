// Kernel: the prepared computation of one node. Internal to core/execute.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/ir/node.h"
#include "core/ir/tensor.h"

namespace dnnl {
struct engine;
struct stream;
}  // namespace dnnl

namespace qb::execute {

// What a kernel is made from. Everything that it points to outlives the kernel.
struct KernelRequest {
  const Node* node = nullptr;
  // One entry for each operand: its value when it is constant, else null.
  absl::Span<const Tensor* const> constants;
  const dnnl::engine* engine = nullptr;

  const TensorType& operand_type(int64_t index) const { return node->operand(index)->type(); }
  const Shape& operand_shape(int64_t index) const { return operand_type(index).shape; }
  const Tensor* constant(int64_t index) const { return constants[static_cast<size_t>(index)]; }
};

struct KernelArgs {
  absl::Span<const void* const> operands;  // row-major values
  void* result = nullptr;
  void* scratch = nullptr;  // Kernel::scratch_bytes(), 64-byte aligned, contents undefined
  dnnl::stream* stream = nullptr;

  template <typename T>
  const T* operand(int64_t index) const {
    return static_cast<const T*>(operands[static_cast<size_t>(index)]);
  }
  template <typename T>
  T* output() const {
    return static_cast<T*>(result);
  }
};

// Immutable once made: contexts share it and run it concurrently.
class Kernel {
 public:
  virtual ~Kernel() = default;

  // Errors: InvalidArgument for operand values that have no result.
  virtual absl::Status Run(const KernelArgs& args) const = 0;

  virtual int64_t scratch_bytes() const { return 0; }
  virtual int64_t packed_weight_bytes() const { return 0; }
  // True when the result may have the buffer of operand `index` (same type, and each element is
  // read before it is written).
  virtual bool MayShareBuffer(int64_t /*index*/) const { return false; }
};

using KernelOr = absl::StatusOr<std::unique_ptr<Kernel>>;

struct KernelTraits {
  int64_t scratch_bytes = 0;
  bool in_place = false;  // with any operand of the result's type
};

// A kernel from a callable `absl::Status(const KernelArgs&)` or `void(const KernelArgs&)`.
template <typename Body>
class BodyKernel final : public Kernel {
 public:
  BodyKernel(Body body, KernelTraits traits) : body_(std::move(body)), traits_(traits) {}
  absl::Status Run(const KernelArgs& args) const override {
    if constexpr (std::is_void_v<decltype(body_(args))>) {
      body_(args);
      return absl::OkStatus();
    } else {
      return body_(args);
    }
  }
  int64_t scratch_bytes() const override { return traits_.scratch_bytes; }
  bool MayShareBuffer(int64_t /*index*/) const override { return traits_.in_place; }

 private:
  const Body body_;
  const KernelTraits traits_;
};

template <typename Body>
std::unique_ptr<Kernel> MakeBodyKernel(Body body, KernelTraits traits = {}) {
  return std::make_unique<BodyKernel<Body>>(std::move(body), traits);
}

}  // namespace qb::execute
