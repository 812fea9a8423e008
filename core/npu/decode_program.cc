#include <limits>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/integer/tables.h"
#include "core/npu/program_codec.h"
namespace qb::npu {
namespace {

using integer::LayerParams;
using integer::Requant;

template <typename... Args>
absl::Status Bad(const Args&... args) {
  return absl::DataLossError(absl::StrCat("program: ", args...));
}

absl::StatusOr<std::vector<Requant>> DecodeRequants(const v1::Requants& message) {
  if (message.mantissas_size() != message.shifts_size()) {
    return Bad(message.mantissas_size(), " mantissas and ", message.shifts_size(), " shifts");
  }
  std::vector<Requant> requants;
  for (int i = 0; i < message.mantissas_size(); ++i) {
    if (message.mantissas(i) > std::numeric_limits<int32_t>::max() || message.shifts(i) > 62) {
      return Bad("requantization ", message.mantissas(i), " / 2^", message.shifts(i));
    }
    requants.push_back(
        {static_cast<int32_t>(message.mantissas(i)), static_cast<int32_t>(message.shifts(i))});
  }
  return requants;
}

absl::StatusOr<Requant> DecodeRequant(const v1::Requants& message) {
  QB_ASSIGN_OR_RETURN(const std::vector<Requant> requants, DecodeRequants(message));
  if (requants.size() != 1) {
    return Bad(requants.size(), " requantizations where one belongs");
  }
  return requants[0];
}

template <typename Params>
void GetClamp(const v1::Clamp& message, Params& params) {
  params.clamp_min = message.low();
  params.clamp_max = message.high();
}

template <typename Params>
void GetWindow(const v1::Window& message, Params& p) {
  p.kernel_h = message.kernel_h();
  p.kernel_w = message.kernel_w();
  p.stride_h = message.stride_h();
  p.stride_w = message.stride_w();
  p.dilation_h = message.dilation_h();
  p.dilation_w = message.dilation_w();
  p.pad_top = message.pad_top();
  p.pad_bottom = message.pad_bottom();
  p.pad_left = message.pad_left();
  p.pad_right = message.pad_right();
}

template <typename T, typename Field>
std::vector<T> ToVector(const Field& field) {
  return std::vector<T>(field.begin(), field.end());
}

int8_t SignedNibble(int value) { return static_cast<int8_t>(value < 8 ? value : value - 16); }

absl::Status DecodeWeights(const v1::Convolution& m, absl::string_view slice,
                           integer::ConvParams& p) {
  p.weight_bits = m.weight_bits() == 0 ? 8 : static_cast<int32_t>(m.weight_bits() & 0xff);
  const uint8_t* bytes = reinterpret_cast<const uint8_t*>(slice.data());
  switch (m.weight_bits()) {
    case 0:
    case 8:
      p.weights.assign(bytes, bytes + slice.size());
      return absl::OkStatus();
    case 16:
      for (size_t i = 0; i + 1 < slice.size(); i += 2) {
        p.weights16.push_back(static_cast<int16_t>(bytes[i] | bytes[i + 1] << 8));
      }
      return absl::OkStatus();
    case 4:
      if (m.weight_count() > 2 * slice.size() || (m.weight_count() + 1) / 2 != slice.size()) {
        return Bad(m.weight_count(), " weights of 4 bits in ", slice.size(), " bytes");
      }
      for (size_t i = 0; i < m.weight_count(); ++i) {
        p.weights.push_back(SignedNibble(bytes[i / 2] >> (i % 2 * 4) & 0xf));
      }
      return absl::OkStatus();
    default:
      return Bad("weights of ", m.weight_bits(), " bits");
  }
}

absl::StatusOr<integer::ConvParams> DecodeConv(const v1::Convolution& m,
                                               absl::string_view weights) {
  integer::ConvParams p;
  GetWindow(m.window(), p);
  p.groups = m.groups();
  QB_ASSIGN_OR_RETURN(const absl::string_view slice,
                      SliceOf(weights, m.weights().offset(), m.weights().size()));
  QB_RETURN_IF_ERROR(DecodeWeights(m, slice, p));
  p.bias = ToVector<int32_t>(m.bias());
  p.wide_bias = ToVector<int64_t>(m.wide_bias());
  QB_ASSIGN_OR_RETURN(p.requant, DecodeRequants(m.requant()));
  p.weight_scales = ToVector<float>(m.weight_scales());
  GetClamp(m.clamp(), p);
  return p;
}

absl::StatusOr<LayerParams> Decode(const v1::Convolution& m, absl::string_view weights) {
  return DecodeConv(m, weights);
}

absl::StatusOr<LayerParams> Decode(const v1::ConvTranspose& m, absl::string_view weights) {
  integer::ConvTransposeParams p;
  QB_ASSIGN_OR_RETURN(p.conv, DecodeConv(m.conv(), weights));
  p.output_pad_h = m.output_pad_h();
  p.output_pad_w = m.output_pad_w();
  return p;
}

absl::StatusOr<LayerParams> Decode(const v1::PRelu& m) {
  integer::PReluParams p;
  QB_ASSIGN_OR_RETURN(p.positive, DecodeRequant(m.positive()));
  QB_ASSIGN_OR_RETURN(p.negative, DecodeRequants(m.negative()));
  p.negate = ToVector<uint8_t>(m.negate());
  return p;
}

absl::StatusOr<LayerParams> Decode(const v1::MatMul& m) {
  integer::MatMulParams p;
  QB_ASSIGN_OR_RETURN(p.requant, DecodeRequant(m.requant()));
  GetClamp(m.clamp(), p);
  return p;
}

absl::StatusOr<LayerParams> Decode(const v1::Elementwise& m) {
  integer::EltwiseParams p;
  if (!v1::Elementwise::Kind_IsValid(m.kind())) {
    return Bad("there is no elementwise operation ", static_cast<int>(m.kind()));
  }
  p.kind = static_cast<integer::EltwiseKind>(m.kind());
  p.multiplier_a = m.multiplier_a();
  p.multiplier_b = m.multiplier_b();
  p.shift = static_cast<int32_t>(std::min<uint32_t>(m.shift(), 64));
  QB_ASSIGN_OR_RETURN(p.mul_requant, DecodeRequant(m.mul_requant()));
  GetClamp(m.clamp(), p);
  return p;
}

absl::StatusOr<LayerParams> Decode(const v1::Pool& m) {
  integer::PoolParams p;
  p.is_max = m.max();
  GetWindow(m.window(), p);
  p.count_include_pad = m.count_include_pad();
  QB_ASSIGN_OR_RETURN(p.requant_by_count, DecodeRequants(m.requant_by_count()));
  GetClamp(m.clamp(), p);
  return p;
}

absl::StatusOr<LayerParams> Decode(const v1::Reduce& m) {
  integer::ReduceParams p;
  p.axes = ToVector<int64_t>(m.axes());
  QB_ASSIGN_OR_RETURN(p.requant, DecodeRequant(m.requant()));
  GetClamp(m.clamp(), p);
  return p;
}

absl::StatusOr<LayerParams> Decode(const v1::Lookup& m) {
  integer::LutParams p;
  p.table = ToVector<int8_t>(m.table());
  for (const int32_t knot : m.knots()) {
    if (knot < -integer::kMostKnot || knot > integer::kMostKnot) {
      return Bad("a knot of a table is ", knot);
    }
    p.knots.push_back(static_cast<int16_t>(knot));
  }
  QB_ASSIGN_OR_RETURN(p.requant, DecodeRequants(m.requant()));
  return p;
}

absl::StatusOr<LayerParams> Decode(const v1::Softmax& m) {
  integer::SoftmaxParams p;
  for (const uint32_t value : m.exp_table()) {
    if (value > static_cast<uint32_t>(integer::kSoftmaxOne)) {
      return Bad("the exponential table holds ", value);
    }
    p.exp_table.push_back(static_cast<int32_t>(value));
  }
  return p;
}

absl::StatusOr<LayerParams> Decode(const v1::Normalization& m) {
  if (m.epsilon() > std::numeric_limits<int32_t>::max()) {
    return Bad("epsilon ", m.epsilon());
  }
  integer::NormalizationParams p;
  p.centered = m.centered();
  p.epsilon = static_cast<int32_t>(m.epsilon());
  p.epsilon_shift = static_cast<int32_t>(std::min<uint32_t>(m.epsilon_shift(), 128));
  p.shift = static_cast<int32_t>(std::min<uint32_t>(m.shift(), 128));
  p.scale = ToVector<int32_t>(m.scale());
  p.bias = ToVector<int64_t>(m.bias());
  return p;
}

absl::StatusOr<LayerParams> Decode(const v1::Concat& m) {
  integer::ConcatParams p;
  p.axis = m.axis();
  QB_ASSIGN_OR_RETURN(p.requant, DecodeRequants(m.requant()));
  p.same_scale = ToVector<uint8_t>(m.same_scale());
  return p;
}

absl::Status DecodeIndices(const google::protobuf::RepeatedField<uint32_t>& from,
                           std::vector<int32_t>& to) {
  for (const uint32_t index : from) {
    if (index > std::numeric_limits<int32_t>::max()) {
      return Bad("index ", index);
    }
    to.push_back(static_cast<int32_t>(index));
  }
  return absl::OkStatus();
}

absl::StatusOr<LayerParams> Decode(const v1::ResizeNearest& m) {
  integer::ResizeNearestParams p;
  QB_RETURN_IF_ERROR(DecodeIndices(m.row_index(), p.row_index));
  QB_RETURN_IF_ERROR(DecodeIndices(m.column_index(), p.column_index));
  return p;
}

absl::Status Decode(const v1::LinearAxis& m, integer::LinearAxis& axis) {
  QB_RETURN_IF_ERROR(DecodeIndices(m.low(), axis.low));
  QB_RETURN_IF_ERROR(DecodeIndices(m.high(), axis.high));
  return DecodeIndices(m.fraction(), axis.fraction);
}

absl::StatusOr<LayerParams> Decode(const v1::ResizeLinear& m) {
  integer::ResizeLinearParams p;
  p.fraction_bits = static_cast<int32_t>(std::min<uint32_t>(m.fraction_bits(), 64));
  QB_RETURN_IF_ERROR(Decode(m.rows(), p.rows));
  QB_RETURN_IF_ERROR(Decode(m.columns(), p.columns));
  return p;
}

}  // namespace

absl::StatusOr<absl::string_view> SliceOf(absl::string_view weights, uint64_t offset,
                                          uint64_t size) {
  if (size > weights.size() || offset > weights.size() - size) {
    return Bad(size, " bytes at ", offset, " leave the weights of ", weights.size());
  }
  return weights.substr(offset, size);
}

absl::StatusOr<integer::TensorInfo> DecodeTensor(const v1::Tensor& message) {
  integer::TensorInfo tensor;
  tensor.name = message.name();
  if (message.dtype() > 255) {
    return Bad("tensor '", tensor.name, "': type ", message.dtype());
  }
  tensor.dtype = static_cast<DType>(message.dtype());
  tensor.shape = Shape(ToVector<int64_t>(message.shape()));
  tensor.scale = message.scale();
  tensor.zero_point = message.zero_point();
  tensor.channel_factors = ToVector<float>(message.channel_factors());
  tensor.channel_zero_points = ToVector<int32_t>(message.channel_zero_points());
  tensor.channel_axis = int64_t{message.channel_axis_plus_1()} - 1;
  return tensor;
}

absl::StatusOr<LayerParams> DecodeOperation(const v1::Layer& m, absl::string_view weights) {
  switch (m.operation_case()) {
    case v1::Layer::kConvolution:
      return Decode(m.convolution(), weights);
    case v1::Layer::kMatmul:
      return Decode(m.matmul());
    case v1::Layer::kElementwise:
      return Decode(m.elementwise());
    case v1::Layer::kPool:
      return Decode(m.pool());
    case v1::Layer::kReduce:
      return Decode(m.reduce());
    case v1::Layer::kLookup:
      return Decode(m.lookup());
    case v1::Layer::kSoftmax:
      return Decode(m.softmax());
    case v1::Layer::kConcat:
      return Decode(m.concat());
    case v1::Layer::kRescale: {
      QB_ASSIGN_OR_RETURN(const Requant requant, DecodeRequant(m.rescale().requant()));
      return integer::RequantParams{requant};
    }
    case v1::Layer::kSlice:
      return integer::SliceParams{ToVector<int64_t>(m.slice().start()),
                                  ToVector<int64_t>(m.slice().step())};
    case v1::Layer::kPad:
      return integer::PadParams{ToVector<int64_t>(m.pad().begin()), m.pad().code()};
    case v1::Layer::kTranspose:
      return integer::TransposeParams{ToVector<int64_t>(m.transpose().axes())};
    case v1::Layer::kReshape:
      return integer::ReshapeParams{};
    case v1::Layer::kResizeNearest:
      return Decode(m.resize_nearest());
    case v1::Layer::kDepthToSpace:
      return integer::DepthToSpaceParams{m.depth_to_space().block(), m.depth_to_space().crd()};
    case v1::Layer::kQuantize:
      return integer::QuantizeParams{};
    case v1::Layer::kDequantize:
      return integer::DequantizeParams{};
    case v1::Layer::kConvTranspose:
      return Decode(m.conv_transpose(), weights);
    case v1::Layer::kResizeLinear:
      return Decode(m.resize_linear());
    case v1::Layer::kPrelu:
      return Decode(m.prelu());
    case v1::Layer::kNormalization:
      return Decode(m.normalization());
    case v1::Layer::OPERATION_NOT_SET:
      break;
  }
  return Bad("layer '", m.name(), "' has no operation that this version knows");
}

}  // namespace qb::npu
