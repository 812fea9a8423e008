#include <cstring>

#include "core/npu/memory_plan.h"
#include "core/npu/program_codec.h"

namespace qb::npu {
namespace {

using integer::Requant;

void Add(const Requant& requant, v1::Requants* message) {
  message->add_mantissas(static_cast<uint32_t>(requant.mantissa));
  message->add_shifts(static_cast<uint32_t>(requant.shift));
}

void AddAll(const std::vector<Requant>& requants, v1::Requants* message) {
  for (const Requant& requant : requants) {
    Add(requant, message);
  }
}

template <typename Params>
void SetClamp(const Params& params, v1::Clamp* message) {
  message->set_low(params.clamp_min);
  message->set_high(params.clamp_max);
}

template <typename Params>
void SetWindow(const Params& p, v1::Window* message) {
  message->set_kernel_h(p.kernel_h);
  message->set_kernel_w(p.kernel_w);
  message->set_stride_h(p.stride_h);
  message->set_stride_w(p.stride_w);
  message->set_dilation_h(p.dilation_h);
  message->set_dilation_w(p.dilation_w);
  message->set_pad_top(p.pad_top);
  message->set_pad_bottom(p.pad_bottom);
  message->set_pad_left(p.pad_left);
  message->set_pad_right(p.pad_right);
}

// Weights as they lie in the weights file.
std::string WeightBytes(const integer::ConvParams& p) {
  std::string bytes;
  if (p.weight_bits == 16) {
    for (const int16_t weight : p.weights16) {
      bytes.push_back(static_cast<char>(weight & 0xff));
      bytes.push_back(static_cast<char>(weight >> 8));
    }
  } else if (p.weight_bits == 4) {
    for (size_t i = 0; i < p.weights.size(); i += 2) {
      const int low = p.weights[i] & 0xf;
      const int high = i + 1 < p.weights.size() ? p.weights[i + 1] & 0xf : 0;
      bytes.push_back(static_cast<char>(low | high << 4));
    }
  } else {
    bytes.assign(reinterpret_cast<const char*>(p.weights.data()), p.weights.size());
  }
  return bytes;
}

// One overload a kind.
class Encoder {
 public:
  Encoder(WeightsWriter& weights, v1::Layer* layer) : weights_(weights), layer_(layer) {}

  void operator()(const integer::ConvParams& p) { Set(p, layer_->mutable_convolution()); }
  void operator()(const integer::ConvTransposeParams& p) {
    v1::ConvTranspose* m = layer_->mutable_conv_transpose();
    Set(p.conv, m->mutable_conv());
    m->set_output_pad_h(p.output_pad_h);
    m->set_output_pad_w(p.output_pad_w);
  }
  void operator()(const integer::ResizeLinearParams& p) {
    v1::ResizeLinear* m = layer_->mutable_resize_linear();
    m->set_fraction_bits(static_cast<uint32_t>(p.fraction_bits));
    Set(p.rows, m->mutable_rows());
    Set(p.columns, m->mutable_columns());
  }
  void operator()(const integer::PReluParams& p) {
    v1::PRelu* m = layer_->mutable_prelu();
    Add(p.positive, m->mutable_positive());
    AddAll(p.negative, m->mutable_negative());
    for (const uint8_t negate : p.negate) {
      m->add_negate(negate != 0);
    }
  }
  void operator()(const integer::MatMulParams& p) {
    Add(p.requant, layer_->mutable_matmul()->mutable_requant());
    SetClamp(p, layer_->mutable_matmul()->mutable_clamp());
  }
  void operator()(const integer::EltwiseParams& p) {
    v1::Elementwise* m = layer_->mutable_elementwise();
    m->set_kind(static_cast<v1::Elementwise::Kind>(p.kind));
    m->set_multiplier_a(p.multiplier_a);
    m->set_multiplier_b(p.multiplier_b);
    m->set_shift(static_cast<uint32_t>(p.shift));
    Add(p.mul_requant, m->mutable_mul_requant());
    SetClamp(p, m->mutable_clamp());
  }
  void operator()(const integer::PoolParams& p) {
    v1::Pool* m = layer_->mutable_pool();
    m->set_max(p.is_max);
    SetWindow(p, m->mutable_window());
    m->set_count_include_pad(p.count_include_pad);
    AddAll(p.requant_by_count, m->mutable_requant_by_count());
    SetClamp(p, m->mutable_clamp());
  }
  void operator()(const integer::ReduceParams& p) {
    v1::Reduce* m = layer_->mutable_reduce();
    m->mutable_axes()->Add(p.axes.begin(), p.axes.end());
    Add(p.requant, m->mutable_requant());
    SetClamp(p, m->mutable_clamp());
  }
  void operator()(const integer::LutParams& p) {
    v1::Lookup* m = layer_->mutable_lookup();
    m->set_table(p.table.data(), p.table.size());
    m->mutable_knots()->Add(p.knots.begin(), p.knots.end());
    if (!p.requant.empty()) {
      AddAll(p.requant, m->mutable_requant());
    }
  }
  void operator()(const integer::SoftmaxParams& p) {
    layer_->mutable_softmax()->mutable_exp_table()->Add(p.exp_table.begin(), p.exp_table.end());
  }
  void operator()(const integer::NormalizationParams& p) {
    v1::Normalization* m = layer_->mutable_normalization();
    m->set_centered(p.centered);
    m->set_epsilon(static_cast<uint32_t>(p.epsilon));
    m->set_epsilon_shift(static_cast<uint32_t>(p.epsilon_shift));
    m->set_shift(static_cast<uint32_t>(p.shift));
    m->mutable_scale()->Add(p.scale.begin(), p.scale.end());
    m->mutable_bias()->Add(p.bias.begin(), p.bias.end());
  }
  void operator()(const integer::ConcatParams& p) {
    v1::Concat* m = layer_->mutable_concat();
    m->set_axis(p.axis);
    AddAll(p.requant, m->mutable_requant());
    for (const uint8_t same : p.same_scale) {
      m->add_same_scale(same != 0);
    }
  }
  void operator()(const integer::RequantParams& p) {
    Add(p.requant, layer_->mutable_rescale()->mutable_requant());
  }
  void operator()(const integer::SliceParams& p) {
    v1::SliceOp* m = layer_->mutable_slice();
    m->mutable_start()->Add(p.start.begin(), p.start.end());
    m->mutable_step()->Add(p.step.begin(), p.step.end());
  }
  void operator()(const integer::PadParams& p) {
    v1::Pad* m = layer_->mutable_pad();
    m->mutable_begin()->Add(p.begin.begin(), p.begin.end());
    m->set_code(p.code);
  }
  void operator()(const integer::TransposeParams& p) {
    layer_->mutable_transpose()->mutable_axes()->Add(p.axes.begin(), p.axes.end());
  }
  void operator()(const integer::ReshapeParams&) { layer_->mutable_reshape(); }
  void operator()(const integer::ResizeNearestParams& p) {
    v1::ResizeNearest* m = layer_->mutable_resize_nearest();
    m->mutable_row_index()->Add(p.row_index.begin(), p.row_index.end());
    m->mutable_column_index()->Add(p.column_index.begin(), p.column_index.end());
  }
  void operator()(const integer::DepthToSpaceParams& p) {
    layer_->mutable_depth_to_space()->set_block(p.block);
    layer_->mutable_depth_to_space()->set_crd(p.crd);
  }
  void operator()(const integer::QuantizeParams&) { layer_->mutable_quantize(); }
  void operator()(const integer::DequantizeParams&) { layer_->mutable_dequantize(); }

 private:
  void Set(const integer::ConvParams& p, v1::Convolution* m) {
    SetWindow(p, m->mutable_window());
    m->set_groups(p.groups);
    m->set_weight_bits(static_cast<uint32_t>(p.weight_bits));
    const std::string bytes = WeightBytes(p);
    m->mutable_weights()->set_offset(weights_.Append(bytes.data(), bytes.size()));
    m->mutable_weights()->set_size(bytes.size());
    if (p.weight_bits == 4) {
      m->set_weight_count(p.weights.size());
    }
    m->mutable_bias()->Add(p.bias.begin(), p.bias.end());
    m->mutable_wide_bias()->Add(p.wide_bias.begin(), p.wide_bias.end());
    AddAll(p.requant, m->mutable_requant());
    m->mutable_weight_scales()->Add(p.weight_scales.begin(), p.weight_scales.end());
    SetClamp(p, m->mutable_clamp());
  }

  static void Set(const integer::LinearAxis& axis, v1::LinearAxis* m) {
    m->mutable_low()->Add(axis.low.begin(), axis.low.end());
    m->mutable_high()->Add(axis.high.begin(), axis.high.end());
    m->mutable_fraction()->Add(axis.fraction.begin(), axis.fraction.end());
  }

  WeightsWriter& weights_;
  v1::Layer* layer_;
};

}  // namespace

uint64_t WeightsWriter::Append(const void* bytes, size_t size) {
  const size_t alignment = static_cast<size_t>(kAlignment);
  weights_.resize((weights_.size() + alignment - 1) / alignment * alignment, '\0');
  const uint64_t offset = weights_.size();
  weights_.append(static_cast<const char*>(bytes), size);
  return offset;
}

void EncodeTensor(const integer::TensorInfo& tensor, v1::Tensor* message) {
  message->set_name(tensor.name);
  message->set_dtype(static_cast<uint32_t>(tensor.dtype));
  message->mutable_shape()->Add(tensor.shape.begin(), tensor.shape.end());
  message->set_scale(tensor.scale);
  message->set_zero_point(tensor.zero_point);
  message->mutable_channel_factors()->Add(tensor.channel_factors.begin(),
                                          tensor.channel_factors.end());
  message->mutable_channel_zero_points()->Add(tensor.channel_zero_points.begin(),
                                              tensor.channel_zero_points.end());
  message->set_channel_axis_plus_1(static_cast<uint32_t>(tensor.channel_axis + 1));
}

void EncodeOperation(const integer::LayerParams& params, WeightsWriter& weights,
                     v1::Layer* message) {
  std::visit(Encoder(weights, message), params);
}

}  // namespace qb::npu
