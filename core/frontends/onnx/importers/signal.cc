// Fourier transforms as products with constant matrices, window functions, mel filters.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/frontends/onnx/importers/all_importers.h"
#include "core/frontends/onnx/scalar_values.h"
#include "core/ops/movement.h"

namespace qb::onnx_import {
namespace {

constexpr double kPi = 3.14159265358979323846;
// The matrix has up to four times the square of this many elements.
constexpr int64_t kLongestTransform = 2048;

struct Transform {
  int64_t length = 0;  // of the signal
  int64_t elements =
      0;  // that are given: all, or those up to the middle of a real signal's spectrum
  int64_t results = 0;
  int64_t parts = 1;         // of an input element: 1 real, 2 complex
  int64_t result_parts = 2;  // likewise
  bool inverse = false;
};

absl::StatusOr<Transform> MakeTransform(int64_t length, int64_t parts, bool inverse,
                                        bool onesided) {
  if (length < 1 || length > kLongestTransform || parts < 1 || parts > 2) {
    return absl::UnimplementedError(absl::StrCat("a transform of ", length, " elements of ", parts,
                                                 " parts is not supported; 1 to ",
                                                 kLongestTransform, " real or complex ones are"));
  }
  const int64_t half = length / 2 + 1;
  if (inverse && onesided) {
    return Transform{length, half, length, parts, 1, true};
  }
  return Transform{length, length, onesided ? half : length, parts, 2, inverse};
}

// What part `part` of an element adds to one result.
void AppendTerms(const Transform& transform, double angle, double weight, int64_t part,
                 std::vector<double>& terms) {
  terms.push_back(weight * (part == 0 ? std::cos(angle) : -std::sin(angle)));
  if (transform.result_parts == 2) {
    terms.push_back(weight * (part == 0 ? std::sin(angle) : std::cos(angle)));
  }
}

// [elements * parts, results * result_parts]: a row of input elements times it gives the result.
Tensor TransformMatrix(const Transform& transform, DType dtype) {
  std::vector<double> values;
  const double sign = transform.inverse ? 1.0 : -1.0;
  const double scale = transform.inverse ? 1.0 / static_cast<double>(transform.length) : 1.0;
  for (int64_t n = 0; n < transform.elements; ++n) {
    // An element of half a spectrum stands for its mirror image too.
    const bool mirrored =
        transform.elements < transform.length && n > 0 && 2 * n < transform.length;
    const double weight = mirrored ? 2.0 * scale : scale;
    for (int64_t part = 0; part < transform.parts; ++part) {
      for (int64_t k = 0; k < transform.results; ++k) {
        const double angle = sign * 2.0 * kPi * static_cast<double>(n * k % transform.length) /
                             static_cast<double>(transform.length);
        AppendTerms(transform, angle, weight, part, values);
      }
    }
  }
  return TensorOfDoubles(
      dtype,
      Shape{transform.elements * transform.parts, transform.results * transform.result_parts},
      values);
}

// The axis cut or filled with zeros to `length`.
absl::StatusOr<Node*> FitLength(NodeImporter& node, Node* value, int64_t axis, int64_t length) {
  const Shape& shape = value->shape();
  if (shape[axis] == length) {
    return value;
  }
  PadAttrs attrs;
  attrs.padding_list.assign(static_cast<size_t>(2 * shape.rank()), 0);
  attrs.padding_list[static_cast<size_t>(shape.rank() + axis)] = length - shape[axis];
  return node.Add("fitted", OpKind::kPad, {value}, std::move(attrs));
}

// The order that puts `axis` just before the last one, or, inverted, back.
std::vector<int64_t> AxisToEnd(int64_t rank, int64_t axis, bool back) {
  std::vector<int64_t> order;
  for (int64_t d = 0; d < rank; ++d) {
    if (d != axis && d != rank - 1) {
      order.push_back(d);
    }
  }
  order.push_back(axis);
  order.push_back(rank - 1);
  if (!back) {
    return order;
  }
  std::vector<int64_t> inverse(order.size());
  for (size_t d = 0; d < order.size(); ++d) {
    inverse[static_cast<size_t>(order[d])] = static_cast<int64_t>(d);
  }
  return inverse;
}
// [..., elements, parts] -> [..., results, result_parts].
absl::StatusOr<Node*> AddTransform(NodeImporter& node, absl::string_view role, Node* value,
                                   const Transform& transform) {
  std::vector<int64_t> dims = value->shape().dims();
  const int64_t rows = value->shape().elements() / (transform.elements * transform.parts);
  QB_ASSIGN_OR_RETURN(Node * flat,
                      node.AddReshape("rows", value, {rows, transform.elements * transform.parts}));
  QB_ASSIGN_OR_RETURN(Node * matrix,
                      node.AddConstant("matrix", TransformMatrix(transform, value->type().dtype)));
  QB_ASSIGN_OR_RETURN(Node * product, node.Add("spectrum", OpKind::kMatMul, {flat, matrix}));
  dims[dims.size() - 2] = transform.results;
  dims[dims.size() - 1] = transform.result_parts;
  return node.AddReshape(role, product, Shape(std::move(dims)));
}

absl::StatusOr<DType> OutputType(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(const DType dtype, node.DTypeAttr("output_datatype", DType::kFloat32));
  if (!IsFloat(dtype) && !IsInteger(dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("output_datatype is ", DTypeName(dtype), "; a numeric type is accepted"));
  }
  return dtype;
}

}  // namespace

absl::Status ImportDft(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "input"));
  const int64_t rank = input->shape().rank();
  int64_t axis = -2;
  if (node.opset() < 20) {
    QB_ASSIGN_OR_RETURN(axis, node.IntAttr("axis", 1));
  } else if (node.HasInput(2)) {
    QB_ASSIGN_OR_RETURN(axis, node.IntInput(2, "axis"));
  }
  QB_ASSIGN_OR_RETURN(axis, NormalizeAxis(axis, rank));
  if (rank < 2 || axis == rank - 1) {
    return absl::InvalidArgumentError(absl::StrCat("axis ", axis, " of an input of shape ",
                                                   input->shape().ToString(),
                                                   "; the last one holds the parts of a number"));
  }
  QB_ASSIGN_OR_RETURN(const bool inverse, node.BoolAttr("inverse", false));
  QB_ASSIGN_OR_RETURN(const bool onesided, node.BoolAttr("onesided", false));
  int64_t length = input->shape()[axis];
  if (inverse && onesided) {
    length = 2 * (length - 1);
  }
  if (node.HasInput(1)) {
    QB_ASSIGN_OR_RETURN(length, node.IntInput(1, "dft_length"));
  }
  QB_ASSIGN_OR_RETURN(const Transform transform,
                      MakeTransform(length, input->shape()[rank - 1], inverse, onesided));
  QB_ASSIGN_OR_RETURN(Node * value, FitLength(node, input, axis, transform.elements));
  const bool moves = axis != rank - 2;
  if (moves) {
    QB_ASSIGN_OR_RETURN(value, node.AddTranspose("moved", value, AxisToEnd(rank, axis, false)));
  }
  QB_ASSIGN_OR_RETURN(value, AddTransform(node, moves ? "ordered" : "", value, transform));
  return node.Finish(moves ? node.AddTranspose("", value, AxisToEnd(rank, axis, true)) : value);
}

// Overlapping frames, each times the window and transformed.
absl::Status ImportStft(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * signal, node.Input(0, "signal"));
  QB_ASSIGN_OR_RETURN(const int64_t step, node.IntInput(1, "frame_step"));
  Node* window = nullptr;
  if (node.HasInput(2)) {
    QB_ASSIGN_OR_RETURN(window, node.Input(2, "window"));
  }
  const Shape& shape = signal->shape();
  if (shape.rank() < 2 || shape.rank() > 3 || (window != nullptr && window->shape().rank() != 1)) {
    return absl::InvalidArgumentError(absl::StrCat("the signal has shape ", shape.ToString(),
                                                   "; [batch, length, 1 or 2] is accepted"));
  }
  const int64_t parts = shape.rank() == 3 ? shape[2] : 1;
  int64_t length = window != nullptr ? window->shape()[0] : 0;
  if (node.HasInput(3)) {
    QB_ASSIGN_OR_RETURN(length, node.IntInput(3, "frame_length"));
  }
  QB_ASSIGN_OR_RETURN(const bool onesided, node.BoolAttr("onesided", true));
  QB_ASSIGN_OR_RETURN(const Transform transform, MakeTransform(length, parts, false, onesided));
  if (step < 1 || length > shape[1]) {
    return absl::InvalidArgumentError(
        absl::StrCat("frames of ", length, " every ", step, " in a signal of ", shape[1]));
  }
  const int64_t frames = (shape[1] - length) / step + 1;
  if (frames > kMostFoldedBytes / 8 / length) {
    return absl::ResourceExhaustedError(absl::StrCat(frames, " frames of ", length, " elements"));
  }
  std::vector<int64_t> places;
  for (int64_t frame = 0; frame < frames; ++frame) {
    for (int64_t i = 0; i < length; ++i) {
      places.push_back(frame * step + i);
    }
  }
  QB_ASSIGN_OR_RETURN(Node * indices,
                      node.AddConstant("places", Tensor::OfInt64s(Shape{frames, length}, places)));
  QB_ASSIGN_OR_RETURN(Node * value, node.AddReshape("signal", signal, {shape[0], shape[1], parts}));
  GatherAttrs along;
  along.axis = 1;
  QB_ASSIGN_OR_RETURN(value,
                      node.Add("frames", OpKind::kGather, {value, indices}, std::move(along)));
  if (window != nullptr) {
    QB_ASSIGN_OR_RETURN(window, node.AddReshape("window", window, {window->shape()[0], 1}));
    QB_ASSIGN_OR_RETURN(value, node.Add("windowed", OpKind::kMultiply, {value, window}));
  }
  return node.Finish(AddTransform(node, "", value, transform));
}

absl::Status ImportWindowFunction(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(const int64_t size, node.IntInput(0, "size"));
  QB_ASSIGN_OR_RETURN(const bool periodic, node.BoolAttr("periodic", true));
  QB_ASSIGN_OR_RETURN(const DType dtype, OutputType(node));
  if (size < 0 || size > kMostFoldedBytes / 8) {
    return absl::InvalidArgumentError(absl::StrCat("size is ", size));
  }
  // Coefficients of cos(0), cos(x), cos(2 x). Source: ONNX HannWindow, HammingWindow,
  // BlackmanWindow.
  double constant = 0.5, first = -0.5, second = 0.0;
  if (node.op_type() == "HammingWindow") {
    constant = 25.0 / 46.0;
    first = constant - 1.0;
  } else if (node.op_type() == "BlackmanWindow") {
    constant = 0.42;
    second = 0.08;
  }
  const auto period = static_cast<double>(periodic ? size : std::max<int64_t>(size - 1, 1));
  std::vector<double> values;
  for (int64_t i = 0; i < size; ++i) {
    const double x = 2.0 * kPi * static_cast<double>(i) / period;
    values.push_back(constant + first * std::cos(x) + second * std::cos(2.0 * x));
  }
  return node.Finish(node.AddConstant("", TensorOfDoubles(dtype, Shape{size}, values)));
}

namespace {

double MelOf(double hertz) { return 2595.0 * std::log10(1.0 + hertz / 700.0); }
double HertzOf(double mel) { return 700.0 * (std::pow(10.0, mel / 2595.0) - 1.0); }

absl::StatusOr<double> NumberInput(NodeImporter& node, int64_t index, absl::string_view what) {
  QB_ASSIGN_OR_RETURN(const Tensor value, node.ConstantInput(index, what));
  if (value.elements() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(what, " is not one number"));
  }
  return DoublesOf(value).front();
}

}  // namespace

// Triangles between neighbouring mel frequencies, on the bins of a spectrum.
absl::Status ImportMelWeightMatrix(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(const double bands_value, NumberInput(node, 0, "num_mel_bins"));
  QB_ASSIGN_OR_RETURN(const double length, NumberInput(node, 1, "dft_length"));
  QB_ASSIGN_OR_RETURN(const double rate, NumberInput(node, 2, "sample_rate"));
  QB_ASSIGN_OR_RETURN(const double low, NumberInput(node, 3, "lower_edge_hertz"));
  QB_ASSIGN_OR_RETURN(const double high, NumberInput(node, 4, "upper_edge_hertz"));
  QB_ASSIGN_OR_RETURN(const DType dtype, OutputType(node));
  constexpr double kMost = 1 << 16;
  if (!(bands_value >= 1.0 && bands_value <= 4096.0 && length >= 1.0 && length <= kMost &&
        rate > 0.0 && low >= 0.0 && high > low && high <= 1e6)) {
    return absl::InvalidArgumentError("sizes or frequencies are not possible");
  }
  const auto bands = static_cast<int64_t>(bands_value);
  const int64_t bins = static_cast<int64_t>(length) / 2 + 1;
  if (bins * bands > kMostFoldedBytes / 16) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a matrix of ", bins, " times ", bands, " elements"));
  }
  // Edges of all triangles as bins, evenly spaced on the mel scale.
  std::vector<int64_t> edges;
  const double step = (MelOf(high) - MelOf(low)) / static_cast<double>(bands + 2);
  for (int64_t i = 0; i < bands + 2; ++i) {
    const double hertz = HertzOf(MelOf(low) + static_cast<double>(i) * step);
    edges.push_back(static_cast<int64_t>(std::floor((length + 1.0) * hertz / rate)));
  }
  std::vector<double> values(static_cast<size_t>(bins * bands), 0.0);
  for (int64_t band = 0; band < bands; ++band) {
    const int64_t from = edges[static_cast<size_t>(band)];
    const int64_t peak = edges[static_cast<size_t>(band) + 1];
    const int64_t to = edges[static_cast<size_t>(band) + 2];
    const auto set = [&](int64_t bin, double weight) {
      if (bin >= 0 && bin < bins) {
        values[static_cast<size_t>(bin * bands + band)] = weight;
      }
    };
    for (int64_t bin = from; bin <= peak; ++bin) {
      set(bin,
          peak == from ? 1.0 : static_cast<double>(bin - from) / static_cast<double>(peak - from));
    }
    for (int64_t bin = peak; bin < to; ++bin) {
      set(bin, static_cast<double>(to - bin) / static_cast<double>(to - peak));
    }
  }
  return node.Finish(node.AddConstant("", TensorOfDoubles(dtype, Shape{bins, bands}, values)));
}

}  // namespace qb::onnx_import
