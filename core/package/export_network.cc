#include "core/package/export_network.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/integer/element_steps.h"
#include "core/integer/requant.h"
#include "core/integer/validate.h"
#include "core/package/network_exporter.h"

namespace qb {
namespace {

constexpr int64_t kInt8Opset = 13;
constexpr int64_t kNormalizationOpset = 17;  // the first with LayerNormalization
constexpr int64_t kWideOpset = 21;

bool IsCode(const integer::TensorInfo& info) {
  return info.dtype == DType::kInt8 || info.dtype == DType::kInt16;
}

const integer::ConvParams* WeightsOf(const integer::Layer& layer) {
  if (const auto* conv = std::get_if<integer::ConvParams>(&layer.params)) {
    return conv;
  }
  const auto* transposed = std::get_if<integer::ConvTransposeParams>(&layer.params);
  return transposed == nullptr ? nullptr : &transposed->conv;
}

}  // namespace

absl::Status NoQdqForm(const integer::Layer& layer, absl::string_view what) {
  return Failure(FailureCode::kUnsupportedOperator,
                 absl::StrCat("export: layer '", layer.name, "' (",
                              integer::LayerKindName(layer.params), "): ", what));
}

int64_t QdqOpset(const integer::Network& network) {
  const bool wide =
      std::any_of(network.tensors.begin(), network.tensors.end(),
                  [](const integer::TensorInfo& t) { return t.dtype == DType::kInt16; }) ||
      std::any_of(network.layers.begin(), network.layers.end(), [](const integer::Layer& layer) {
        const integer::ConvParams* weights = WeightsOf(layer);
        return weights != nullptr && weights->weight_bits != 8;
      });
  if (wide) {
    return kWideOpset;
  }
  const bool normalizes =
      std::any_of(network.layers.begin(), network.layers.end(), [](const integer::Layer& layer) {
        const auto* params = std::get_if<integer::NormalizationParams>(&layer.params);
        return params != nullptr && params->centered;
      });
  return normalizes ? kNormalizationOpset : kInt8Opset;
}

std::string NetworkExporter::ConstantCodes(int tensor, bool channels_first) {
  const integer::TensorInfo& t = info(tensor);
  const std::vector<uint8_t>& bytes = constants_.at(tensor)->bytes;
  Tensor codes = Tensor::Allocate({t.dtype, t.shape});
  std::copy(bytes.begin(), bytes.end(), static_cast<uint8_t*>(codes.mutable_raw()));
  return builder_.AddConstant(t.name,
                              channels_first ? PermuteAxes(ToRank4(codes), {0, 3, 1, 2}) : codes);
}

std::string NetworkExporter::Value(int tensor, bool channels_first) {
  if (constants_.contains(tensor)) {
    const bool known = channels_first ? values_.HasChannelsFirst(tensor) : values_.HasPlain(tensor);
    if (!known) {
      Set(tensor, channels_first, ConstantCodes(tensor, channels_first));
    }
  }
  return channels_first ? values_.ChannelsFirst(tensor) : values_.Plain(tensor);
}

bool NetworkExporter::PrefersChannelsFirst(const integer::Layer& layer) const {
  bool any = false;
  for (const int input : layer.inputs) {
    if (constants_.contains(input)) {
      continue;
    }
    if (info(input).shape.rank() != 4 || !values_.HasChannelsFirst(input)) {
      return false;
    }
    any = true;
  }
  return any && info(layer.output).shape.rank() == 4;
}

std::string NetworkExporter::CodeConstant(int tensor, int32_t code) {
  const integer::TensorInfo& t = info(tensor);
  const std::string name = absl::StrCat(t.name, "/code");
  if (t.dtype == DType::kInt16) {
    return builder_.AddConstant(
        name, Tensor::Of<int16_t>(DType::kInt16, {}, {static_cast<int16_t>(code)}));
  }
  return builder_.AddConstant(name,
                              Tensor::Of<int8_t>(DType::kInt8, {}, {static_cast<int8_t>(code)}));
}

std::vector<std::string> NetworkExporter::ScaleOperands(int tensor) {
  std::vector<std::string>& operands = scales_[tensor];
  if (operands.empty()) {
    const integer::TensorInfo& t = info(tensor);
    operands = {builder_.AddFloats(absl::StrCat(t.name, "/scale"), {}, {t.scale}),
                CodeConstant(tensor, t.zero_point)};
  }
  return operands;
}

std::string NetworkExporter::Real(int tensor, bool channels_first) {
  std::string value = Value(tensor, channels_first);
  if (!IsCode(info(tensor))) {
    return value;
  }
  const std::vector<std::string> scale = ScaleOperands(tensor);
  return builder_.AddNode("DequantizeLinear", absl::StrCat(value, "/real"),
                          {value, scale[0], scale[1]});
}

std::string NetworkExporter::RealByChannel(int tensor, bool channels_first) {
  const integer::TensorInfo& t = info(tensor);
  if (t.channel_factors.empty()) {
    return Real(tensor, channels_first);
  }
  const integer::ElementSteps steps(t);
  const int64_t channels = static_cast<int64_t>(steps.channels());
  std::vector<float> scales;
  std::vector<int8_t> zero_points;
  scales.reserve(steps.channels());
  zero_points.reserve(steps.channels());
  for (size_t channel = 0; channel < steps.channels(); ++channel) {
    scales.push_back(steps.scale(channel));
    zero_points.push_back(static_cast<int8_t>(steps.zero_point(channel)));
  }
  const int64_t axis = integer::ChannelAxisOf(t);
  const std::string value = Value(tensor, channels_first);
  return builder_.AddNode(
      "DequantizeLinear", absl::StrCat(value, "/real"),
      {value, builder_.AddFloats(absl::StrCat(t.name, "/scales"), {channels}, scales),
       builder_.AddConstant(absl::StrCat(t.name, "/zero_points"),
                            Tensor::Of<int8_t>(DType::kInt8, {channels}, zero_points))},
      {{"axis", channels_first ? ChannelsFirstAxis(axis) : axis}});
}

std::string NetworkExporter::Quantized(int tensor, const std::string& real, int32_t clamp_min,
                                       int32_t clamp_max) {
  const integer::TensorInfo& t = info(tensor);
  const std::vector<std::string> scale = ScaleOperands(tensor);
  const bool clamps =
      clamp_min > integer::LeastCode(t.dtype) || clamp_max < integer::MostCode(t.dtype);
  std::string codes =
      builder_.AddNode("QuantizeLinear", clamps ? absl::StrCat(t.name, "/unclamped") : t.name,
                       {real, scale[0], scale[1]});
  if (!clamps) {
    return codes;
  }
  if (t.dtype == DType::kInt8) {
    return builder_.AddNode(
        "Clip", t.name, {codes, CodeConstant(tensor, clamp_min), CodeConstant(tensor, clamp_max)});
  }
  // Clip has no int16 in ONNX Runtime.
  const std::string low = builder_.AddNode("Max", absl::StrCat(t.name, "/low"),
                                           {codes, CodeConstant(tensor, clamp_min)});
  return builder_.AddNode("Min", t.name, {low, CodeConstant(tensor, clamp_max)});
}

std::string NetworkExporter::Shaped(int tensor, const std::string& value) {
  const integer::TensorInfo& t = info(tensor);
  return builder_.AddNode(
      "Reshape", absl::StrCat(value, "/shaped"),
      {value, builder_.AddInt64s(absl::StrCat(t.name, "/shape"), t.shape.dims())});
}

absl::StatusOr<std::vector<std::string>> ExportNetwork(const integer::Network& network,
                                                       const std::vector<std::string>& inputs,
                                                       OnnxBuilder& builder) {
  QB_CHECK(inputs.size() == network.inputs.size());
  NetworkExporter exporter(network, builder);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int tensor = network.inputs[i];
    exporter.Set(tensor, false,
                 IsCode(exporter.info(tensor)) ? exporter.Quantized(tensor, inputs[i]) : inputs[i]);
  }
  for (const integer::Layer& layer : network.layers) {
    QB_RETURN_IF_ERROR(std::visit(
        [&](const auto& params) { return ExportLayer(exporter, layer, params); }, layer.params));
  }
  std::vector<std::string> outputs;
  for (const int tensor : network.outputs) {
    outputs.push_back(exporter.Real(tensor, false));
  }
  return outputs;
}

}  // namespace qb
