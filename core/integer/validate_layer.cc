#include "core/integer/validate_layer.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/integer/kernels/conv_transpose.h"
#include "core/integer/kernels/window.h"
#include "core/integer/normalization.h"
#include "core/integer/operand_checks.h"
#include "core/integer/requant.h"
#include "core/integer/tables.h"
namespace qb::integer::internal {
namespace {

constexpr int64_t kMostGeometry = 1 << 16;  // kernel, stride, dilation, padding
constexpr int64_t kMostCodeProducts = (int64_t{1} << 31) / (int64_t{255} * 255) - 1;
constexpr int64_t kMostPaddedElements = int64_t{1} << 31;
constexpr int64_t kMostMultiplier = int64_t{1} << 45;

template <typename Params>
absl::Status CheckGeometry(const Params& p) {
  for (const int64_t value :
       {p.kernel_h, p.kernel_w, p.stride_h, p.stride_w, p.dilation_h, p.dilation_w}) {
    if (value < 1 || value > kMostGeometry) {
      return Bad("kernel, stride or dilation ", value, "; accepted: 1 to ", kMostGeometry);
    }
  }
  for (const int64_t value : {p.pad_top, p.pad_bottom, p.pad_left, p.pad_right}) {
    if (value < 0 || value > kMostGeometry) {
      return Bad("padding ", value, "; accepted: 0 to ", kMostGeometry);
    }
  }
  return absl::OkStatus();
}

// One axis of a window: how far it reaches, how many places the result has.
struct WindowAxis {
  const char* name;
  int64_t padded;       // input with padding
  int64_t start_limit;  // input with the padding before it
  int64_t extent, stride;
  int64_t places;
};

// With `ceil` the result may have one place more, where that window starts before the end padding.
absl::Status CheckAxis(const WindowAxis& axis, bool ceil) {
  if (axis.padded < axis.extent) {
    return Bad("the window of ", axis.extent, " is longer than the padded input of ", axis.padded,
               " along ", axis.name);
  }
  const int64_t places = (axis.padded - axis.extent) / axis.stride + 1;
  const bool one_more = ceil && axis.places == places + 1 &&
                        places * axis.stride < axis.start_limit &&
                        (axis.padded - axis.extent) % axis.stride != 0;
  if (axis.places != places && !one_more) {
    return Bad("the output has extent ", axis.places, " along ", axis.name, "; the window fits ",
               places, " times");
  }
  return absl::OkStatus();
}

absl::Status CheckWindow(const Window& w, bool ceil) {
  // Each factor is below 2^25 and the unpadded product below 2^31: no overflow.
  if (w.padded_h() * w.padded_w() * w.in_c > kMostPaddedElements) {
    return Bad("the padded input of ", w.padded_h(), "x", w.padded_w(), "x", w.in_c,
               " is too large; accepted: up to 2^31 elements");
  }
  QB_RETURN_IF_ERROR(CheckAxis(
      {"height", w.padded_h(), w.in_h + w.pad_top, w.extent_h(), w.stride_h, w.out_h}, ceil));
  return CheckAxis({"width", w.padded_w(), w.in_w + w.pad_left, w.extent_w(), w.stride_w, w.out_w},
                   ceil);
}

bool IsPointwiseConv(const ConvParams& p) {
  return p.kernel_h == 1 && p.kernel_w == 1 && p.stride_h == 1 && p.stride_w == 1 &&
         p.pad_top == 0 && p.pad_bottom == 0 && p.pad_left == 0 && p.pad_right == 0;
}

absl::Status CheckWeights(const ConvParams& p) {
  if (p.weight_bits != 4 && p.weight_bits != 8 && p.weight_bits != 16) {
    return Bad("weights of ", p.weight_bits, " bits; accepted: 4, 8, 16");
  }
  if (!(p.weight_bits == 16 ? p.weights.empty() : p.weights16.empty())) {
    return Bad("there are 8-bit and 16-bit weights; accepted: one kind");
  }
  const int32_t most = p.weight_bits == 16 ? 32639 : (p.weight_bits == 8 ? 127 : 7);
  const int32_t least = p.weight_bits == 16 ? -32768 : -most;
  const int64_t count = p.weight_count();
  for (int64_t i = 0; i < count; ++i) {
    if (p.weight(i) < least || p.weight(i) > most) {
      return Bad("a weight is ", p.weight(i), "; accepted: ", least, " to ", most);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckConvTables(const ConvParams& p, const Window& w, const TensorInfo& x) {
  const int64_t group_in = w.in_c / p.groups;
  const int64_t length = w.taps() * group_in;  // < 2^16 * 2^16 * 2^24
  if (length > (int64_t{1} << 40) / w.out_c || p.weight_count() != length * w.out_c) {
    return Bad("there are ", p.weight_count(), " weights; accepted: ", length, " for each of ",
               w.out_c, " output channels");
  }
  const bool wide = IsWide(p, x);
  const size_t biases = wide ? p.wide_bias.size() : p.bias.size();
  if (static_cast<int64_t>(biases) != w.out_c ||
      static_cast<int64_t>(p.requant.size()) != w.out_c) {
    return Bad("there are ", biases, wide ? " wide" : "", " biases and ", p.requant.size(),
               " requantizations; accepted: one for each of ", w.out_c, " output channels");
  }
  if (wide ? !p.bias.empty() : !p.wide_bias.empty()) {
    return Bad(
        "there are 32-bit and 64-bit biases; accepted: 64 bits with 16-bit input or weights, "
        "else 32");
  }
  if (!p.weight_scales.empty() && static_cast<int64_t>(p.weight_scales.size()) != w.out_c) {
    return Bad("there are ", p.weight_scales.size(), " weight scales for ", w.out_c, " channels");
  }
  QB_RETURN_IF_ERROR(CheckRequants(p.requant));
  QB_RETURN_IF_ERROR(CheckWeights(p));
  return CheckAccumulatorBound(p, x);
}

// Images; or tensors of any rank whose last axis is the channels, where one pixel meets one pixel.
absl::Status CheckConvShapes(const ConvParams& p, const Operands& t) {
  if (!IsPointwiseConv(p)) {
    return CheckRank4(t);
  }
  if (t.x(0).shape.rank() < 1 || t.y().shape.rank() < 1) {
    return Bad("a scalar has no channels");
  }
  return absl::OkStatus();
}

absl::Status CheckGroups(const ConvParams& p, const Window& w) {
  if (p.groups < 1 || w.in_c % p.groups != 0 || w.out_c % p.groups != 0) {
    return Bad(p.groups, " groups of ", w.in_c, " input and ", w.out_c,
               " output channels; accepted: a divisor of both");
  }
  return absl::OkStatus();
}

absl::Status CheckKind(const ConvParams& p, const Operands& t) {
  QB_RETURN_IF_ERROR(CheckCodes(t));
  QB_RETURN_IF_ERROR(CheckGeometry(p));
  QB_RETURN_IF_ERROR(CheckClamp(p.clamp_min, p.clamp_max, t.y().dtype));
  QB_RETURN_IF_ERROR(CheckConvShapes(p, t));
  const Window w = WindowOf(p, t.x(0).shape, t.y().shape);
  QB_RETURN_IF_ERROR(CheckGroups(p, w));
  QB_RETURN_IF_ERROR(CheckWindow(w, /*ceil=*/false));
  return CheckConvTables(p, w, t.x(0));
}

absl::Status CheckTransposePads(const ConvTransposeParams& p, const ConvParams& stuffed) {
  for (const int64_t pad : {p.output_pad_h, p.output_pad_w}) {
    if (pad < 0 || pad > kMostGeometry) {
      return Bad("output padding ", pad, "; accepted: 0 to ", kMostGeometry);
    }
  }
  for (const int64_t pad :
       {stuffed.pad_top, stuffed.pad_bottom, stuffed.pad_left, stuffed.pad_right}) {
    if (pad < 0) {
      return Bad("a padding reaches beyond the kernel; accepted: up to dilation * (kernel - 1)");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckStuffedSize(const ConvTransposeParams& p, const Shape& x) {
  // Each factor is below 2^41, the result checked against 2^31 before the product with the
  // channels.
  const int64_t height = (x[1] - 1) * p.conv.stride_h + 1;
  const int64_t width = (x[2] - 1) * p.conv.stride_w + 1;
  if (height > kMostPaddedElements / width || height * width > kMostPaddedElements / x[3]) {
    return Bad("the input of ", x.ToString(), " with strides ", p.conv.stride_h, " and ",
               p.conv.stride_w, " is too large; accepted: up to 2^31 elements");
  }
  return absl::OkStatus();
}

// The convolution that it is over an image with zeros between the pixels.
absl::Status CheckStuffedConv(const ConvTransposeParams& p, const Operands& t) {
  const ConvParams stuffed = StuffedGeometry(p);
  QB_RETURN_IF_ERROR(CheckTransposePads(p, stuffed));
  QB_RETURN_IF_ERROR(CheckStuffedSize(p, t.x(0).shape));
  const Window w = WindowOf(stuffed, StuffedShape(p, t.x(0).shape), t.y().shape);
  QB_RETURN_IF_ERROR(CheckGroups(p.conv, w));
  QB_RETURN_IF_ERROR(CheckWindow(w, /*ceil=*/false));
  return CheckConvTables(p.conv, w, t.x(0));
}

absl::Status CheckKind(const ConvTransposeParams& p, const Operands& t) {
  QB_RETURN_IF_ERROR(CheckCodes(t));
  QB_RETURN_IF_ERROR(CheckGeometry(p.conv));
  QB_RETURN_IF_ERROR(CheckClamp(p.conv.clamp_min, p.conv.clamp_max, t.y().dtype));
  QB_RETURN_IF_ERROR(CheckRank4(t));
  return CheckStuffedConv(p, t);
}

absl::Status CheckMatrices(const Operands& t) {
  const Shape& a = t.x(0).shape;
  const Shape& b = t.x(1).shape;
  const int64_t rank = a.rank();
  if (rank < 2 || b.rank() != rank || a[rank - 1] != b[rank - 2]) {
    return Bad("operands ", a.ToString(), " and ", b.ToString(),
               "; accepted: [.., M, K] and [.., K, N] of one rank");
  }
  std::vector<int64_t> dims;
  for (int64_t axis = 0; axis < rank - 2; ++axis) {
    if (a[axis] != b[axis] && a[axis] != 1 && b[axis] != 1) {
      return Bad("operands ", a.ToString(), " and ", b.ToString(), " do not broadcast");
    }
    dims.push_back(std::max(a[axis], b[axis]));
  }
  dims.push_back(a[rank - 2]);
  dims.push_back(b[rank - 1]);
  const bool wide = t.x(0).dtype == DType::kInt16 || t.x(1).dtype == DType::kInt16;
  if (!wide && a[rank - 1] > kMostCodeProducts) {
    return Bad("the sum over ", a[rank - 1], " products may leave int32; accepted: up to ",
               kMostCodeProducts);
  }
  return CheckShape(t, dims);
}

absl::Status CheckKind(const MatMulParams& p, const Operands& t) {
  QB_RETURN_IF_ERROR(CheckCodes(t));
  QB_RETURN_IF_ERROR(CheckRequant(p.requant));
  QB_RETURN_IF_ERROR(CheckClamp(p.clamp_min, p.clamp_max, t.y().dtype));
  return CheckMatrices(t);
}

absl::Status CheckKind(const EltwiseParams& p, const Operands& t) {
  QB_RETURN_IF_ERROR(CheckCodes(t));
  QB_RETURN_IF_ERROR(CheckRequant(p.mul_requant));
  QB_RETURN_IF_ERROR(CheckClamp(p.clamp_min, p.clamp_max, t.y().dtype));
  if (p.kind != EltwiseKind::kAdd && p.kind != EltwiseKind::kSub && p.kind != EltwiseKind::kMul) {
    return Bad("unknown operation ", static_cast<int>(p.kind));
  }
  if (p.shift < 1 || p.shift > 62) {
    return Bad("shift ", p.shift, "; accepted: 1 to 62");
  }
  for (const int64_t multiplier : {p.multiplier_a, p.multiplier_b}) {
    if (multiplier < -kMostMultiplier || multiplier > kMostMultiplier) {
      return Bad("multiplier ", multiplier, "; accepted: a magnitude up to 2^45");
    }
  }
  const absl::StatusOr<Shape> shape = BroadcastShapes(t.x(0).shape, t.x(1).shape);
  QB_RETURN_IF_ERROR(shape.status());
  return CheckShape(t, shape->dims());
}

absl::Status CheckKind(const PoolParams& p, const Operands& t) {
  QB_RETURN_IF_ERROR(CheckInt8(t));
  QB_RETURN_IF_ERROR(CheckGeometry(p));
  QB_RETURN_IF_ERROR(CheckClamp(p.clamp_min, p.clamp_max));
  QB_RETURN_IF_ERROR(CheckRank4(t));
  const Window w = WindowOf(p, t.x(0).shape, t.y().shape);
  if (w.in_c != w.out_c) {
    return Bad(w.in_c, " input and ", w.out_c, " output channels; accepted: as many");
  }
  QB_RETURN_IF_ERROR(CheckWindow(w, /*ceil=*/true));
  if (p.is_max) {
    return absl::OkStatus();
  }
  if (w.taps() > 1 << 22 || static_cast<int64_t>(p.requant_by_count.size()) != w.taps() + 1) {
    return Bad("there are ", p.requant_by_count.size(), " requantizations for a window of ",
               w.taps(), " elements; accepted: one more than elements, up to 2^22");
  }
  return CheckRequants(p.requant_by_count);
}

absl::Status CheckKind(const ReduceParams& p, const Operands& t) {
  QB_RETURN_IF_ERROR(CheckInt8(t));
  QB_RETURN_IF_ERROR(CheckRequant(p.requant));
  QB_RETURN_IF_ERROR(CheckClamp(p.clamp_min, p.clamp_max));
  std::vector<int64_t> dims = t.x(0).shape.dims();
  int64_t count = 1;
  for (const int64_t axis : p.axes) {
    if (axis < 0 || axis >= t.x(0).shape.rank()) {
      return Bad("axis ", axis, " of an input of rank ", t.x(0).shape.rank());
    }
    count *= dims[static_cast<size_t>(axis)];
    dims[static_cast<size_t>(axis)] = 1;
  }
  if (count > (int64_t{1} << 31) / 255 - 1) {
    return Bad("the sum of ", count, " codes may leave int32");
  }
  // The axes of extent 1 may be kept or dropped.
  if (t.y().shape.elements() != Shape(dims).elements()) {
    return CheckShape(t, dims);
  }
  return absl::OkStatus();
}

absl::Status CheckKind(const LutParams& p, const Operands& t) {
  if (t.x(0).dtype == DType::kInt16) {
    QB_RETURN_IF_ERROR(CheckKnots(p, t));
    return CheckSameElements(t);
  }
  QB_RETURN_IF_ERROR(CheckInt8(t));
  if (p.table.size() != 256 || !p.knots.empty() || !p.requant.empty()) {
    return Bad("the table has ", p.table.size(), " entries, ", p.knots.size(), " knots and ",
               p.requant.size(), " multipliers; accepted: 256, 0 and 0");
  }
  return CheckSameElements(t);
}

absl::Status CheckKind(const SoftmaxParams& p, const Operands& t) {
  QB_RETURN_IF_ERROR(CheckCodes(t));
  const bool wide = t.x(0).dtype == DType::kInt16;
  const size_t entries = wide ? 512 : 256;
  if (p.exp_table.size() != entries || p.exp_table[0] < 1 || (wide && p.exp_table[256] != kSoftmaxOne)) {
    return Bad("the exponential table has ", p.exp_table.size(), " entries; accepted: ", entries,
               wide ? ", the first above 0 and that of the low byte 2^24" : ", the first above 0");
  }
  for (const int32_t value : p.exp_table) {
    if (value < 0 || value > kSoftmaxOne) {
      return Bad("the exponential table holds ", value, "; accepted: 0 to 2^24");
    }
  }
  if (t.x(0).shape.rank() < 1) {
    return Bad("a scalar has no axis");
  }
  const float scale = t.y().dtype == DType::kInt16 ? 1.0f / 32768.0f : 1.0f / 256.0f;
  if (t.y().scale != scale) {
    return Bad("the output has scale ", t.y().scale, "; accepted: 1/256, of int16 1/32768");
  }
  return CheckShape(t, t.x(0).shape.dims());
}

absl::Status CheckKind(const NormalizationParams& p, const Operands& t) {
  QB_RETURN_IF_ERROR(CheckCodes(t));
  QB_RETURN_IF_ERROR(CheckNormalization(p, t.x(0).shape));
  return CheckShape(t, t.x(0).shape.dims());
}

absl::Status CheckKind(const ConcatParams& p, const Operands& t) {
  QB_RETURN_IF_ERROR(CheckSameType(t));
  if (p.requant.size() != t.count() || p.same_scale.size() != t.count()) {
    return Bad("there are ", p.requant.size(), " requantizations and ", p.same_scale.size(),
               " marks for ", t.count(), " inputs");
  }
  std::vector<int64_t> dims = t.x(0).shape.dims();
  if (p.axis < 0 || p.axis >= t.x(0).shape.rank()) {
    return Bad("axis ", p.axis, " of an input of rank ", t.x(0).shape.rank());
  }
  const size_t axis = static_cast<size_t>(p.axis);
  dims[axis] = 0;
  for (size_t i = 0; i < t.count(); ++i) {
    std::vector<int64_t> part = t.x(i).shape.dims();
    if (part.size() != dims.size()) {
      return Bad("input ", i, " has rank ", part.size(), ", the first ", dims.size());
    }
    const int64_t extent = part[axis];
    part[axis] = dims[axis];
    if (part != dims) {
      return Bad("input ", i, " has shape ", t.x(i).shape.ToString(), ", the first ",
                 t.x(0).shape.ToString(), "; accepted: equal but along axis ", p.axis);
    }
    dims[axis] += extent;
    QB_RETURN_IF_ERROR(CheckRequant(p.requant[i]));
    if (p.same_scale[i] == 0 && t.y().dtype != DType::kInt8) {
      return Bad("input ", i, " is to be rescaled, but is not int8");
    }
  }
  return CheckShape(t, dims);
}

absl::Status CheckKind(const PReluParams& p, const Operands& t) {
  QB_RETURN_IF_ERROR(CheckInt8(t));
  QB_RETURN_IF_ERROR(CheckRequant(p.positive));
  QB_RETURN_IF_ERROR(CheckRequants(p.negative));
  const int64_t rank = t.x(0).shape.rank();
  const int64_t channels = rank == 0 ? 1 : t.x(0).shape[rank - 1];
  const int64_t entries = static_cast<int64_t>(p.negative.size());
  if ((entries != 1 && entries != channels) || p.negate.size() != p.negative.size()) {
    return Bad("there are ", entries, " rescalings and ", p.negate.size(), " signs for ", channels,
               " channels; accepted: one, or one a channel");
  }
  return CheckShape(t, t.x(0).shape.dims());
}

absl::Status CheckKind(const RequantParams& p, const Operands& t) {
  QB_RETURN_IF_ERROR(CheckCodes(t));
  QB_RETURN_IF_ERROR(CheckRequant(p.requant));
  return CheckSameElements(t);
}

absl::Status CheckKind(const SliceParams& p, const Operands& t) {
  QB_RETURN_IF_ERROR(CheckSameType(t));
  const Shape& x = t.x(0).shape;
  const Shape& y = t.y().shape;
  const size_t rank = static_cast<size_t>(x.rank());
  if (y.rank() != x.rank() || p.start.size() != rank || p.step.size() != rank) {
    return Bad("input ", x.ToString(), ", output ", y.ToString(), ", ", p.start.size(),
               " starts and ", p.step.size(), " steps; accepted: one rank");
  }
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    const int64_t start = p.start[static_cast<size_t>(axis)];
    const int64_t step = p.step[static_cast<size_t>(axis)];
    const int64_t most_step = int64_t{1} << 32;
    const bool valid = start >= 0 && start < x[axis] && step != 0 && step <= most_step &&
                       step >= -most_step && y[axis] <= x[axis] &&
                       start + (y[axis] - 1) * step >= 0 && start + (y[axis] - 1) * step < x[axis];
    if (!valid) {
      return Bad("axis ", axis, ": ", y[axis], " elements from ", start, " in steps of ", step,
                 " leave the input of ", x[axis]);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckKind(const PadParams& p, const Operands& t) {
  QB_RETURN_IF_ERROR(CheckSameType(t));
  const Shape& x = t.x(0).shape;
  const Shape& y = t.y().shape;
  if (y.rank() != x.rank() || p.begin.size() != static_cast<size_t>(x.rank())) {
    return Bad("input ", x.ToString(), ", output ", y.ToString(), ", ", p.begin.size(),
               " begins; accepted: one rank");
  }
  if (p.code < LeastCode(t.y().dtype) || p.code > MostCode(t.y().dtype)) {
    return Bad("padding code ", p.code, "; accepted: ", LeastCode(t.y().dtype), " to ",
               MostCode(t.y().dtype));
  }
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    const int64_t begin = p.begin[static_cast<size_t>(axis)];
    if (begin < 0 || begin > y[axis] || x[axis] > y[axis] - begin) {
      return Bad("axis ", axis, ": an input of ", x[axis], " at ", begin, " leaves the output of ",
                 y[axis]);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckKind(const TransposeParams& p, const Operands& t) {
  QB_RETURN_IF_ERROR(CheckSameType(t));
  const Shape& x = t.x(0).shape;
  std::vector<bool> seen(static_cast<size_t>(x.rank()), false);
  std::vector<int64_t> dims;
  if (p.axes.size() != seen.size() || x.rank() > 8) {
    return Bad(p.axes.size(), " axes for an input of rank ", x.rank(),
               "; accepted: as many, up to 8");
  }
  for (const int64_t axis : p.axes) {
    if (axis < 0 || axis >= x.rank() || seen[static_cast<size_t>(axis)]) {
      return Bad("axis ", axis, "; accepted: a permutation of 0 to ", x.rank() - 1);
    }
    seen[static_cast<size_t>(axis)] = true;
    dims.push_back(x[axis]);
  }
  return CheckShape(t, dims);
}

absl::Status CheckKind(const ReshapeParams&, const Operands& t) {
  QB_RETURN_IF_ERROR(CheckSameType(t));
  return CheckSameElements(t);
}

absl::Status CheckKind(const ResizeNearestParams& p, const Operands& t) {
  QB_RETURN_IF_ERROR(CheckSameType(t));
  QB_RETURN_IF_ERROR(CheckRank4(t));
  const Shape& x = t.x(0).shape;
  for (const int32_t row : p.row_index) {
    if (row < 0 || row >= x[1]) {
      return Bad("row ", row, " of ", x[1]);
    }
  }
  for (const int32_t column : p.column_index) {
    if (column < 0 || column >= x[2]) {
      return Bad("column ", column, " of ", x[2]);
    }
  }
  return CheckShape(t, {1, static_cast<int64_t>(p.row_index.size()),
                        static_cast<int64_t>(p.column_index.size()), x[3]});
}

absl::Status CheckLinearAxis(const LinearAxis& axis, int64_t extent, int32_t bits) {
  if (axis.low.size() != axis.high.size() || axis.low.size() != axis.fraction.size()) {
    return Bad("there are ", axis.low.size(), " low places, ", axis.high.size(), " high ones and ",
               axis.fraction.size(), " fractions; accepted: as many");
  }
  for (size_t i = 0; i < axis.low.size(); ++i) {
    if (axis.low[i] < 0 || axis.low[i] >= extent || axis.high[i] < 0 || axis.high[i] >= extent) {
      return Bad("places ", axis.low[i], " and ", axis.high[i], " of ", extent);
    }
    if (axis.fraction[i] < 0 || axis.fraction[i] > 1 << bits) {
      return Bad("fraction ", axis.fraction[i], "; accepted: 0 to ", 1 << bits);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckKind(const ResizeLinearParams& p, const Operands& t) {
  QB_RETURN_IF_ERROR(CheckCodes(t));
  QB_RETURN_IF_ERROR(CheckSameType(t));
  QB_RETURN_IF_ERROR(CheckRank4(t));
  if (p.fraction_bits < 1 || p.fraction_bits > 15) {
    return Bad("fractions of ", p.fraction_bits, " bits; accepted: 1 to 15");
  }
  const Shape& x = t.x(0).shape;
  QB_RETURN_IF_ERROR(CheckLinearAxis(p.rows, x[1], p.fraction_bits));
  QB_RETURN_IF_ERROR(CheckLinearAxis(p.columns, x[2], p.fraction_bits));
  if (t.x(0).zero_point != t.y().zero_point) {
    return Bad("the input has zero point ", t.x(0).zero_point, ", the output ", t.y().zero_point,
               "; accepted: one");
  }
  return CheckShape(t, {1, static_cast<int64_t>(p.rows.low.size()),
                        static_cast<int64_t>(p.columns.low.size()), x[3]});
}

absl::Status CheckKind(const DepthToSpaceParams& p, const Operands& t) {
  QB_RETURN_IF_ERROR(CheckSameType(t));
  QB_RETURN_IF_ERROR(CheckRank4(t));
  const Shape& x = t.x(0).shape;
  if (p.block < 1 || p.block > kMostGeometry || x[3] % (p.block * p.block) != 0) {
    return Bad("block ", p.block, " of ", x[3],
               " channels; accepted: a block whose square divides them");
  }
  return CheckShape(t, {1, x[1] * p.block, x[2] * p.block, x[3] / (p.block * p.block)});
}

absl::Status CheckKind(const QuantizeParams&, const Operands& t) {
  const bool bytes = t.x(0).dtype == DType::kUint8 && t.y().dtype == DType::kInt8;
  if (bytes && t.y().zero_point != -128) {
    return Bad("uint8 to int8 with zero point ", t.y().zero_point, "; accepted: -128");
  }
  if (!bytes && (t.x(0).dtype != DType::kFloat32 || !IsCode(t.y()))) {
    return Bad(DTypeName(t.x(0).dtype), " to ", DTypeName(t.y().dtype),
               "; accepted: float32 to int8 or int16, uint8 to int8");
  }
  return CheckSameElements(t);
}

absl::Status CheckKind(const DequantizeParams&, const Operands& t) {
  if (!IsCode(t.x(0)) || t.y().dtype != DType::kFloat32) {
    return Bad(DTypeName(t.x(0).dtype), " to ", DTypeName(t.y().dtype),
               "; accepted: int8 or int16 to float32");
  }
  return CheckSameElements(t);
}

// How many inputs a kind takes; 0: one or more.
size_t Arity(const LayerParams& params) {
  if (std::holds_alternative<ConcatParams>(params)) {
    return 0;
  }
  const bool two =
      std::holds_alternative<MatMulParams>(params) || std::holds_alternative<EltwiseParams>(params);
  return two ? 2 : 1;
}

}  // namespace

absl::Status CheckLayer(const Layer& layer, const Network& network) {
  const size_t arity = Arity(layer.params);
  if (layer.inputs.empty() || (arity != 0 && layer.inputs.size() != arity)) {
    return Bad("there are ", layer.inputs.size(),
               " inputs; accepted: ", arity == 0 ? "one or more" : absl::StrCat(arity));
  }
  const auto exists = [&](int index) {
    return index >= 0 && static_cast<size_t>(index) < network.tensors.size();
  };
  for (const int input : layer.inputs) {
    if (!exists(input)) {
      return Bad("there is no tensor ", input, " to read");
    }
  }
  if (!exists(layer.output)) {
    return Bad("there is no tensor ", layer.output, " to write");
  }
  const Operands operands{layer, network};
  return std::visit([&](const auto& params) { return CheckKind(params, operands); }, layer.params);
}

}  // namespace qb::integer::internal
