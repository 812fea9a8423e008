#include <limits>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
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
    requants.push_back({static_cast<int32_t>(message.mantissas(i)),
                        static_cast<int32_t>(message.shifts(i))});
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

absl::StatusOr<LayerParams> Decode(const v1::Convolution& m, absl::string_view weights) {
  integer::ConvParams p;
  GetWindow(m.window(), p);
  p.groups = m.groups();
  QB_ASSIGN_OR_RETURN(const absl::string_view slice,
                      SliceOf(weights, m.weights().offset(), m.weights().size()));
  const int8_t* bytes = reinterpret_cast<const int8_t*>(slice.data());
  p.weights.assign(bytes, bytes + slice.size());
  p.bias = ToVector<int32_t>(m.bias());
  QB_ASSIGN_OR_RETURN(p.requant, DecodeRequants(m.requant()));
  p.weight_scales = ToVector<float>(m.weight_scales());
  GetClamp(m.clamp(), p);
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

absl::StatusOr<LayerParams> Decode(const v1::Softmax& m) {
  integer::SoftmaxParams p;
  for (const uint32_t value : m.exp_table()) {
    if (value > 65536) {
      return Bad("the exponential table holds ", value);
    }
    p.exp_table.push_back(static_cast<int32_t>(value));
  }
  return p;
}

absl::StatusOr<LayerParams> Decode(const v1::Concat& m) {
  integer::ConcatParams p;
  p.axis = m.axis();
  QB_ASSIGN_OR_RETURN(p.requant, DecodeRequants(m.requant()));
  p.same_scale = ToVector<uint8_t>(m.same_scale());
  return p;
}

absl::StatusOr<LayerParams> Decode(const v1::ResizeNearest& m) {
  integer::ResizeNearestParams p;
  for (const auto& [from, to] : {std::pair(&m.row_index(), &p.row_index),
                                 std::pair(&m.column_index(), &p.column_index)}) {
    for (const uint32_t index : *from) {
      if (index > std::numeric_limits<int32_t>::max()) {
        return Bad("index ", index);
      }
      to->push_back(static_cast<int32_t>(index));
    }
  }
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
      return integer::LutParams{ToVector<int8_t>(m.lookup().table())};
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
    case v1::Layer::OPERATION_NOT_SET:
      break;
  }
  return Bad("layer '", m.name(), "' has no operation that this version knows");
}

}  // namespace qb::npu
