// Layers that move codes, and the border.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/package/network_exporter.h"

namespace qb {
namespace {

using integer::Layer;
using Ints = std::vector<int64_t>;

// As Slice wants the end of a backward slice that includes element 0.
constexpr int64_t kBeforeFirst = INT64_MIN + 1;

std::string Move(NetworkExporter& out, const Layer& layer, absl::string_view op,
                 const std::vector<std::string>& operands,
                 const std::vector<NamedAttr>& attributes = {}) {
  return out.builder().AddNode(op, out.info(layer.output).name, operands, attributes);
}

std::string ReshapeTo(NetworkExporter& out, const Layer& layer, const std::string& value,
                      const Ints& dims) {
  return Move(out, layer, "Reshape",
              {value, out.builder().AddInt64s(absl::StrCat(layer.name, "/shape"), dims)});
}

}  // namespace

absl::Status ExportLayer(NetworkExporter& out, const Layer& layer, const integer::ConcatParams& p) {
  const bool first = out.PrefersChannelsFirst(layer);
  const bool copies =
      std::all_of(p.same_scale.begin(), p.same_scale.end(), [](uint8_t same) { return same != 0; });
  std::vector<std::string> parts;
  for (const int input : layer.inputs) {
    parts.push_back(copies ? out.Value(input, first) : out.Real(input, first));
  }
  const NamedAttr axis = {"axis", first ? ChannelsFirstAxis(p.axis) : p.axis};
  if (copies) {
    out.Set(layer.output, first, Move(out, layer, "Concat", parts, {axis}));
    return absl::OkStatus();
  }
  const std::string joined =
      out.builder().AddNode("Concat", absl::StrCat(layer.name, "/concat"), parts, {axis});
  out.Set(layer.output, first, out.Quantized(layer.output, joined));
  return absl::OkStatus();
}

absl::Status ExportLayer(NetworkExporter& out, const Layer& layer, const integer::SliceParams& p) {
  const Shape& y = out.info(layer.output).shape;
  const bool first = out.PrefersChannelsFirst(layer);
  Ints starts, ends, axes, steps;
  for (int64_t axis = 0; axis < y.rank(); ++axis) {
    const int64_t start = p.start[static_cast<size_t>(axis)];
    const int64_t step = p.step[static_cast<size_t>(axis)];
    if (start == 0 && step == 1 && y[axis] == out.info(layer.inputs[0]).shape[axis]) {
      continue;
    }
    const int64_t end = start + (y[axis] - 1) * step + (step > 0 ? 1 : -1);
    starts.push_back(start);
    ends.push_back(end < 0 ? kBeforeFirst : end);
    axes.push_back(first ? ChannelsFirstAxis(axis) : axis);
    steps.push_back(step);
  }
  OnnxBuilder& builder = out.builder();
  const std::string x = out.Value(layer.inputs[0], first);
  if (axes.empty()) {
    out.Set(layer.output, first, x);
    return absl::OkStatus();
  }
  const auto ints = [&](const char* what, const Ints& values) {
    return builder.AddInt64s(absl::StrCat(layer.name, "/", what), values);
  };
  out.Set(layer.output, first,
          Move(out, layer, "Slice",
               {x, ints("starts", starts), ints("ends", ends), ints("axes", axes),
                ints("steps", steps)}));
  return absl::OkStatus();
}

absl::Status ExportLayer(NetworkExporter& out, const Layer& layer, const integer::PadParams& p) {
  const Shape& x = out.info(layer.inputs[0]).shape;
  const Shape& y = out.info(layer.output).shape;
  const bool first = out.PrefersChannelsFirst(layer);
  const size_t rank = static_cast<size_t>(x.rank());
  Ints pads(2 * rank, 0);
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    const size_t to = static_cast<size_t>(first ? ChannelsFirstAxis(axis) : axis);
    pads[to] = p.begin[static_cast<size_t>(axis)];
    pads[rank + to] = y[axis] - x[axis] - pads[to];
  }
  const std::string value = out.Value(layer.inputs[0], first);
  const std::string amounts = out.builder().AddInt64s(absl::StrCat(layer.name, "/pads"), pads);
  out.Set(layer.output, first,
          Move(out, layer, "Pad", {value, amounts, out.CodeConstant(layer.output, p.code)}));
  return absl::OkStatus();
}

absl::Status ExportLayer(NetworkExporter& out, const Layer& layer,
                         const integer::TransposeParams& p) {
  const int x = layer.inputs[0];
  if (p.axes == Ints{0, 3, 1, 2} && out.values().Has(x) && out.values().HasChannelsFirst(x)) {
    out.Set(layer.output, false, out.Value(x, true));
    return absl::OkStatus();
  }
  if (p.axes == Ints{0, 2, 3, 1}) {
    out.Set(layer.output, true, out.Value(x, false));
    return absl::OkStatus();
  }
  out.Set(layer.output, false,
          Move(out, layer, "Transpose", {out.Value(x, false)}, {{"perm", p.axes}}));
  return absl::OkStatus();
}

absl::Status ExportLayer(NetworkExporter& out, const Layer& layer, const integer::ReshapeParams&) {
  const std::string x = out.Value(layer.inputs[0], false);
  out.Set(layer.output, false, ReshapeTo(out, layer, x, out.info(layer.output).shape.dims()));
  return absl::OkStatus();
}

absl::Status ExportLayer(NetworkExporter& out, const Layer& layer,
                         const integer::ResizeNearestParams& p) {
  const bool first = out.PrefersChannelsFirst(layer);
  OnnxBuilder& builder = out.builder();
  std::string value = out.Value(layer.inputs[0], first);
  const auto pick = [&](const std::vector<int32_t>& index, int64_t axis) {
    const std::string places =
        builder.AddInt64s(absl::StrCat(layer.name, "/index"), {index.begin(), index.end()});
    value = Move(out, layer, "Gather", {value, places}, {{"axis", axis}});
  };
  pick(p.row_index, first ? 2 : 1);
  pick(p.column_index, first ? 3 : 2);
  out.Set(layer.output, first, value);
  return absl::OkStatus();
}

absl::Status ExportLayer(NetworkExporter& out, const Layer& layer,
                         const integer::DepthToSpaceParams& p) {
  const Shape& x = out.info(layer.inputs[0]).shape;
  const int64_t b = p.block;
  const int64_t channels = x[3] / (b * b);
  const Ints split =
      p.crd ? Ints{1, x[1], x[2], channels, b, b} : Ints{1, x[1], x[2], b, b, channels};
  const Ints order = p.crd ? Ints{0, 1, 4, 2, 5, 3} : Ints{0, 1, 3, 2, 4, 5};
  const std::string parts = ReshapeTo(out, layer, out.Value(layer.inputs[0], false), split);
  const std::string moved = Move(out, layer, "Transpose", {parts}, {{"perm", order}});
  out.Set(layer.output, false, ReshapeTo(out, layer, moved, out.info(layer.output).shape.dims()));
  return absl::OkStatus();
}

absl::Status ExportLayer(NetworkExporter& out, const Layer& layer, const integer::QuantizeParams&) {
  const bool first = out.PrefersChannelsFirst(layer);
  out.Set(layer.output, first, out.Quantized(layer.output, out.Value(layer.inputs[0], first)));
  return absl::OkStatus();
}

absl::Status ExportLayer(NetworkExporter& out, const Layer& layer,
                         const integer::DequantizeParams&) {
  const bool first = out.PrefersChannelsFirst(layer);
  out.Set(layer.output, first, out.RealByChannel(layer.inputs[0], first));
  return absl::OkStatus();
}

}  // namespace qb
