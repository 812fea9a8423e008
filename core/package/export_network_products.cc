// Layers with weights, and products of two activations.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/package/network_exporter.h"

namespace qb {
namespace {

using integer::ConvParams;
using integer::Layer;
using integer::TensorInfo;
using Ints = std::vector<int64_t>;

// The weights as a tensor [M, Kh, Kw, C / groups]; those of 4 bits as int8.
Tensor WeightTensor(const ConvParams& p) {
  const int64_t m = static_cast<int64_t>(p.weight_scales.size());
  const int64_t taps = p.kernel_h * p.kernel_w;
  const Shape shape{m, p.kernel_h, p.kernel_w, p.weight_count() / (m * taps)};
  if (p.weight_bits == 16) {
    return Tensor::Of<int16_t>(DType::kInt16, shape, p.weights16);
  }
  return Tensor::Of<int8_t>(DType::kInt8, shape, p.weights);
}

// The real weights: stored codes, a scale for each index along `axis`.
std::string RealWeights(NetworkExporter& out, const Layer& layer, const ConvParams& p,
                        const Tensor& weights, int64_t axis) {
  OnnxBuilder& builder = out.builder();
  const std::string name = absl::StrCat(layer.name, "/weights");
  std::string codes;
  if (p.weight_bits == 4) {
    const auto values = weights.values<int8_t>();
    codes = builder.AddInt4s(name, weights.shape(), {values.begin(), values.end()});
  } else {
    codes = builder.AddConstant(name, weights);
  }
  const int64_t count = static_cast<int64_t>(p.weight_scales.size());
  std::vector<std::string> operands = {
      codes, builder.AddFloats(absl::StrCat(name, "/scales"), {count}, p.weight_scales)};
  if (p.weight_bits == 8) {
    // ONNX Runtime, where it multiplies unsigned bytes for exactness, adds one zero point for all
    // scales when there is none, and then refuses its own graph.
    operands.push_back(builder.AddConstant(
        absl::StrCat(name, "/zero_points"),
        Tensor::Of<int8_t>(DType::kInt8, Shape{count},
                           std::vector<int8_t>(static_cast<size_t>(count), 0))));
  }
  return builder.AddNode("DequantizeLinear", absl::StrCat(name, "/real"), operands,
                         {{"axis", axis}});
}

// int32 at input scale x weight scale; a plain float where sums are wider than 32 bits.
std::string RealBias(NetworkExporter& out, const Layer& layer, const ConvParams& p) {
  OnnxBuilder& builder = out.builder();
  const TensorInfo& input = out.info(layer.inputs[0]);
  const std::string name = absl::StrCat(layer.name, "/bias");
  const int64_t count = static_cast<int64_t>(p.weight_scales.size());
  std::vector<float> scales, real;
  for (int64_t m = 0; m < count; ++m) {
    scales.push_back(input.scale * p.weight_scales[static_cast<size_t>(m)]);
    real.push_back(static_cast<float>(static_cast<double>(p.bias_of(m)) * scales.back()));
  }
  if (IsWide(p, input)) {
    return builder.AddFloats(name, {count}, real);
  }
  return builder.AddNode(
      "DequantizeLinear", absl::StrCat(name, "/real"),
      {builder.AddConstant(name, Tensor::Of<int32_t>(DType::kInt32, {count}, p.bias)),
       builder.AddFloats(absl::StrCat(name, "/scales"), {count}, scales)},
      {{"axis", int64_t{0}}});
}

std::vector<NamedAttr> WindowAttributes(const ConvParams& p) {
  return {{"kernel_shape", Ints{p.kernel_h, p.kernel_w}},
          {"strides", Ints{p.stride_h, p.stride_w}},
          {"dilations", Ints{p.dilation_h, p.dilation_w}},
          {"pads", Ints{p.pad_top, p.pad_left, p.pad_bottom, p.pad_right}},
          {"group", p.groups}};
}

void ExportConv(NetworkExporter& out, const Layer& layer, const ConvParams& p) {
  const std::string x = out.Real(layer.inputs[0], true);
  const std::string weights =
      RealWeights(out, layer, p, PermuteAxes(WeightTensor(p), {0, 3, 1, 2}), 0);
  const std::string y =
      out.builder().AddNode("Conv", absl::StrCat(layer.name, "/conv"),
                            {x, weights, RealBias(out, layer, p)}, WindowAttributes(p));
  out.Set(layer.output, true, out.Quantized(layer.output, y, p.clamp_min, p.clamp_max));
}

// A fully connected layer over the last axis: each row an image of one pixel. ONNX Runtime computes
// an integer convolution of that, where it would compute a Gemm in float32.
void ExportRows(NetworkExporter& out, const Layer& layer, const ConvParams& p) {
  OnnxBuilder& builder = out.builder();
  const Tensor weights = WeightTensor(p);
  const int64_t m = weights.shape()[0];
  const int64_t k = weights.shape()[3];
  const int64_t rows = out.info(layer.inputs[0]).shape.elements() / k;
  const std::string name = absl::StrCat(layer.name, "/rows");
  const std::string codes =
      builder.AddNode("Reshape", name,
                      {out.Value(layer.inputs[0], false),
                       builder.AddInt64s(absl::StrCat(name, "/shape"), {rows, k, 1, 1})});
  const std::vector<std::string> in = out.ScaleOperands(layer.inputs[0]);
  const std::string real =
      builder.AddNode("DequantizeLinear", absl::StrCat(name, "/real"), {codes, in[0], in[1]});
  const std::string matrix = RealWeights(out, layer, p, weights.Reshaped(Shape{m, k, 1, 1}), 0);
  const std::string product =
      builder.AddNode("Conv", absl::StrCat(layer.name, "/conv"),
                      {real, matrix, RealBias(out, layer, p)}, {{"kernel_shape", Ints{1, 1}}});
  out.Set(layer.output, false,
          out.Shaped(layer.output, out.Quantized(layer.output, product, p.clamp_min, p.clamp_max)));
}

}  // namespace

absl::Status ExportLayer(NetworkExporter& out, const Layer& layer, const ConvParams& p) {
  if (p.weight_scales.empty() || p.weight_count() == 0) {
    return NoQdqForm(layer, "the weights have no scales");
  }
  const bool is_image =
      out.info(layer.inputs[0]).shape.rank() == 4 && out.info(layer.output).shape.rank() == 4;
  if (is_image) {
    ExportConv(out, layer, p);
  } else if (p.groups == 1) {
    ExportRows(out, layer, p);
  } else {
    return NoQdqForm(layer, "groups of something else than an image");
  }
  return absl::OkStatus();
}

absl::Status ExportLayer(NetworkExporter& out, const Layer& layer,
                         const integer::ConvTransposeParams& p) {
  const ConvParams& conv = p.conv;
  if (conv.weight_scales.empty() || conv.weight_count() == 0) {
    return NoQdqForm(layer, "the weights have no scales");
  }
  // [M, Kh, Kw, C / g] to [C, M / g, Kh, Kw]. The scales are those of M, which is no axis of the
  // result when there are several groups: then the weights are written as real numbers.
  const Tensor weights = WeightTensor(conv);
  const int64_t m = weights.shape()[0] / conv.groups;
  const int64_t c = weights.shape()[3];
  const auto reordered = [&](const Tensor& w) {
    return PermuteAxes(w.Reshaped(Shape{conv.groups, m, conv.kernel_h, conv.kernel_w, c}),
                       {0, 4, 1, 2, 3})
        .Reshaped(Shape{conv.groups * c, m, conv.kernel_h, conv.kernel_w});
  };
  std::string real;
  if (conv.groups == 1) {
    real = RealWeights(out, layer, conv, reordered(weights), 1);
  } else {
    Tensor floats = Tensor::Allocate({DType::kFloat32, weights.shape()});
    const int64_t each = weights.elements() / weights.shape()[0];
    for (int64_t i = 0; i < floats.elements(); ++i) {
      floats.mutable_data<float>()[i] =
          static_cast<float>(conv.weight(i)) * conv.weight_scales[static_cast<size_t>(i / each)];
    }
    real = out.builder().AddConstant(absl::StrCat(layer.name, "/weights"), reordered(floats));
  }
  std::vector<NamedAttr> attributes = WindowAttributes(conv);
  attributes.push_back({"output_padding", Ints{p.output_pad_h, p.output_pad_w}});
  const std::string x = out.Real(layer.inputs[0], true);
  const std::string y = out.builder().AddNode("ConvTranspose", absl::StrCat(layer.name, "/conv"),
                                              {x, real, RealBias(out, layer, conv)}, attributes);
  out.Set(layer.output, true, out.Quantized(layer.output, y, conv.clamp_min, conv.clamp_max));
  return absl::OkStatus();
}

absl::Status ExportLayer(NetworkExporter& out, const Layer& layer, const integer::MatMulParams& p) {
  const std::string a = out.Real(layer.inputs[0], false);
  const std::string b = out.Real(layer.inputs[1], false);
  const std::string y =
      out.builder().AddNode("MatMul", absl::StrCat(layer.name, "/product"), {a, b});
  out.Set(layer.output, false, out.Quantized(layer.output, y, p.clamp_min, p.clamp_max));
  return absl::OkStatus();
}

}  // namespace qb
