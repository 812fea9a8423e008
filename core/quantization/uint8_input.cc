#include "core/quantization/uint8_input.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/integer/requant.h"
#include "core/quantization/weight_quantization.h"

namespace qb {
namespace {

using integer::Layer;
using integer::Network;
using integer::TensorInfo;

constexpr int32_t kLeastWeight = 64, kMostWeight = 127;  // of the depthwise layer
constexpr int32_t kLeastCode = -128;

absl::Status Unsupported(const Uint8Input& spec, absl::string_view what) {
  return Failure(FailureCode::kUnsupportedOperator,
                 absl::StrCat("uint8Input: input '", spec.input, "' ", what));
}

// The weight with which `bytes` (an offset in steps of the input) is nearest to a whole bias: off
// by 1 / 254 of a byte at most, and exact for offsets such as 127.5.
int32_t WeightFor(double bytes) {
  const auto error = [bytes](int32_t weight) {
    const double bias = bytes * weight;
    return std::abs(static_cast<double>(RoundHalfEven(bias)) - bias) / weight;
  };
  int32_t best = kMostWeight;
  for (int32_t weight = kMostWeight - 1; weight >= kLeastWeight; --weight) {
    best = error(weight) < error(best) ? weight : best;
  }
  return best;
}

class Rewriter {
 public:
  Rewriter(const Uint8Input& spec, Network& network) : spec_(spec), network_(network) {}

  absl::Status Run() {
    QB_RETURN_IF_ERROR(FindQuantize());
    TensorInfo& input = Tensor(network_.layers[quantize_].inputs[0]);
    input.dtype = DType::kUint8;
    input.scale = static_cast<float>(spec_.scale[0]);
    input.zero_point = 0;
    const bool plain = spec_.scale.size() == 1 && spec_.offset[0] == 0;
    return plain && !spec_.letterbox.has_value() ? Rescale() : PrepareChannelsLast(plain);
  }

 private:
  TensorInfo& Tensor(int index) { return network_.tensors[static_cast<size_t>(index)]; }

  // The layer that quantizes the input, its only reader.
  absl::Status FindQuantize() {
    for (const int index : network_.inputs) {
      if (Tensor(index).name != spec_.input) {
        continue;
      }
      const std::vector<size_t> readers = ReadersOf(index);
      if (readers.size() != 1 ||
          !std::holds_alternative<integer::QuantizeParams>(network_.layers[readers[0]].params)) {
        return Unsupported(spec_, "is not quantized by one layer");
      }
      quantize_ = readers[0];
      return absl::OkStatus();
    }
    return Unsupported(spec_, "is none of the network");
  }

  std::vector<size_t> ReadersOf(int tensor) const {
    std::vector<size_t> readers;
    for (size_t i = 0; i < network_.layers.size(); ++i) {
      const std::vector<int>& inputs = network_.layers[i].inputs;
      if (std::find(inputs.begin(), inputs.end(), tensor) != inputs.end()) {
        readers.push_back(i);
      }
    }
    return readers;
  }

  int AddBytes(const TensorInfo& like, const char* suffix, double scale) {
    TensorInfo info = like;
    info.name = absl::StrCat(spec_.input, suffix);
    info.dtype = DType::kInt8;
    info.scale = static_cast<float>(scale);
    info.zero_point = kLeastCode;
    network_.tensors.push_back(std::move(info));
    return static_cast<int>(network_.tensors.size()) - 1;
  }

  void Insert(size_t behind, Layer layer) {
    network_.layers.insert(network_.layers.begin() + static_cast<int64_t>(behind) + 1,
                           std::move(layer));
  }

  absl::Status Rescale() {
    const int codes = network_.layers[quantize_].output;
    const int bytes = AddBytes(Tensor(codes), "/bytes", spec_.scale[0]);
    network_.layers[quantize_].output = bytes;
    return InsertRescale(quantize_, bytes, codes);
  }

  absl::Status InsertRescale(size_t behind, int bytes, int codes) {
    QB_ASSIGN_OR_RETURN(
        const integer::Requant requant,
        integer::RequantFromMultiplier(spec_.scale[0] / static_cast<double>(Tensor(codes).scale)));
    Insert(
        behind,
        {absl::StrCat(spec_.input, "/rescale"), {bytes}, codes, integer::RequantParams{requant}});
    return absl::OkStatus();
  }

  // With channels last behind Quantize itself, or behind the one layer that puts them last.
  absl::Status PrepareChannelsLast(bool plain) {
    const double step = plain ? spec_.scale[0] : 1.0;
    size_t behind = quantize_;
    int codes = network_.layers[quantize_].output;
    if (spec_.channel_axis == 1) {
      const std::vector<size_t> readers = ReadersOf(codes);
      if (readers.size() != 1 || !PutsChannelsLast(network_.layers[readers[0]])) {
        return Unsupported(spec_,
                           "feeds a layer that does not take channels last; neither normalize nor "
                           "letterbox can be fused");
      }
      Tensor(codes).dtype = DType::kInt8;
      Tensor(codes).scale = static_cast<float>(step);
      Tensor(codes).zero_point = kLeastCode;
      TakeSourceSize(codes, 2);
      behind = readers[0];
      codes = network_.layers[behind].output;
    }
    int bytes = AddBytes(Tensor(codes), "/bytes", step);
    network_.layers[behind].output = bytes;
    if (spec_.letterbox.has_value()) {
      TakeSourceSize(network_.layers[quantize_].inputs[0], spec_.channel_axis == 1 ? 2 : 1);
      TakeSourceSize(bytes, 1);
      QB_RETURN_IF_ERROR(InsertLetterbox(codes, behind, bytes));
    }
    return plain ? InsertRescale(behind, bytes, codes) : InsertDepthwise(behind, bytes, codes);
  }

  // `axis`: of the rows; columns follow.
  void TakeSourceSize(int tensor, int64_t axis) {
    if (spec_.letterbox.has_value()) {
      SetSize(tensor, axis, spec_.letterbox->source);
    }
  }
  void SetSize(int tensor, int64_t axis, ImageSize size) {
    std::vector<int64_t> dims = Tensor(tensor).shape.dims();
    dims[static_cast<size_t>(axis)] = size.height;
    dims[static_cast<size_t>(axis) + 1] = size.width;
    Tensor(tensor).shape = Shape(dims);
  }

  // Behind the layer `behind`, which makes `bytes` of the source; both move on to the result's.
  absl::Status InsertLetterbox(int codes, size_t& behind, int& bytes) {
    const LetterboxFold& fold = *spec_.letterbox;
    const Shape& result = Tensor(codes).shape;
    if (result.rank() != 4) {
      return Unsupported(spec_, absl::StrCat("has the shape ", result.ToString(),
                                             "; a letterbox is fused into images"));
    }
    if (fold.factor > 1) {
      const int shrunk =
          AddBytes(Tensor(bytes), "/shrunk", static_cast<double>(Tensor(bytes).scale));
      SetSize(shrunk, 1, fold.inner);
      QB_ASSIGN_OR_RETURN(integer::LayerParams params, ShrinkBy(fold, Tensor(bytes).shape[3]));
      Insert(behind++, {absl::StrCat(spec_.input, "/shrink"), {bytes}, shrunk, std::move(params)});
      bytes = shrunk;
    }
    if (Tensor(bytes).shape != Tensor(codes).shape) {
      const int padded =
          AddBytes(Tensor(codes), "/padded", static_cast<double>(Tensor(bytes).scale));
      Insert(behind++,
             {absl::StrCat(spec_.input, "/pad"),
              {bytes},
              padded,
              integer::PadParams{{0, fold.top, fold.left, 0}, fold.pad_value + kLeastCode}});
      bytes = padded;
    }
    return absl::OkStatus();
  }

  // A pixel of each block, or the mean of several.
  static absl::StatusOr<integer::LayerParams> ShrinkBy(const LetterboxFold& fold,
                                                       int64_t channels) {
    if (fold.taps == 1) {
      return integer::SliceParams{{0, fold.first_tap, fold.first_tap, 0},
                                  {1, fold.factor, fold.factor, 1}};
    }
    integer::ConvParams conv;
    conv.kernel_h = conv.kernel_w = conv.stride_h = conv.stride_w = fold.factor;
    conv.groups = channels;
    // Half up: (2 sum + 1) / (2 n) never lies in the middle, and rounds as (sum + n / 2) / n is
    // cut.
    const int32_t weight = fold.half_up ? 2 : 1;
    const double step = 1.0 / static_cast<double>(weight * fold.taps * fold.taps);
    QB_ASSIGN_OR_RETURN(const integer::Requant requant, integer::RequantFromMultiplier(step));
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t i = 0; i < fold.factor * fold.factor; ++i) {
        const int64_t row = i / fold.factor - fold.first_tap;
        const int64_t column = i % fold.factor - fold.first_tap;
        const bool counts = row >= 0 && row < fold.taps && column >= 0 && column < fold.taps;
        conv.weights.push_back(static_cast<int8_t>(counts ? weight : 0));
      }
      conv.weight_scales.push_back(static_cast<float>(step));
      conv.bias.push_back(fold.half_up ? 1 : 0);
      conv.requant.push_back(requant);
    }
    return conv;
  }

  bool PutsChannelsLast(const Layer& layer) {
    const Shape& from = Tensor(layer.inputs[0]).shape;
    const Shape& to = Tensor(layer.output).shape;
    if (from.rank() != 4 || to != Shape{from[0], from[2], from[3], from[1]}) {
      return false;
    }
    const auto* transpose = std::get_if<integer::TransposeParams>(&layer.params);
    return transpose != nullptr
               ? transpose->axes == std::vector<int64_t>{0, 2, 3, 1}
               : std::holds_alternative<integer::ReshapeParams>(layer.params) && from[1] == 1;
  }

  absl::Status InsertDepthwise(size_t behind, int bytes, int codes) {
    const TensorInfo& y = Tensor(codes);
    const size_t channels = static_cast<size_t>(y.shape.rank() == 4 ? y.shape[3] : 0);
    if (channels != spec_.scale.size() || spec_.offset.size() != channels) {
      return Unsupported(spec_, absl::StrCat("has the shape ", y.shape.ToString(),
                                             ", which has not ", spec_.scale.size(), " channels"));
    }
    integer::ConvParams conv;
    conv.groups = static_cast<int64_t>(channels);
    conv.clamp_min = integer::LeastCode(y.dtype);
    conv.clamp_max = integer::MostCode(y.dtype);
    for (size_t c = 0; c < channels; ++c) {
      const int32_t weight = WeightFor(spec_.offset[c] / spec_.scale[c]);
      const double step = spec_.scale[c] / weight;
      conv.weights.push_back(static_cast<int8_t>(weight));
      conv.weight_scales.push_back(static_cast<float>(step));
      conv.bias.push_back(static_cast<int32_t>(RoundHalfEven(spec_.offset[c] / step)));
      QB_ASSIGN_OR_RETURN(const integer::Requant requant,
                          integer::RequantFromMultiplier(step / static_cast<double>(y.scale)));
      conv.requant.push_back(requant);
    }
    Insert(behind, {absl::StrCat(spec_.input, "/normalize"), {bytes}, codes, std::move(conv)});
    return absl::OkStatus();
  }

  const Uint8Input& spec_;
  Network& network_;
  size_t quantize_ = 0;
};

}  // namespace

absl::Status MakeInputsUint8(absl::Span<const Uint8Input> inputs, integer::Network& network) {
  for (const Uint8Input& spec : inputs) {
    QB_RETURN_IF_ERROR(Rewriter(spec, network).Run());
  }
  return absl::OkStatus();
}

}  // namespace qb
