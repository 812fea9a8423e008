#include "core/integer/run_layer.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/integer/kernels/conv.h"
#include "core/integer/kernels/conv_transpose.h"
#include "core/integer/kernels/kernel_call.h"
#include "core/integer/validate.h"

namespace qb::integer {
namespace {

using Kernel = void (*)(const KernelCall& call);

// One row a kind, in the order of LayerParams. Convolutions have a packed form besides.
constexpr Kernel kKernels[] = {
    RunConvReference, RunMatMul,  RunEltwise,       RunPool,         RunReduce,   RunLut,
    RunSoftmax,       RunConcat,  RunRescale,       RunSlice,        RunPad,      RunTranspose,
    RunReshape,       RunResizeNearest, RunDepthToSpace, RunQuantize, RunDequantize,
    RunConvTransposeReference, RunResizeLinear, RunPRelu, RunNormalization,
};
static_assert(std::size(kKernels) == std::variant_size_v<LayerParams>, "a layer kind has no kernel");

const TensorInfo& TensorOf(const Network& network, int index) {
  return network.tensors[static_cast<size_t>(index)];
}

absl::Status CheckCount(const char* what, size_t found, size_t wanted) {
  if (found != wanted) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", found, " ", what, "; the network has ", wanted));
  }
  return absl::OkStatus();
}

}  // namespace

LayerKernel::LayerKernel(LayerKernel&&) noexcept = default;
LayerKernel& LayerKernel::operator=(LayerKernel&&) noexcept = default;
LayerKernel::~LayerKernel() = default;

absl::StatusOr<LayerKernel> LayerKernel::Create(const Layer& layer, const Network& network,
                                                KernelLevel level) {
  QB_RETURN_IF_ERROR(ValidateLayer(layer, network));
  LayerKernel kernel;
  kernel.layer_ = &layer;
  kernel.network_ = &network;
  kernel.level_ = level;
  if (std::holds_alternative<ConvParams>(layer.params) && level != KernelLevel::kReference) {
    kernel.conv_ = PackConv(layer, network, level);
  }
  if (std::holds_alternative<ConvTransposeParams>(layer.params) &&
      level != KernelLevel::kReference) {
    kernel.transpose_ = PackConvTranspose(layer, network, level);
  }
  return kernel;
}

void LayerKernel::Run(absl::Span<const void* const> inputs, void* output, Scratch& scratch) const {
  QB_CHECK(inputs.size() == layer_->inputs.size());
  const KernelCall call{*layer_, *network_, inputs, output, level_, scratch};
  if (conv_ != nullptr) {
    RunConvPacked(call, *conv_);
  } else if (transpose_ != nullptr) {
    RunConvTransposePacked(call, *transpose_);
  } else {
    kKernels[layer_->params.index()](call);
  }
}

void LayerKernel::RunRows(absl::Span<const void* const> inputs, void* output, int64_t begin,
                          int64_t end, Scratch& scratch) const {
  QB_CHECK(std::holds_alternative<ConvParams>(layer_->params) && 0 <= begin && begin < end);
  const KernelCall call{*layer_, *network_, inputs, output, level_, scratch, {begin, end}};
  if (conv_ != nullptr) {
    RunConvPacked(call, *conv_);
  } else {
    RunConvReference(call);
  }
}

bool MayRunInPlace(const Layer& layer, const Network& network, int input) {
  const TensorInfo& x = TensorOf(network, layer.inputs[static_cast<size_t>(input)]);
  const TensorInfo& y = TensorOf(network, layer.output);
  if (x.size_bytes() != y.size_bytes() || x.dtype != y.dtype) {
    return false;
  }
  if (std::holds_alternative<EltwiseParams>(layer.params)) {
    return x.shape.elements() == y.shape.elements();
  }
  return std::holds_alternative<LutParams>(layer.params) ||
         std::holds_alternative<RequantParams>(layer.params) ||
         std::holds_alternative<PReluParams>(layer.params) ||
         std::holds_alternative<SoftmaxParams>(layer.params) ||
         std::holds_alternative<NormalizationParams>(layer.params) ||
         std::holds_alternative<ReshapeParams>(layer.params);
}

absl::Status RunLayer(const Layer& layer, const Network& network,
                      absl::Span<const void* const> inputs, void* output, Scratch& scratch) {
  QB_ASSIGN_OR_RETURN(LayerKernel kernel, LayerKernel::Create(layer, network));
  QB_RETURN_IF_ERROR(CheckCount("inputs", inputs.size(), layer.inputs.size()));
  kernel.Run(inputs, output, scratch);
  return absl::OkStatus();
}

absl::StatusOr<NetworkRunner> NetworkRunner::Create(const Network& network, KernelLevel level) {
  QB_RETURN_IF_ERROR(ValidateNetwork(network));
  NetworkRunner runner(&network);
  runner.last_use_.assign(network.tensors.size(), -1);
  for (size_t i = 0; i < network.layers.size(); ++i) {
    QB_ASSIGN_OR_RETURN(LayerKernel kernel,
                        LayerKernel::Create(network.layers[i], network, level));
    runner.kernels_.push_back(std::move(kernel));
    for (const int input : network.layers[i].inputs) {
      runner.last_use_[static_cast<size_t>(input)] = static_cast<int64_t>(i);
    }
  }
  for (const int output : network.outputs) {
    runner.last_use_[static_cast<size_t>(output)] = static_cast<int64_t>(network.layers.size());
  }
  return runner;
}

absl::Status NetworkRunner::Run(absl::Span<const void* const> inputs,
                                absl::Span<void* const> outputs, const Observer& observer) const {
  const Network& network = *network_;
  QB_RETURN_IF_ERROR(CheckCount("inputs", inputs.size(), network.inputs.size()));
  QB_RETURN_IF_ERROR(CheckCount("outputs", outputs.size(), network.outputs.size()));
  std::vector<const void*> values(network.tensors.size(), nullptr);
  std::vector<std::vector<uint8_t>> memory(network.tensors.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    values[static_cast<size_t>(network.inputs[i])] = inputs[i];
  }
  for (const ConstantTensor& constant : network.constants) {
    values[static_cast<size_t>(constant.tensor)] = constant.bytes.data();
  }
  Scratch scratch;
  for (size_t i = 0; i < kernels_.size(); ++i) {
    const Layer& layer = network.layers[i];
    std::vector<const void*> operands;
    for (const int input : layer.inputs) {
      operands.push_back(values[static_cast<size_t>(input)]);
    }
    std::vector<uint8_t>& output = memory[static_cast<size_t>(layer.output)];
    output.resize(static_cast<size_t>(TensorOf(network, layer.output).size_bytes()));
    kernels_[i].Run(operands, output.data(), scratch);
    values[static_cast<size_t>(layer.output)] = output.data();
    if (observer) {
      observer(static_cast<int64_t>(i), output.data());
    }
    for (const int input : layer.inputs) {
      if (last_use_[static_cast<size_t>(input)] == static_cast<int64_t>(i)) {
        std::vector<uint8_t>().swap(memory[static_cast<size_t>(input)]);
      }
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::memcpy(outputs[i], values[static_cast<size_t>(network.outputs[i])],
                static_cast<size_t>(TensorOf(network, network.outputs[i]).size_bytes()));
  }
  return absl::OkStatus();
}

absl::Status RunNetwork(const Network& network, absl::Span<const void* const> inputs,
                        absl::Span<void* const> outputs) {
  QB_ASSIGN_OR_RETURN(NetworkRunner runner, NetworkRunner::Create(network));
  return runner.Run(inputs, outputs);
}

namespace {

// Adds to sums[c] what one tap meets in one row of the input: (x - zero point) of every pixel that an
// output pixel of the row looks at through it. `column` is the tap's column for the first output pixel.
template <typename Code>
void AddTapRow(const Window& w, const Code* row, int64_t column, int32_t zero_point,
               int64_t* sums) {
  // A row of int8 codes fits int32: at most 2^24 of them, each below 2^7.
  using Sum = std::conditional_t<sizeof(Code) == 1, int32_t, int64_t>;
  std::vector<Sum> row_sums(static_cast<size_t>(w.in_c), 0);
  int64_t met = 0;
  for (int64_t ox = 0; ox < w.out_w; ++ox) {
    const int64_t x = ox * w.stride_w + column;
    if (x < 0 || x >= w.in_w) {
      continue;
    }
    ++met;
    const Code* pixel = row + x * w.in_c;
    for (int64_t c = 0; c < w.in_c; ++c) {
      row_sums[static_cast<size_t>(c)] += pixel[c];
    }
  }
  for (int64_t c = 0; c < w.in_c; ++c) {
    sums[c] += row_sums[static_cast<size_t>(c)] - met * zero_point;
  }
}

}  // namespace

std::vector<int64_t> ConvTapSums(const Layer& layer, const Network& network, const void* input) {
  const ConvParams& conv = std::get<ConvParams>(layer.params);
  const TensorInfo& x = TensorOf(network, layer.inputs[0]);
  const Window w = WindowOf(conv, x.shape, TensorOf(network, layer.output).shape);
  std::vector<int64_t> sums(static_cast<size_t>(w.taps() * w.in_c), 0);
  for (int64_t tap = 0; tap < w.taps(); ++tap) {
    const int64_t column = tap % w.kernel_w * w.dilation_w - w.pad_left;
    for (int64_t oy = 0; oy < w.out_h; ++oy) {
      const int64_t y = oy * w.stride_h - w.pad_top + tap / w.kernel_w * w.dilation_h;
      if (y < 0 || y >= w.in_h) {
        continue;
      }
      int64_t* to = sums.data() + tap * w.in_c;
      const int64_t row = y * w.in_w * w.in_c;
      if (x.dtype == DType::kInt16) {
        AddTapRow(w, static_cast<const int16_t*>(input) + row, column, x.zero_point, to);
      } else {
        AddTapRow(w, static_cast<const int8_t*>(input) + row, column, x.zero_point, to);
      }
    }
  }
  return sums;
}

std::vector<int64_t> ConvAccumulatorSums(const Layer& layer, const Network& network,
                                         const void* input) {
  const ConvParams& conv = std::get<ConvParams>(layer.params);
  const Window w = WindowOf(conv, TensorOf(network, layer.inputs[0]).shape,
                            TensorOf(network, layer.output).shape);
  const std::vector<int64_t> tap_sums = ConvTapSums(layer, network, input);
  const int64_t group_in = w.in_c / conv.groups;
  const int64_t group_out = w.out_c / conv.groups;
  std::vector<int64_t> sums(static_cast<size_t>(w.out_c));
  for (int64_t m = 0; m < w.out_c; ++m) {
    int64_t sum = w.out_h * w.out_w * conv.bias_of(m);
    for (int64_t tap = 0; tap < w.taps(); ++tap) {
      const int64_t first = (m * w.taps() + tap) * group_in;
      const int64_t* values = tap_sums.data() + tap * w.in_c + m / group_out * group_in;
      for (int64_t c = 0; c < group_in; ++c) {
        sum += conv.weight(first + c) * values[c];
      }
    }
    sums[static_cast<size_t>(m)] = sum;
  }
  return sums;
}

}  // namespace qb::integer
