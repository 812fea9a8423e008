#include "core/integer/network_digest.h"

#include <type_traits>
#include <variant>

#include "absl/strings/string_view.h"

#include "core/base/digest.h"

namespace qb::integer {
namespace {

// Every list goes in with its length, so no two networks run into each other.
class Hasher {
 public:
  template <typename... Values>
  void Add(const Values&... values) {
    (AddOne(values), ...);
  }
  std::string Finish() { return digest_.FinishHex(); }

 private:
  template <typename Number>
  void AddOne(const Number& number) {
    static_assert(std::has_unique_object_representations_v<Number> ||
                  std::is_floating_point_v<Number>);
    AddBytes(&number, sizeof(number));
  }
  template <typename Number>
  void AddOne(const std::vector<Number>& numbers) {
    static_assert(std::has_unique_object_representations_v<Number> ||
                  std::is_floating_point_v<Number>);
    AddOne(numbers.size());
    AddBytes(numbers.data(), numbers.size() * sizeof(Number));
  }
  void AddOne(const Shape& shape) { AddOne(shape.dims()); }
  void AddOne(const LinearAxis& axis) {
    const auto& [low, high, fraction] = axis;
    Add(low, high, fraction);
  }
  void AddBytes(const void* bytes, size_t count) {
    digest_.Update({static_cast<const char*>(bytes), count});
  }

  Sha256 digest_;
};

// The bindings name all members: a new one that is not added here does not compile.
void AddParams(const ConvParams& p, Hasher& h) {
  const auto& [kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_bottom,
               pad_left, pad_right, groups, weight_bits, weights, weights16, weight_scales, bias,
               wide_bias, requant, clamp_min, clamp_max] = p;
  h.Add(kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_bottom,
        pad_left, pad_right, groups, weight_bits, weights, weights16, weight_scales, bias,
        wide_bias, requant, clamp_min, clamp_max);
}
void AddParams(const ConvTransposeParams& p, Hasher& h) {
  const auto& [conv, output_pad_h, output_pad_w] = p;
  AddParams(conv, h);
  h.Add(output_pad_h, output_pad_w);
}
void AddParams(const MatMulParams& p, Hasher& h) {
  const auto& [requant, clamp_min, clamp_max] = p;
  h.Add(requant, clamp_min, clamp_max);
}
void AddParams(const EltwiseParams& p, Hasher& h) {
  const auto& [kind, multiplier_a, multiplier_b, shift, mul_requant, clamp_min, clamp_max] = p;
  h.Add(kind, multiplier_a, multiplier_b, shift, mul_requant, clamp_min, clamp_max);
}
void AddParams(const PoolParams& p, Hasher& h) {
  const auto& [is_max, kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top,
               pad_bottom, pad_left, pad_right, count_include_pad, requant_by_count, clamp_min,
               clamp_max] = p;
  h.Add(is_max, kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_bottom,
        pad_left, pad_right, count_include_pad, requant_by_count, clamp_min, clamp_max);
}
void AddParams(const ReduceParams& p, Hasher& h) {
  const auto& [axes, requant, clamp_min, clamp_max] = p;
  h.Add(axes, requant, clamp_min, clamp_max);
}
void AddParams(const LutParams& p, Hasher& h) {
  const auto& [table, knots, requant] = p;
  h.Add(table, knots, requant);
}
void AddParams(const SoftmaxParams& p, Hasher& h) {
  const auto& [exp_table] = p;
  h.Add(exp_table);
}
void AddParams(const NormalizationParams& p, Hasher& h) {
  const auto& [centered, epsilon, epsilon_shift, shift, scale, bias] = p;
  h.Add(centered, epsilon, epsilon_shift, shift, scale, bias);
}
void AddParams(const ConcatParams& p, Hasher& h) {
  const auto& [axis, requant, same_scale] = p;
  h.Add(axis, requant, same_scale);
}
void AddParams(const RequantParams& p, Hasher& h) {
  const auto& [requant] = p;
  h.Add(requant);
}
void AddParams(const PReluParams& p, Hasher& h) {
  const auto& [positive, negative, negate] = p;
  h.Add(positive, negative, negate);
}
void AddParams(const SliceParams& p, Hasher& h) {
  const auto& [start, step] = p;
  h.Add(start, step);
}
void AddParams(const PadParams& p, Hasher& h) {
  const auto& [begin, code] = p;
  h.Add(begin, code);
}
void AddParams(const TransposeParams& p, Hasher& h) {
  const auto& [axes] = p;
  h.Add(axes);
}
void AddParams(const ReshapeParams&, Hasher&) {}
void AddParams(const ResizeNearestParams& p, Hasher& h) {
  const auto& [row_index, column_index] = p;
  h.Add(row_index, column_index);
}
void AddParams(const ResizeLinearParams& p, Hasher& h) {
  const auto& [fraction_bits, rows, columns] = p;
  h.Add(fraction_bits, rows, columns);
}
void AddParams(const DepthToSpaceParams& p, Hasher& h) {
  const auto& [block, crd] = p;
  h.Add(block, crd);
}
void AddParams(const QuantizeParams&, Hasher&) {}
void AddParams(const DequantizeParams&, Hasher&) {}

}  // namespace

std::string NetworkDigest(const Network& network) {
  Hasher h;
  const auto& [name, tensors, constants, layers, inputs, outputs] = network;
  h.Add(inputs, outputs, tensors.size(), constants.size(), layers.size());
  for (const TensorInfo& tensor : tensors) {
    h.Add(tensor.dtype, tensor.shape, tensor.scale, tensor.zero_point, tensor.channel_factors,
          tensor.channel_zero_points, tensor.channel_axis);
  }
  for (const ConstantTensor& constant : constants) {
    h.Add(constant.tensor, constant.bytes);
  }
  for (const Layer& layer : layers) {
    h.Add(layer.inputs, layer.output, layer.params.index());
    std::visit([&](const auto& params) { AddParams(params, h); }, layer.params);
  }
  return h.Finish();
}

}  // namespace qb::integer
