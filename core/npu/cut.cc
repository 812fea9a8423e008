#include "core/npu/cut.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/integer/element_steps.h"
#include "core/integer/kernels/window.h"
#include "core/integer/normalization.h"

namespace qb::npu {
namespace {

using integer::ConvParams;
using integer::ConvTransposeParams;
using integer::Layer;
using integer::LayerParams;
using integer::Network;
using integer::TensorInfo;

template <typename T>
bool Is(const LayerParams& params) {
  return std::holds_alternative<T>(params);
}

const TensorInfo& TensorOf(const Network& network, int index) {
  return network.tensors[static_cast<size_t>(index)];
}

// The outermost axis with an extent above 1; -1 when there is none.
int64_t OuterAxis(const Shape& shape) {
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] > 1) {
      return axis;
    }
  }
  return -1;
}

// The extent of an operand along axis `axis` of a result of rank `rank`, aligned at the last axes.
int64_t AlignedExtent(const Shape& operand, int64_t rank, int64_t axis) {
  const int64_t own = axis - (rank - operand.rank());
  return own < 0 ? 1 : operand[own];
}

void ClearChannels(TensorInfo& piece) {
  piece.channel_factors.clear();
  piece.channel_zero_points.clear();
  piece.channel_axis = -1;
}

ByteRuns Whole(const TensorInfo& tensor) {
  const int64_t bytes = tensor.size_bytes();
  return {0, bytes, bytes, 1};
}

// Rows [begin, begin + extent) of `all` into which the tensor falls.
ByteRuns RowsOf(const TensorInfo& tensor, PartRange rows, int64_t all) {
  const int64_t row = tensor.size_bytes() / all;
  return {rows.begin * row, rows.extent * row, rows.extent * row, 1};
}

ByteRuns ChannelsOf(const TensorInfo& tensor, PartRange channels) {
  const int64_t element = SizeBytes(tensor.dtype);
  const int64_t all = tensor.shape[tensor.shape.rank() - 1];
  const int64_t run = channels.extent * element;
  const int64_t count = tensor.shape.elements() / all;
  if (channels.extent == all) {
    return Whole(tensor);
  }
  return {channels.begin * element, run, all * element, count};
}

// Rows of the input that rows of a window's result look at; never none.
template <typename Params>
PartRange WindowRows(const Params& p, int64_t in_h, PartRange out) {
  const int64_t reach = p.dilation_h * (p.kernel_h - 1) + 1;
  const int64_t first = out.begin * p.stride_h - p.pad_top;
  const int64_t end = first + (out.extent - 1) * p.stride_h + reach;
  const int64_t low = std::clamp<int64_t>(first, 0, in_h - 1);
  const int64_t high = std::clamp<int64_t>(end, low + 1, in_h);
  return {low, high - low};
}

// Paddings of the part, such that its window covers the rows that WindowRows gave.
template <typename Params>
void SetPartPads(PartRange out, PartRange in, int64_t in_h, Params& p) {
  const int64_t reach = p.dilation_h * (p.kernel_h - 1) + 1;
  const int64_t first = out.begin * p.stride_h - p.pad_top;
  const int64_t end = first + (out.extent - 1) * p.stride_h + reach;
  p.pad_top = std::max<int64_t>(0, in.begin - first);
  p.pad_bottom = std::max<int64_t>(0, end - std::min(in_h, in.begin + in.extent));
}

ConvParams GeometryOf(const ConvParams& p) {
  ConvParams q;
  q.kernel_h = p.kernel_h;
  q.kernel_w = p.kernel_w;
  q.stride_h = p.stride_h;
  q.stride_w = p.stride_w;
  q.dilation_h = p.dilation_h;
  q.dilation_w = p.dilation_w;
  q.pad_top = p.pad_top;
  q.pad_bottom = p.pad_bottom;
  q.pad_left = p.pad_left;
  q.pad_right = p.pad_right;
  q.groups = p.groups;
  q.weight_bits = p.weight_bits;
  q.clamp_min = p.clamp_min;
  q.clamp_max = p.clamp_max;
  return q;
}

template <typename T>
std::vector<T> Share(const std::vector<T>& all, PartRange channels, int64_t of) {
  const int64_t each = static_cast<int64_t>(all.size()) / of;
  const auto first = all.begin() + channels.begin * each;
  return std::vector<T>(first, first + channels.extent * each);
}

ConvParams ChannelsOfConv(const ConvParams& p, PartRange channels, int64_t of, bool with_weights) {
  ConvParams q = GeometryOf(p);
  q.groups = p.groups == 1 ? 1 : p.groups * channels.extent / of;
  if (with_weights) {
    q.weights = Share(p.weights, channels, of);
    q.weights16 = Share(p.weights16, channels, of);
    q.bias = Share(p.bias, channels, of);
    q.wide_bias = Share(p.wide_bias, channels, of);
    q.requant = Share(p.requant, channels, of);
  }
  return q;
}

bool HasShapeOfInput(const Layer& layer, const Network& network) {
  return TensorOf(network, layer.inputs[0]).shape == TensorOf(network, layer.output).shape;
}

// Whether rows of the result are made of the same rows of each operand, or of the whole operand.
bool FollowsRows(const Layer& layer, const Network& network, int64_t axis) {
  const Shape& y = TensorOf(network, layer.output).shape;
  const Shape& x = TensorOf(network, layer.inputs[0]).shape;
  const LayerParams& p = layer.params;
  const bool last = axis == y.rank() - 1;
  if (const auto* lookup = std::get_if<integer::LutParams>(&p)) {
    return HasShapeOfInput(layer, network) && (!last || lookup->requant.size() < 2);
  }
  if (Is<integer::RequantParams>(p) || Is<integer::QuantizeParams>(p)) {
    return HasShapeOfInput(layer, network);
  }
  if (Is<integer::DequantizeParams>(p)) {
    const TensorInfo& codes = TensorOf(network, layer.inputs[0]);
    return HasShapeOfInput(layer, network) &&
           (codes.channel_factors.empty() || integer::ChannelAxisOf(codes) != axis);
  }
  if (const auto* prelu = std::get_if<integer::PReluParams>(&p)) {
    return !last || prelu->negative.size() == 1;
  }
  if (Is<integer::EltwiseParams>(p)) {
    return true;
  }
  if (Is<integer::SoftmaxParams>(p) || Is<integer::MatMulParams>(p)) {
    return !last;
  }
  if (const auto* normalization = std::get_if<integer::NormalizationParams>(&p)) {
    return axis < integer::NormalizedAxis(y, static_cast<int64_t>(normalization->scale.size()));
  }
  if (const auto* concat = std::get_if<integer::ConcatParams>(&p)) {
    return concat->axis != axis;
  }
  const size_t at = static_cast<size_t>(axis);
  if (const auto* slice = std::get_if<integer::SliceParams>(&p)) {
    return x.rank() == y.rank() && OuterAxis(x) == axis && slice->start[at] == 0 &&
           slice->step[at] == 1 && x[axis] == y[axis];
  }
  if (const auto* pad = std::get_if<integer::PadParams>(&p)) {
    return x.rank() == y.rank() && OuterAxis(x) == axis && pad->begin[at] == 0 && x[axis] == y[axis];
  }
  return false;
}

// And none hangs over the padding, as the last row of ceil mode does: a part could not be one of the
// rows alone.
bool EveryWindowMeetsTheImage(const integer::PoolParams& p, const Layer& layer,
                              const Network& network) {
  const integer::Window w = integer::WindowOf(p, TensorOf(network, layer.inputs[0]).shape,
                                              TensorOf(network, layer.output).shape);
  return w.pad_top < w.extent_h() && w.pad_bottom < w.extent_h() &&
         (w.out_h - 1) * w.stride_h + w.extent_h() <= w.padded_h();
}

bool CutsRows(const Layer& layer, const Network& network, int64_t axis) {
  const LayerParams& p = layer.params;
  if (Is<ConvParams>(p)) {
    // Not where pixels of another rank than 4 are one row.
    return axis == 1 && TensorOf(network, layer.output).shape.rank() == 4 &&
           TensorOf(network, layer.inputs[0]).shape.rank() == 4;
  }
  if (const auto* pool = std::get_if<integer::PoolParams>(&p)) {
    return axis == 1 && EveryWindowMeetsTheImage(*pool, layer, network);
  }
  if (Is<integer::ResizeNearestParams>(p) ||
      Is<integer::ResizeLinearParams>(p) || Is<integer::DepthToSpaceParams>(p)) {
    return axis == 1;
  }
  return FollowsRows(layer, network, axis);
}

// Rows [low, high] that the rows of a resize read.
struct RowBounds {
  int32_t low, high;
};
RowBounds BoundsOf(const std::vector<int32_t>& rows, PartRange range) {
  const auto first = rows.begin() + range.begin;
  const auto [low, high] = std::minmax_element(first, first + range.extent);
  return {*low, *high};
}

std::vector<int32_t> Rebased(const std::vector<int32_t>& rows, PartRange range, int32_t base) {
  std::vector<int32_t> part(rows.begin() + range.begin, rows.begin() + range.begin + range.extent);
  for (int32_t& row : part) {
    row -= base;
  }
  return part;
}

// Builds a PartLayer.
class PartMaker {
 public:
  PartMaker(const Layer& layer, const Network& network, PartRange range, bool with_weights)
      : from_(layer), network_(network), range_(range), with_weights_(with_weights) {
    part_.layer.name = layer.name;
  }

  PartLayer Rows() {
    const TensorInfo& y = TensorOf(network_, from_.output);
    axis_ = OuterAxis(y.shape);
    if (const auto* conv = std::get_if<ConvParams>(&from_.params)) {
      WindowPart(*conv, GeometryOf(*conv));
    } else if (const auto* pool = std::get_if<integer::PoolParams>(&from_.params)) {
      WindowPart(*pool, *pool);
    } else if (const auto* nearest = std::get_if<integer::ResizeNearestParams>(&from_.params)) {
      const RowBounds bounds = BoundsOf(nearest->row_index, range_);
      AddRows(0, 1, {bounds.low, bounds.high - bounds.low + 1});
      part_.layer.params = integer::ResizeNearestParams{
          Rebased(nearest->row_index, range_, bounds.low), nearest->column_index};
    } else if (const auto* linear = std::get_if<integer::ResizeLinearParams>(&from_.params)) {
      LinearPart(*linear);
    } else if (const auto* spread = std::get_if<integer::DepthToSpaceParams>(&from_.params)) {
      AddRows(0, 1, {range_.begin / spread->block, range_.extent / spread->block});
      part_.layer.params = *spread;
    } else {
      FollowingPart();
    }
    part_.write = RowsOf(y, range_, y.shape[axis_]);
    return Finish(axis_);
  }

  PartLayer Channels() {
    const TensorInfo& y = TensorOf(network_, from_.output);
    const int64_t all = y.shape[y.shape.rank() - 1];
    if (const auto* conv = std::get_if<ConvParams>(&from_.params)) {
      if (conv->groups == 1) {
        AddWhole(0);
      } else {
        const int64_t group_out = all / conv->groups;
        const int64_t group_in = LastExtent(0) / conv->groups;
        AddChannels(0, {range_.begin / group_out * group_in, range_.extent / group_out * group_in});
      }
      part_.layer.params = ChannelsOfConv(*conv, range_, all, with_weights_);
    } else if (const auto* up = std::get_if<ConvTransposeParams>(&from_.params)) {
      AddWhole(0);
      part_.layer.params = ConvTransposeParams{
          ChannelsOfConv(up->conv, range_, all, with_weights_), up->output_pad_h, up->output_pad_w};
    } else {
      AddChannels(0, range_);  // pools and reductions
      part_.layer.params = from_.params;
    }
    part_.write = ChannelsOf(y, range_);
    return Finish(y.shape.rank() - 1);
  }

 private:
  int64_t LastExtent(size_t input) const {
    const Shape& shape = TensorOf(network_, from_.inputs[input]).shape;
    return shape[shape.rank() - 1];
  }

  void Add(size_t input, const Shape& shape, const ByteRuns& bytes, bool whole) {
    TensorInfo piece = TensorOf(network_, from_.inputs[input]);
    piece.shape = shape;
    if (!Is<integer::DequantizeParams>(from_.params)) {
      ClearChannels(piece);  // nothing else that a part computes depends on them
    }
    part_.layer.inputs.push_back(static_cast<int>(part_.network.tensors.size()));
    part_.network.tensors.push_back(std::move(piece));
    part_.reads.push_back(bytes);
    part_.reads_whole.push_back(whole);
  }
  void AddWhole(size_t input) {
    const TensorInfo& x = TensorOf(network_, from_.inputs[input]);
    Add(input, x.shape, Whole(x), true);
  }
  void AddRows(size_t input, int64_t axis, PartRange rows) {
    const TensorInfo& x = TensorOf(network_, from_.inputs[input]);
    Shape shape = x.shape;
    shape[axis] = rows.extent;
    Add(input, shape, RowsOf(x, rows, x.shape[axis]), false);
  }
  void AddChannels(size_t input, PartRange channels) {
    const TensorInfo& x = TensorOf(network_, from_.inputs[input]);
    Shape shape = x.shape;
    shape[shape.rank() - 1] = channels.extent;
    Add(input, shape, ChannelsOf(x, channels), false);
  }

  template <typename Params>
  void WindowPart(const Params& whole, Params part) {
    const int64_t in_h = TensorOf(network_, from_.inputs[0]).shape[1];
    const PartRange rows = WindowRows(whole, in_h, range_);
    SetPartPads(range_, rows, in_h, part);
    AddRows(0, 1, rows);
    part_.layer.params = std::move(part);
  }

  void LinearPart(const integer::ResizeLinearParams& p) {
    const RowBounds low = BoundsOf(p.rows.low, range_);
    const RowBounds high = BoundsOf(p.rows.high, range_);
    const int32_t first = std::min(low.low, high.low);
    const int32_t last = std::max(low.high, high.high);
    AddRows(0, 1, {first, last - first + 1});
    integer::ResizeLinearParams part = p;
    part.rows.low = Rebased(p.rows.low, range_, first);
    part.rows.high = Rebased(p.rows.high, range_, first);
    part.rows.fraction = Rebased(p.rows.fraction, range_, 0);
    part_.layer.params = std::move(part);
  }

  // Each operand in the rows of the result, or whole.
  void FollowingPart() {
    const Shape& y = TensorOf(network_, from_.output).shape;
    const bool product = Is<integer::MatMulParams>(from_.params);
    for (size_t i = 0; i < from_.inputs.size(); ++i) {
      const Shape& x = TensorOf(network_, from_.inputs[i]).shape;
      const bool right_side = product && i == 1 && axis_ == y.rank() - 2;
      if (right_side || AlignedExtent(x, y.rank(), axis_) != y[axis_]) {
        AddWhole(i);
      } else {
        AddRows(i, axis_ - (y.rank() - x.rank()), range_);
      }
    }
    part_.layer.params = from_.params;
  }

  PartLayer Finish(int64_t axis) {
    TensorInfo piece = TensorOf(network_, from_.output);
    piece.shape[axis] = range_.extent;
    ClearChannels(piece);
    part_.layer.output = static_cast<int>(part_.network.tensors.size());
    part_.network.tensors.push_back(std::move(piece));
    return std::move(part_);
  }

  const Layer& from_;
  const Network& network_;
  const PartRange range_;
  const bool with_weights_;
  int64_t axis_ = 0;
  PartLayer part_;
};

PartLayer WholePart(const Layer& layer, const Network& network) {
  PartLayer part;
  part.layer.name = layer.name;
  for (const int input : layer.inputs) {
    part.reads.push_back(Whole(TensorOf(network, input)));
    part.reads_whole.push_back(true);
  }
  part.write = Whole(TensorOf(network, layer.output));
  return part;
}

CutPlaces ChannelPlaces(const Layer& layer, const Network& network) {
  const Shape& y = TensorOf(network, layer.output).shape;
  if (y.rank() == 0) {
    return {};
  }
  const int64_t channels = y[y.rank() - 1];
  if (const auto* conv = std::get_if<ConvParams>(&layer.params)) {
    return {channels, conv->groups == 1 ? 1 : channels / conv->groups};
  }
  if (const auto* up = std::get_if<ConvTransposeParams>(&layer.params)) {
    return {up->conv.groups == 1 ? channels : 1, 1};
  }
  if (Is<integer::PoolParams>(layer.params)) {
    return {channels, 1};
  }
  if (const auto* reduce = std::get_if<integer::ReduceParams>(&layer.params)) {
    const Shape& x = TensorOf(network, layer.inputs[0]).shape;
    const bool images = x.rank() == 4 && x[3] == channels && x[0] == 1 &&
                        std::all_of(reduce->axes.begin(), reduce->axes.end(),
                                    [](int64_t axis) { return axis == 1 || axis == 2; });
    return {images ? channels : 1, 1};
  }
  return {};
}

}  // namespace

bool MayMeet(const ByteRuns& a, const ByteRuns& b) {
  if (a.end() <= b.offset || b.end() <= a.offset) {
    return false;
  }
  if (a.contiguous() || b.contiguous() || a.pitch != b.pitch) {
    return true;
  }
  // Runs of one pitch: where b's begin within a's period.
  const int64_t phase = ((b.offset - a.offset) % a.pitch + a.pitch) % a.pitch;
  return phase < a.run || phase + b.run > a.pitch;
}

CutPlaces PlacesOf(const Layer& layer, const Network& network, CutAxis axis) {
  if (axis == CutAxis::kNone) {
    return {};
  }
  if (axis == CutAxis::kChannels) {
    return ChannelPlaces(layer, network);
  }
  const Shape& y = TensorOf(network, layer.output).shape;
  const int64_t outer = OuterAxis(y);
  if (outer < 0 || !CutsRows(layer, network, outer)) {
    return {};
  }
  const auto* spread = std::get_if<integer::DepthToSpaceParams>(&layer.params);
  return {y[outer], spread == nullptr ? 1 : spread->block};
}

std::vector<PartRange> Shares(CutPlaces places, int64_t parts) {
  const int64_t steps = places.places / places.step;
  const int64_t count = std::max<int64_t>(1, std::min(parts, steps));
  std::vector<PartRange> shares;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t begin = steps * i / count * places.step;
    const int64_t end = steps * (i + 1) / count * places.step;
    shares.push_back({begin, end - begin});
  }
  return shares;
}

bool RunsAsRows(const Layer& layer, CutAxis axis) {
  return axis == CutAxis::kRows && Is<ConvParams>(layer.params);
}

PartLayer MakePart(const Layer& layer, const Network& network, CutAxis axis, PartRange range,
                   bool with_weights) {
  switch (axis) {
    case CutAxis::kRows:
      return PartMaker(layer, network, range, with_weights).Rows();
    case CutAxis::kChannels:
      return PartMaker(layer, network, range, with_weights).Channels();
    case CutAxis::kNone:
      break;
  }
  return WholePart(layer, network);
}

}  // namespace qb::npu
