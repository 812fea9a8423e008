// Layers that compute without weights, and tables.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/integer/normalization.h"
#include "core/integer/requant.h"
#include "core/integer/tables.h"
#include "core/package/network_exporter.h"

namespace qb {
namespace {

using integer::Layer;
using integer::TensorInfo;
using Ints = std::vector<int64_t>;

std::string Compute(NetworkExporter& out, const Layer& layer, absl::string_view op,
                    const std::vector<std::string>& operands,
                    const std::vector<NamedAttr>& attributes = {}) {
  return out.builder().AddNode(op, absl::StrCat(layer.name, "/", op), operands, attributes);
}

// Places that a window takes along an axis, rounded down.
int64_t PlacesRoundedDown(int64_t extent, int64_t pads, int64_t reach, int64_t stride) {
  return (extent + pads - reach) / stride + 1;
}

// The factor of the logits that the table of exponentials holds besides their scale.
float BetaOf(const integer::SoftmaxParams& p, float scale) {
  const bool wide = p.exp_table.size() == 512;
  const std::vector<int32_t> plain =
      wide ? integer::WideSoftmaxExpTable(scale) : integer::SoftmaxExpTable(scale);
  if (plain == p.exp_table) {
    return 1.0f;
  }
  // From the last entry that still has digits: table[i] = table[0] exp(-i step). Of the two tables
  // of int16 logits the second has steps of one.
  const size_t first = wide ? 256 : 0;
  double step = scale;
  for (size_t i = 1; first + i < p.exp_table.size() && p.exp_table[first + i] > 256; ++i) {
    step = -std::log(static_cast<double>(p.exp_table[first + i]) / p.exp_table[first]) /
           static_cast<double>(i);
  }
  return static_cast<float>(step / scale);
}

}  // namespace

absl::Status ExportLayer(NetworkExporter& out, const Layer& layer,
                         const integer::EltwiseParams& p) {
  const bool first = out.PrefersChannelsFirst(layer);
  const std::string a = out.Real(layer.inputs[0], first);
  const std::string b = layer.inputs[1] == layer.inputs[0] ? a : out.Real(layer.inputs[1], first);
  const absl::string_view op = p.kind == integer::EltwiseKind::kMul   ? "Mul"
                               : p.kind == integer::EltwiseKind::kSub ? "Sub"
                                                                      : "Add";
  const std::string y = Compute(out, layer, op, {a, b});
  out.Set(layer.output, first, out.Quantized(layer.output, y, p.clamp_min, p.clamp_max));
  return absl::OkStatus();
}

absl::Status ExportLayer(NetworkExporter& out, const Layer& layer, const integer::PoolParams& p) {
  const Shape& x = out.info(layer.inputs[0]).shape;
  const Shape& y = out.info(layer.output).shape;
  const int64_t reach_h = p.dilation_h * (p.kernel_h - 1) + 1;
  const int64_t reach_w = p.dilation_w * (p.kernel_w - 1) + 1;
  const bool ceil = y[1] > PlacesRoundedDown(x[1], p.pad_top + p.pad_bottom, reach_h, p.stride_h) ||
                    y[2] > PlacesRoundedDown(x[2], p.pad_left + p.pad_right, reach_w, p.stride_w);
  std::vector<NamedAttr> attributes = {
      {"kernel_shape", Ints{p.kernel_h, p.kernel_w}},
      {"strides", Ints{p.stride_h, p.stride_w}},
      {"pads", Ints{p.pad_top, p.pad_left, p.pad_bottom, p.pad_right}},
      {"ceil_mode", int64_t{ceil ? 1 : 0}}};
  if (p.is_max) {
    attributes.push_back({"dilations", Ints{p.dilation_h, p.dilation_w}});
    const std::string codes =
        Compute(out, layer, "MaxPool", {out.Value(layer.inputs[0], true)}, attributes);
    out.Set(layer.output, true, codes);
    return absl::OkStatus();
  }
  if (p.dilation_h != 1 || p.dilation_w != 1) {
    return NoQdqForm(layer, "an average with dilation");
  }
  attributes.push_back({"count_include_pad", int64_t{p.count_include_pad ? 1 : 0}});
  const std::string average =
      Compute(out, layer, "AveragePool", {out.Real(layer.inputs[0], true)}, attributes);
  out.Set(layer.output, true, out.Quantized(layer.output, average, p.clamp_min, p.clamp_max));
  return absl::OkStatus();
}

absl::Status ExportLayer(NetworkExporter& out, const Layer& layer, const integer::ReduceParams& p) {
  const TensorInfo& x = out.info(layer.inputs[0]);
  const TensorInfo& y = out.info(layer.output);
  const bool first = out.PrefersChannelsFirst(layer);
  Ints axes = p.axes;
  Shape kept = x.shape;
  double count = 1.0;
  for (int64_t& axis : axes) {
    count *= static_cast<double>(kept[axis]);
    kept[axis] = 1;
    axis = first ? ChannelsFirstAxis(axis) : axis;
  }
  // What the sum is multiplied with, in real numbers.
  const double factor = MultiplierOf(p.requant) * y.scale / x.scale;
  OnnxBuilder& builder = out.builder();
  const std::string real = out.Real(layer.inputs[0], first);
  std::string value;
  const NamedAttr keep = {"keepdims", int64_t{1}};
  if (std::abs(factor * count - 1.0) < 1e-6) {
    value =
        builder.opset() >= 18
            ? Compute(out, layer, "ReduceMean",
                      {real, builder.AddInt64s(absl::StrCat(layer.name, "/axes"), axes)}, {keep})
            : Compute(out, layer, "ReduceMean", {real}, {keep, {"axes", axes}});
  } else {
    value = Compute(out, layer, "ReduceSum",
                    {real, builder.AddInt64s(absl::StrCat(layer.name, "/axes"), axes)}, {keep});
    if (std::abs(factor - 1.0) >= 1e-6) {
      value = Compute(out, layer, "Mul",
                      {value, builder.AddFloats(absl::StrCat(layer.name, "/factor"), {},
                                                {static_cast<float>(factor)})});
    }
  }
  std::string codes = out.Quantized(layer.output, value, p.clamp_min, p.clamp_max);
  if (!first && kept != y.shape) {
    codes = out.Shaped(layer.output, codes);
  }
  out.Set(layer.output, first, codes);
  return absl::OkStatus();
}

namespace {

// The whole numbers of docs/numerics.md, in double where they are rescaled: below 2^21 * 2^31 they are
// exact there, and the power of two is, so the one rounding is that of the executable.
std::string BetweenKnots(NetworkExporter& out, const Layer& layer, const integer::LutParams& p,
                         bool first) {
  OnnxBuilder& builder = out.builder();
  const auto name = [&](absl::string_view what) { return absl::StrCat(layer.name, "/", what); };
  const auto whole = [&](absl::string_view what, int32_t value) {
    return builder.AddConstant(name(what), Tensor::Of<int32_t>(DType::kInt32, {}, {value}));
  };
  const auto op = [&](absl::string_view kind, absl::string_view what,
                      const std::vector<std::string>& operands,
                      const std::vector<NamedAttr>& attributes = {}) {
    return builder.AddNode(kind, name(what), operands, attributes);
  };
  const NamedAttr to_int32 = {"to", static_cast<int64_t>(DType::kInt32)};
  const NamedAttr to_double = {"to", static_cast<int64_t>(DType::kFloat64)};
  const std::string knot_codes = whole("knot_codes", 1 << integer::kKnotBits);
  const std::string code = op("Cast", "code", {out.Value(layer.inputs[0], first)}, {to_int32});
  const std::string place = op("Add", "place", {code, whole("offset", 32768)});
  const std::string knot = op("Div", "knot", {place, knot_codes});
  const std::string fraction = op("Sub", "fraction", {place, op("Mul", "base", {knot, knot_codes})});
  const std::string knots = builder.AddConstant(
      name("knots"), Tensor::Of<int32_t>(DType::kInt32, {static_cast<int64_t>(p.knots.size())},
                                         std::vector<int32_t>(p.knots.begin(), p.knots.end())));
  const std::string low = op("Gather", "low", {knots, knot});
  const std::string high =
      op("Gather", "high", {knots, op("Add", "next", {knot, whole("one", 1)})});
  const std::string rest = op("Sub", "rest", {knot_codes, fraction});
  const std::string value = op("Add", "value", {op("Mul", "low_part", {low, rest}),
                                                op("Mul", "high_part", {high, fraction})});
  std::vector<double> multipliers;
  for (const integer::Requant& requant : p.requant) {
    multipliers.push_back(MultiplierOf(requant));
  }
  const TensorInfo& y = out.info(layer.output);
  const int64_t count = static_cast<int64_t>(multipliers.size());
  Shape shape = count == 1 ? Shape{} : Shape{count};
  if (count > 1 && first) {
    shape = Shape{1, count, 1, 1};
  }
  const std::string multiplier = builder.AddConstant(
      name("multiplier"), Tensor::Of<double>(DType::kFloat64, shape, multipliers));
  const std::string real = op("Cast", "wide_value", {value}, {to_double});
  const std::string rounded = op("Round", "rounded", {op("Mul", "rescaled", {real, multiplier})});
  const auto bound = [&](absl::string_view what, double number) {
    return builder.AddConstant(name(what), Tensor::Of<double>(DType::kFloat64, {}, {number}));
  };
  const std::string moved = op("Add", "moved", {rounded, bound("zero_point", y.zero_point)});
  const std::string held = op("Clip", "held", {moved, bound("least", integer::LeastCode(y.dtype)),
                                               bound("most", integer::MostCode(y.dtype))});
  return op("Cast", "result", {held}, {{"to", static_cast<int64_t>(y.dtype)}});
}

}  // namespace

absl::Status ExportLayer(NetworkExporter& out, const Layer& layer, const integer::LutParams& p) {
  const TensorInfo& x = out.info(layer.inputs[0]);
  const TensorInfo& y = out.info(layer.output);
  const bool first = out.PrefersChannelsFirst(layer) && x.shape == y.shape;
  if (!p.knots.empty()) {
    std::string codes = BetweenKnots(out, layer, p, first);
    if (x.shape != y.shape) {
      codes = out.Shaped(layer.output, codes);
    }
    out.Set(layer.output, first, codes);
    return absl::OkStatus();
  }
  OnnxBuilder& builder = out.builder();
  const std::string wide = Compute(out, layer, "Cast", {out.Value(layer.inputs[0], first)},
                                   {{"to", static_cast<int64_t>(DType::kInt32)}});
  const std::string index =
      Compute(out, layer, "Add",
              {wide, builder.AddConstant(absl::StrCat(layer.name, "/offset"),
                                         Tensor::Of<int32_t>(DType::kInt32, {}, {128}))});
  const std::string table = builder.AddConstant(absl::StrCat(layer.name, "/table"),
                                                Tensor::Of<int8_t>(DType::kInt8, {256}, p.table));
  std::string codes = Compute(out, layer, "Gather", {table, index});
  if (x.shape != y.shape) {
    codes = out.Shaped(layer.output, codes);
  }
  out.Set(layer.output, first, codes);
  return absl::OkStatus();
}

absl::Status ExportLayer(NetworkExporter& out, const Layer& layer,
                         const integer::SoftmaxParams& p) {
  const TensorInfo& x = out.info(layer.inputs[0]);
  std::string logits = out.Real(layer.inputs[0], false);
  if (const float beta = BetaOf(p, x.scale); beta != 1.0f) {
    logits =
        Compute(out, layer, "Mul",
                {logits, out.builder().AddFloats(absl::StrCat(layer.name, "/beta"), {}, {beta})});
  }
  const std::string y = Compute(out, layer, "Softmax", {logits}, {{"axis", x.shape.rank() - 1}});
  out.Set(layer.output, false, out.Quantized(layer.output, y));
  return absl::OkStatus();
}

namespace {

// x / sqrt(mean(x^2) + epsilon): operators of every opset, the normalization itself is younger.
std::string OverRootMeanSquare(NetworkExporter& out, const Layer& layer, const std::string& x,
                               const Ints& axes, float epsilon) {
  OnnxBuilder& builder = out.builder();
  const NamedAttr keep = {"keepdims", int64_t{1}};
  const std::string square = Compute(out, layer, "Mul", {x, x});
  const std::string mean =
      builder.opset() >= 18
          ? Compute(out, layer, "ReduceMean",
                    {square, builder.AddInt64s(absl::StrCat(layer.name, "/axes"), axes)}, {keep})
          : Compute(out, layer, "ReduceMean", {square}, {keep, {"axes", axes}});
  const std::string sum =
      Compute(out, layer, "Add",
              {mean, builder.AddFloats(absl::StrCat(layer.name, "/epsilon"), {}, {epsilon})});
  return Compute(out, layer, "Div", {x, Compute(out, layer, "Sqrt", {sum})});
}

}  // namespace

absl::Status ExportLayer(NetworkExporter& out, const Layer& layer,
                         const integer::NormalizationParams& p) {
  const TensorInfo& x = out.info(layer.inputs[0]);
  const integer::RealNormalization numbers =
      integer::RealOfNormalization(p, x, out.info(layer.output));
  const int64_t axis = integer::NormalizedAxis(x.shape, static_cast<int64_t>(p.scale.size()));
  const Shape run(std::vector<int64_t>(x.shape.begin() + axis, x.shape.end()));
  const std::string scale = out.builder().AddFloats(absl::StrCat(layer.name, "/scale"), run,
                                                    {numbers.scale.begin(), numbers.scale.end()});
  const std::string bias = out.builder().AddFloats(absl::StrCat(layer.name, "/bias"), run,
                                                   {numbers.bias.begin(), numbers.bias.end()});
  const float epsilon = static_cast<float>(numbers.epsilon);
  const std::string real = out.Real(layer.inputs[0], false);
  std::string y;
  if (p.centered) {
    y = Compute(out, layer, "LayerNormalization", {real, scale, bias},
                {{"axis", axis}, {"epsilon", epsilon}});
  } else {
    Ints axes;
    for (int64_t i = axis; i < x.shape.rank(); ++i) {
      axes.push_back(i);
    }
    y = Compute(out, layer, "Mul", {OverRootMeanSquare(out, layer, real, axes, epsilon), scale});
    y = Compute(out, layer, "Add", {y, bias});
  }
  out.Set(layer.output, false, out.Quantized(layer.output, y));
  return absl::OkStatus();
}

absl::Status ExportLayer(NetworkExporter& out, const Layer& layer, const integer::RequantParams&) {
  const bool first = out.PrefersChannelsFirst(layer);
  out.Set(layer.output, first, out.Quantized(layer.output, out.Real(layer.inputs[0], first)));
  return absl::OkStatus();
}

absl::Status ExportLayer(NetworkExporter& out, const Layer& layer, const integer::PReluParams& p) {
  const bool first = out.PrefersChannelsFirst(layer);
  std::vector<float> slopes;
  for (size_t c = 0; c < p.negative.size(); ++c) {
    const double slope = MultiplierOf(p.negative[c]) / MultiplierOf(p.positive);
    slopes.push_back(static_cast<float>(p.negate[c] != 0 ? -slope : slope));
  }
  const int64_t count = static_cast<int64_t>(slopes.size());
  const std::string slope = out.builder().AddFloats(
      absl::StrCat(layer.name, "/slopes"), first ? Shape{count, 1, 1} : Shape{count}, slopes);
  const std::string y = Compute(out, layer, "PRelu", {out.Real(layer.inputs[0], first), slope});
  out.Set(layer.output, first, out.Quantized(layer.output, y));
  return absl::OkStatus();
}

namespace {

// low * (1 - f) + high * f along `axis`.
std::string Interpolated(NetworkExporter& out, const Layer& layer, const std::string& x,
                         const integer::LinearAxis& places,
                         const std::pair<int64_t, int32_t>& axis) {
  OnnxBuilder& builder = out.builder();
  const int64_t count = static_cast<int64_t>(places.low.size());
  std::vector<float> high_weights, low_weights;
  for (const int32_t fraction : places.fraction) {
    high_weights.push_back(std::ldexp(static_cast<float>(fraction), -axis.second));
    low_weights.push_back(1.0f - high_weights.back());
  }
  Ints dims(4, 1);
  dims[static_cast<size_t>(axis.first)] = count;
  const auto part = [&](const std::vector<int32_t>& index, const std::vector<float>& weights) {
    const std::string picked = Compute(
        out, layer, "Gather",
        {x, builder.AddInt64s(absl::StrCat(layer.name, "/index"), {index.begin(), index.end()})},
        {{"axis", axis.first}});
    return Compute(
        out, layer, "Mul",
        {picked, builder.AddFloats(absl::StrCat(layer.name, "/share"), Shape(dims), weights)});
  };
  const std::string low = part(places.low, low_weights);
  const std::string high = part(places.high, high_weights);
  return Compute(out, layer, "Add", {low, high});
}

}  // namespace

// Between codes, not between the real numbers: weights are 14-bit fractions, so halves are exact
// and round the same way. Input and output share scale and zero point.
absl::Status ExportLayer(NetworkExporter& out, const Layer& layer,
                         const integer::ResizeLinearParams& p) {
  const bool first = out.PrefersChannelsFirst(layer);
  OnnxBuilder& builder = out.builder();
  const std::string one = builder.AddFloats(absl::StrCat(layer.name, "/step"), {}, {1.0f});
  const std::string zero = out.CodeConstant(layer.output, out.info(layer.output).zero_point);
  const std::string x =
      Compute(out, layer, "DequantizeLinear", {out.Value(layer.inputs[0], first), one, zero});
  const std::string rows = Interpolated(out, layer, x, p.rows, {first ? 2 : 1, p.fraction_bits});
  const std::string y = Interpolated(out, layer, rows, p.columns, {first ? 3 : 2, p.fraction_bits});
  out.Set(layer.output, first, Compute(out, layer, "QuantizeLinear", {y, one, zero}));
  return absl::OkStatus();
}

}  // namespace qb
