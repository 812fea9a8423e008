#include "core/npu/cost.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "absl/strings/str_cat.h"
#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/integer/kernels/conv_transpose.h"
#include "core/integer/kernels/window.h"

namespace qb::npu {
namespace {

using integer::ConvParams;
using integer::ConvTransposeParams;
using integer::Layer;
using integer::Network;
using integer::PoolParams;
using integer::TensorInfo;
using integer::Window;

// Bias, mantissa and shift; of a normalization factor and offset.
constexpr int64_t kTableBytesPerChannel = 12;

int64_t DivideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

const TensorInfo& TensorOf(const Network& network, int index) {
  return network.tensors[static_cast<size_t>(index)];
}

// Work over a window: convolutions and pools. Rows of the result may be cut anywhere, channels in
// steps of the array; a result channel of a pool or depthwise layer needs its own input channel only.
class WindowTiler {
 public:
  WindowTiler(const Layer& layer, const Network& network, const TargetSpec& target)
      : target_(target) {
    const TensorInfo& x = TensorOf(network, layer.inputs[0]);
    const TensorInfo& y = TensorOf(network, layer.output);
    in_element_ = SizeBytes(x.dtype);
    out_element_ = SizeBytes(y.dtype);
    if (const auto* conv = std::get_if<ConvParams>(&layer.params); conv != nullptr) {
      SetConv(*conv, integer::WindowOf(*conv, x.shape, y.shape), x);
    } else if (const auto* up = std::get_if<ConvTransposeParams>(&layer.params); up != nullptr) {
      // The zeros between the pixels are multiplied too.
      const ConvParams stuffed = integer::StuffedGeometry(*up);
      SetConv(up->conv, integer::WindowOf(stuffed, integer::StuffedShape(*up, x.shape), y.shape), x);
    } else {
      window_ = integer::WindowOf(std::get<PoolParams>(layer.params), x.shape, y.shape);
      groups_ = window_.in_c;
      group_in_ = 1;
    }
  }

  std::optional<Tiling> Best() const {
    std::optional<Tiling> best;
    for (int64_t channels = window_.out_c; channels >= 1;
         channels = NextChannels(channels)) {
      for (int64_t width = window_.out_w; width >= 1; width = width == 1 ? 0 : DivideUp(width, 2)) {
        for (int64_t height = window_.out_h; height >= 1;
             height = height == 1 ? 0 : DivideUp(height, 2)) {
          Consider(height, width, channels, best);
        }
        if (best.has_value() && best->channels == channels) {
          break;  // narrower tiles only repeat more of the halo
        }
      }
    }
    return best;
  }

 private:
  void SetConv(const ConvParams& conv, const Window& window, const TensorInfo& x) {
    window_ = window;
    is_conv_ = true;
    groups_ = conv.groups;
    group_in_ = window_.in_c / conv.groups;
    weight_bits_ = conv.weight_bits;
    passes_ = (x.dtype == DType::kInt16 ? target_.int16_passes : 1) *
              (conv.weight_bits == 16 ? target_.int16_passes : 1);
  }

  int64_t NextChannels(int64_t channels) const {
    if (channels == 1) {
      return 0;
    }
    const int64_t step = target_.mac_array_output_channels;
    const int64_t half = DivideUp(channels, 2);
    return channels > step ? DivideUp(half, step) * step : half;
  }

  // Input channels that `channels` result channels read.
  int64_t InputChannels(int64_t channels) const {
    if (groups_ == 1) {
      return window_.in_c;
    }
    const int64_t group_out = std::max<int64_t>(1, window_.out_c / groups_);
    return std::min(window_.in_c, (DivideUp(channels, group_out) + 1) * group_in_);
  }

  int64_t WeightBytes(int64_t channels) const {
    const int64_t weight_bytes = DivideUp(window_.taps() * group_in_ * weight_bits_, 8);
    return is_conv_ ? channels * (weight_bytes + kTableBytesPerChannel) : 0;
  }

  int64_t ComputeCycles(int64_t height, int64_t width, int64_t channels) const {
    const int64_t taps = height * width * window_.taps();
    if (!is_conv_ || group_in_ == 1) {
      return passes_ * taps * DivideUp(channels, target_.vector_lanes);
    }
    return passes_ * taps * DivideUp(group_in_, target_.mac_array_input_channels) *
           DivideUp(channels, target_.mac_array_output_channels);
  }

  void Consider(int64_t height, int64_t width, int64_t channels,
                std::optional<Tiling>& best) const {
    const Window& w = window_;
    const int64_t rows = std::min(w.padded_h(), (height - 1) * w.stride_h + w.extent_h());
    const int64_t columns = std::min(w.padded_w(), (width - 1) * w.stride_w + w.extent_w());
    const int64_t in_bytes = rows * columns * InputChannels(channels) * in_element_;
    const int64_t out_bytes = height * width * channels * out_element_;
    const int64_t weight_bytes = WeightBytes(channels);
    Tiling tiling{height, width, channels};
    tiling.sram_bytes = 2 * (in_bytes + out_bytes + weight_bytes);
    if (tiling.sram_bytes > target_.sram_bytes_per_core) {
      return;
    }
    const int64_t places = DivideUp(w.out_h, height) * DivideUp(w.out_w, width);
    const int64_t blocks = DivideUp(w.out_c, channels);
    tiling.count = places * blocks;
    // Either the weights stay while all places pass, or the input stays while all blocks do.
    const int64_t weights_stay = blocks * weight_bytes + places * blocks * in_bytes;
    const int64_t input_stays = places * in_bytes + places * blocks * weight_bytes;
    tiling.cost.dma_bytes = std::min(weights_stay, input_stays) + places * blocks * out_bytes;
    tiling.cost.dma_cycles = DivideUp(tiling.cost.dma_bytes, target_.dma_bytes_per_cycle);
    tiling.cost.compute_cycles = tiling.count * ComputeCycles(height, width, channels);
    tiling.cost.cycles = std::max(tiling.cost.compute_cycles, tiling.cost.dma_cycles);
    tiling.cost.macs = is_conv_ ? w.out_h * w.out_w * w.out_c * w.taps() * group_in_ : 0;
    const bool better = !best.has_value() || tiling.cost.cycles < best->cost.cycles ||
                        (tiling.cost.cycles == best->cost.cycles && tiling.count < best->count);
    if (better) {
      best = tiling;
    }
  }

  const TargetSpec& target_;
  Window window_;
  bool is_conv_ = false;
  int64_t groups_ = 1;
  int64_t group_in_ = 1;
  int64_t in_element_ = 1, out_element_ = 1;  // bytes
  int64_t weight_bits_ = 8;
  int64_t passes_ = 1;  // of the array, for 16-bit operands
};

// Work that streams through: every element is read, worked on and written once.
Tiling Stream(const Layer& layer, const Network& network, const TargetSpec& target) {
  const TensorInfo& y = TensorOf(network, layer.output);
  int64_t in_bytes = 0;
  int64_t elements = y.shape.elements();
  for (const int input : layer.inputs) {
    in_bytes += TensorOf(network, input).size_bytes();
    elements = std::max(elements, TensorOf(network, input).shape.elements());
  }
  Tiling tiling;
  tiling.channels = y.shape.rank() == 0 ? 1 : y.shape[y.shape.rank() - 1];
  tiling.height = y.shape.elements() / tiling.channels;
  tiling.cost.dma_bytes = in_bytes + y.size_bytes();
  tiling.cost.dma_cycles = DivideUp(tiling.cost.dma_bytes, target.dma_bytes_per_cycle);
  tiling.cost.compute_cycles = DivideUp(elements, target.vector_lanes);
  tiling.cost.cycles = std::max(tiling.cost.compute_cycles, tiling.cost.dma_cycles);
  // Cut into as many pieces as let two of them lie in SRAM.
  tiling.count = std::max<int64_t>(
      1, DivideUp(2 * tiling.cost.dma_bytes, target.sram_bytes_per_core));
  tiling.height = DivideUp(tiling.height, tiling.count);
  tiling.sram_bytes = DivideUp(2 * tiling.cost.dma_bytes, tiling.count);
  return tiling;
}

// Two passes over each run: moments, then codes.
Tiling NormalizationTiling(const Layer& layer, const Network& network, const TargetSpec& target) {
  Tiling tiling = Stream(layer, network, target);
  const auto& params = std::get<integer::NormalizationParams>(layer.params);
  tiling.cost.dma_bytes += static_cast<int64_t>(params.scale.size()) * kTableBytesPerChannel;
  tiling.cost.dma_cycles = DivideUp(tiling.cost.dma_bytes, target.dma_bytes_per_cycle);
  tiling.cost.compute_cycles *= 2;
  tiling.cost.cycles = std::max(tiling.cost.compute_cycles, tiling.cost.dma_cycles);
  return tiling;
}

Tiling MatMulTiling(const Layer& layer, const Network& network, const TargetSpec& target) {
  Tiling tiling = Stream(layer, network, target);
  const TensorInfo& a = TensorOf(network, layer.inputs[0]);
  const TensorInfo& y = TensorOf(network, layer.output);
  const int64_t k = a.shape[a.shape.rank() - 1];
  const int64_t columns = y.shape[y.shape.rank() - 1];
  tiling.cost.macs = y.shape.elements() * k;
  tiling.cost.compute_cycles = y.shape.elements() / columns *
                               DivideUp(k, target.mac_array_input_channels) *
                               DivideUp(columns, target.mac_array_output_channels);
  for (const int input : layer.inputs) {
    tiling.cost.compute_cycles *=
        TensorOf(network, input).dtype == DType::kInt16 ? target.int16_passes : 1;
  }
  tiling.cost.cycles = std::max(tiling.cost.compute_cycles, tiling.cost.dma_cycles);
  return tiling;
}

}  // namespace

Cost& Cost::operator+=(const Cost& other) {
  cycles += other.cycles;
  compute_cycles += other.compute_cycles;
  dma_cycles += other.dma_cycles;
  dma_bytes += other.dma_bytes;
  macs += other.macs;
  halo_bytes += other.halo_bytes;
  gather_bytes += other.gather_bytes;
  return *this;
}

absl::StatusOr<Tiling> ChooseTiling(const Layer& layer, const Network& network,
                                    const TargetSpec& target, bool in_place) {
  if (std::holds_alternative<integer::ReshapeParams>(layer.params) && in_place) {
    return Tiling{};
  }
  if (std::holds_alternative<integer::MatMulParams>(layer.params)) {
    return MatMulTiling(layer, network, target);
  }
  if (std::holds_alternative<integer::NormalizationParams>(layer.params)) {
    return NormalizationTiling(layer, network, target);
  }
  if (!std::holds_alternative<ConvParams>(layer.params) &&
      !std::holds_alternative<ConvTransposeParams>(layer.params) &&
      !std::holds_alternative<PoolParams>(layer.params)) {
    return Stream(layer, network, target);
  }
  const std::optional<Tiling> best = WindowTiler(layer, network, target).Best();
  if (!best.has_value()) {
    return Failure(FailureCode::kTargetError,
                   absl::StrCat("layer '", layer.name, "': one result with its operands does not fit "
                                "the ", target.sram_bytes_per_core, " bytes of SRAM of a core of ",
                                target.name));
  }
  return *best;
}

}  // namespace qb::npu
