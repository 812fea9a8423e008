#include "core/integer/kernels/conv.h"

#include <algorithm>

#include "core/integer/kernels/micro.h"
#include "core/integer/kernels/wide.h"

namespace qb::integer {
namespace {

// Input rows are converted in strips of about this size, so that a strip stays in the second-level
// cache while all channels pass over it.
constexpr int64_t kStripBytes = 1 << 18;

int64_t RoundUp(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

void PackSegments(PackedConv& p) {
  const Window& w = p.window;
  const bool whole_rows = p.groups == 1 && w.dilation_w == 1;
  p.segment_length = whole_rows ? w.kernel_w * w.in_c : p.group_in;
  for (int64_t ky = 0; ky < w.kernel_h; ++ky) {
    const int64_t row = ky * w.dilation_h * w.padded_w() * w.in_c;
    for (int64_t kx = 0; kx < (whole_rows ? 1 : w.kernel_w); ++kx) {
      p.segment_offsets.push_back(row + kx * w.dilation_w * w.in_c);
    }
  }
  p.segment_quads = RoundUp(p.segment_length, p.quad) / p.quad;
}

// Elements of one channel block, and of one group.
int64_t BlockElements(const PackedConv& p) {
  return static_cast<int64_t>(p.segment_offsets.size()) * p.segment_quads * p.quad * p.lanes;
}
int64_t GroupElements(const PackedConv& p) { return p.blocks * BlockElements(p); }

// `weights` are of the conv's layout; `part` takes what is stored of each.
template <typename T, typename W, typename Part>
void PackWeights(const std::vector<W>& weights_of_all, const PackedConv& p, std::vector<T>& packed,
                 const Part& part) {
  const int64_t segments = static_cast<int64_t>(p.segment_offsets.size());
  packed.assign(static_cast<size_t>(p.groups * GroupElements(p)), T{0});
  for (int64_t m = 0; m < p.window.out_c; ++m) {
    const int64_t group = m / p.group_out;
    const int64_t channel = m % p.group_out;
    T* block = packed.data() + group * GroupElements(p) + channel / p.lanes * BlockElements(p);
    const W* weights = weights_of_all.data() + m * segments * p.segment_length;
    T* to = block + channel % p.lanes * p.quad;
    for (int64_t s = 0; s < segments; ++s, weights += p.segment_length) {
      for (int64_t e = 0; e < p.segment_length; e += p.quad, to += p.lanes * p.quad) {
        std::transform(weights + e, weights + std::min(e + p.quad, p.segment_length), to, part);
      }
    }
  }
}

// Tables by group and padded channel. With uint8 pixels (code + 128) the raw sum holds
// (zero point + 128) * sum w too much.
void PackTables(const ConvParams& conv, int32_t zero_point, bool uint8_pixels, PackedConv& p) {
  const int64_t padded = p.blocks * p.lanes;
  const size_t entries = static_cast<size_t>(p.groups * padded);
  p.offset.assign(entries, 0);
  p.mantissa.assign(entries, 0);
  p.shift.assign(entries, 1);
  const int64_t length = static_cast<int64_t>(conv.weights.size()) / p.window.out_c;
  for (int64_t m = 0; m < p.window.out_c; ++m) {
    const size_t entry = static_cast<size_t>(m / p.group_out * padded + m % p.group_out);
    int64_t offset = conv.bias[static_cast<size_t>(m)];
    if (uint8_pixels) {
      const int8_t* weights = conv.weights.data() + m * length;
      int64_t sum = 0;
      for (int64_t k = 0; k < length; ++k) {
        sum += weights[k];
      }
      offset -= (int64_t{zero_point} + 128) * sum;
    }
    p.offset[entry] = static_cast<int32_t>(static_cast<uint32_t>(offset));
    p.mantissa[entry] = conv.requant[static_cast<size_t>(m)].mantissa;
    p.shift[entry] = conv.requant[static_cast<size_t>(m)].shift;
  }
}

// Runs one strip of output rows: T are the pixels' operands, W the packed weights.
template <typename T, typename W>
class StripRunner {
 public:
  StripRunner(const KernelCall& call, const PackedConv& packed, MicroKernel micro,
              const std::vector<W>& weights)
      : call_(call), p_(packed), micro_(micro), requant_(RequantKernelFor(call.level)),
        weights_(weights.data()) {
    const ConvParams& conv = call.params<ConvParams>();
    row_.zero_point = call.output_tensor().zero_point;
    row_.low = conv.clamp_min;
    row_.high = conv.clamp_max;
  }

  // `strip` holds the padded input rows from the first tap of output row `first` on.
  void Run(const T* strip, int64_t first, int64_t rows) {
    for (int64_t group = 0; group < p_.groups; ++group) {
      for (int64_t block = 0; block < p_.blocks; block += kMostBlocks) {
        RunBlocks(strip, first, rows, group, block);
      }
    }
  }

 private:
  void RunBlocks(const T* strip, int64_t first, int64_t rows, int64_t group, int64_t block) {
    const Window& w = p_.window;
    const int64_t blocks = std::min(kMostBlocks, p_.blocks - block);
    const int64_t table = (group * p_.blocks + block) * p_.lanes;
    row_.offset = p_.offset.data() + table;
    row_.mantissa = p_.mantissa.data() + table;
    row_.shift = p_.shift.data() + table;
    MicroTile tile;
    tile.segment_offsets = p_.segment_offsets.data();
    tile.segments = static_cast<int64_t>(p_.segment_offsets.size());
    tile.segment_quads = p_.segment_quads;
    tile.weights = weights_ + group * GroupElements(p_) + block * BlockElements(p_);
    tile.block_stride = BlockElements(p_);
    tile.raw = raw_;
    tile.raw_stride = kMostBlocks * p_.lanes;
    const int64_t first_channel = block * p_.lanes;
    const int64_t channels = std::min(p_.group_out - first_channel, blocks * p_.lanes);
    int8_t* out = call_.out<int8_t>() + first * w.out_w * w.out_c + group * p_.group_out + first_channel;
    const T* base = strip + group * p_.group_in;
    const int64_t pixels = rows * w.out_w;
    for (int64_t pixel = 0; pixel < pixels; pixel += kMostRows) {
      const int64_t count = std::min(kMostRows, pixels - pixel);
      for (int64_t r = 0; r < count; ++r) {
        const int64_t oy = (pixel + r) / w.out_w;
        const int64_t ox = (pixel + r) % w.out_w;
        tile.pixels[r] = base + (oy * w.stride_h * w.padded_w() + ox * w.stride_w) * w.in_c;
      }
      micro_(tile, count, blocks);
      for (int64_t r = 0; r < count; ++r) {
        requant_(row_, raw_ + r * tile.raw_stride, channels, out + (pixel + r) * w.out_c);
      }
    }
  }

  const KernelCall& call_;
  const PackedConv& p_;
  MicroKernel micro_;
  RequantKernel requant_;
  const W* weights_;
  RequantRow row_;
  alignas(64) int32_t raw_[kMostRows * kMostBlocks * 16];
};

template <typename T, typename W>
void RunStrips(const KernelCall& call, const PackedConv& p, MicroKernel micro,
               const std::vector<W>& weights) {
  const Window& w = p.window;
  const int64_t row_elements = w.padded_w() * w.in_c;
  const int64_t row_bytes = row_elements * static_cast<int64_t>(sizeof(T));
  const int64_t input_rows = std::max<int64_t>(w.extent_h(), kStripBytes / row_bytes);
  const int64_t rows_of_strip = (input_rows - w.extent_h()) / w.stride_h + 1;
  StripRunner<T, W> runner(call, p, micro, weights);
  const RowRange range = call.OutputRows(w.out_h);
  for (int64_t first = range.begin; first < range.end; first += rows_of_strip) {
    const int64_t rows = std::min(rows_of_strip, range.end - first);
    const int64_t needed = (rows - 1) * w.stride_h + w.extent_h();
    T* strip = call.scratch.ReserveArray<T>(0, needed * row_elements);
    FillStrip(w, call.input<int8_t>(0), call.input_tensor(0).zero_point,
              StripRows{first * w.stride_h, needed, w.in_c}, strip);
    runner.Run(strip, first, rows);
  }
}

}  // namespace

namespace {

// Pairs of 8 lanes whatever the level; requantization reads the layer's own tables.
void PackWide(const ConvParams& conv, PackedConv& p) {
  p.wide = true;
  if (UsesDepthwiseForm(conv, p.window)) {
    PackWideDepthwise(conv, p);
    return;
  }
  p.lanes = 8;
  p.quad = 2;
  p.blocks = RoundUp(p.group_out, p.lanes) / p.lanes;
  PackSegments(p);
  if (conv.weight_bits != 16) {
    PackWeights(conv.weights, p, p.weights16, [](int8_t weight) { return weight; });
    return;
  }
  PackWeights(conv.weights16, p, p.weights16,
              [](int16_t weight) { return static_cast<int16_t>(LowByte(weight)); });
  PackWeights(conv.weights16, p, p.weights16_high,
              [](int16_t weight) { return static_cast<int16_t>(HighByte(weight)); });
}

}  // namespace

std::unique_ptr<const PackedConv> PackConv(const Layer& layer, const Network& network,
                                           KernelLevel level) {
  const ConvParams& conv = std::get<ConvParams>(layer.params);
  const TensorInfo& in = network.tensors[static_cast<size_t>(layer.inputs[0])];
  const TensorInfo& out = network.tensors[static_cast<size_t>(layer.output)];
  auto packed = std::make_unique<PackedConv>();
  PackedConv& p = *packed;
  p.window = WindowOf(conv, in.shape, out.shape);
  p.groups = conv.groups;
  p.group_in = p.window.in_c / conv.groups;
  p.group_out = p.window.out_c / conv.groups;
  if (IsWide(conv, in) || out.dtype == DType::kInt16) {
    PackWide(conv, p);
    return packed;
  }
  if (UsesDepthwiseForm(conv, p.window)) {
    PackDepthwise(conv, level, p);
    return packed;
  }
  const bool uint8_pixels = level == KernelLevel::kAvx512Vnni;
  p.lanes = uint8_pixels ? 16 : 8;
  p.quad = uint8_pixels ? 4 : 2;
  p.blocks = RoundUp(p.group_out, p.lanes) / p.lanes;
  PackSegments(p);
  const auto same = [](int8_t weight) { return weight; };
  if (uint8_pixels) {
    PackWeights(conv.weights, p, p.weights8, same);
  } else {
    PackWeights(conv.weights, p, p.weights16, same);
  }
  PackTables(conv, in.zero_point, uint8_pixels, p);
  return packed;
}

void RunConvPacked(const KernelCall& call, const PackedConv& packed) {
  if (packed.wide) {
    RunConvWide(call, packed);
  } else if (packed.depthwise) {
    RunDepthwisePacked(call, packed);
  } else if (!packed.weights8.empty()) {
    RunStrips<uint8_t>(call, packed, MicroAvx512Vnni, packed.weights8);
  } else {
    RunStrips<int16_t>(call, packed, PairMicroKernel(call.level), packed.weights16);
  }
}

}  // namespace qb::integer
