// What every kernel is given.
#pragma once

#include <cstdint>
#include <variant>

#include "absl/types/span.h"
#include "core/integer/kernel_level.h"
#include "core/integer/network.h"
#include "core/integer/scratch.h"

namespace qb::integer {

// Rows [begin, end) of a result.
struct RowRange {
  int64_t begin = 0, end = 0;
};

// The layer has passed ValidateLayer.
struct KernelCall {
  const Layer& layer;
  const Network& network;
  absl::Span<const void* const> inputs;
  void* output;
  KernelLevel level;
  Scratch& scratch;
  RowRange rows{};  // of a convolution that makes a part of its result; empty: all

  RowRange OutputRows(int64_t all) const { return rows.end == 0 ? RowRange{0, all} : rows; }
  const TensorInfo& input_tensor(size_t index) const {
    return network.tensors[static_cast<size_t>(layer.inputs[index])];
  }
  const TensorInfo& output_tensor() const {
    return network.tensors[static_cast<size_t>(layer.output)];
  }
  template <typename T>
  const T* input(size_t index) const {
    return static_cast<const T*>(inputs[index]);
  }
  template <typename T>
  T* out() const {
    return static_cast<T*>(output);
  }
  template <typename P>
  const P& params() const {
    return *std::get_if<P>(&layer.params);
  }
  bool reference() const { return level == KernelLevel::kReference; }
};

// One function a layer kind, in the file of its name.
void RunMatMul(const KernelCall& call);
void RunEltwise(const KernelCall& call);
void RunPool(const KernelCall& call);
void RunReduce(const KernelCall& call);
void RunLut(const KernelCall& call);
void RunRescale(const KernelCall& call);
void RunSoftmax(const KernelCall& call);
void RunConcat(const KernelCall& call);
void RunSlice(const KernelCall& call);
void RunPad(const KernelCall& call);
void RunTranspose(const KernelCall& call);
void RunReshape(const KernelCall& call);
void RunResizeNearest(const KernelCall& call);
void RunDepthToSpace(const KernelCall& call);
void RunQuantize(const KernelCall& call);
void RunDequantize(const KernelCall& call);
void RunResizeLinear(const KernelCall& call);
void RunPRelu(const KernelCall& call);
void RunNormalization(const KernelCall& call);

}  // namespace qb::integer
