// The state of one export of a network. Internal to core/package.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"

#include "core/integer/network.h"
#include "core/package/image_layout.h"
#include "core/package/onnx_builder.h"

namespace qb {

class NetworkExporter {
 public:
  NetworkExporter(const integer::Network& network, OnnxBuilder& builder)
      : network_(network), builder_(builder), values_(builder) {
    for (const integer::ConstantTensor& constant : network.constants) {
      constants_[constant.tensor] = &constant;
    }
  }

  OnnxBuilder& builder() { return builder_; }
  LayoutTable<int>& values() { return values_; }
  const integer::TensorInfo& info(int tensor) const {
    return network_.tensors[static_cast<size_t>(tensor)];
  }

  // The tensor's value (codes; of a float tensor numbers) in either layout.
  std::string Value(int tensor, bool channels_first);
  // True when all varying inputs of rank 4 exist channels first and none has another rank.
  bool PrefersChannelsFirst(const integer::Layer& layer) const;
  // The real numbers that the codes stand for.
  std::string Real(int tensor, bool channels_first);
  // The same of a tensor that may have steps by channel, as the border gives them out.
  std::string RealByChannel(int tensor, bool channels_first);
  // The codes of real numbers with the tensor's scale and zero point, then clamped.
  std::string Quantized(int tensor, const std::string& real, int32_t clamp_min = -128,
                        int32_t clamp_max = 127);
  void Set(int tensor, bool channels_first, std::string value) {
    if (channels_first) {
      values_.SetChannelsFirst(tensor, std::move(value));
    } else {
      values_.SetPlain(tensor, std::move(value));
    }
  }
  // `value` with the tensor's shape.
  std::string Shaped(int tensor, const std::string& value);
  // Scale and zero point of a tensor as constants.
  std::vector<std::string> ScaleOperands(int tensor);
  // A constant of the tensor's dtype.
  std::string CodeConstant(int tensor, int32_t code);

 private:
  std::string ConstantCodes(int tensor, bool channels_first);

  const integer::Network& network_;
  OnnxBuilder& builder_;
  LayoutTable<int> values_;
  absl::flat_hash_map<int, const integer::ConstantTensor*> constants_;
  absl::flat_hash_map<int, std::vector<std::string>> scales_;
};

absl::Status NoQdqForm(const integer::Layer& layer, absl::string_view what);

// export_network_products.cc
absl::Status ExportLayer(NetworkExporter& out, const integer::Layer& layer,
                         const integer::ConvParams& p);
absl::Status ExportLayer(NetworkExporter& out, const integer::Layer& layer,
                         const integer::ConvTransposeParams& p);
absl::Status ExportLayer(NetworkExporter& out, const integer::Layer& layer,
                         const integer::MatMulParams& p);
// export_network_arithmetic.cc
absl::Status ExportLayer(NetworkExporter& out, const integer::Layer& layer,
                         const integer::EltwiseParams& p);
absl::Status ExportLayer(NetworkExporter& out, const integer::Layer& layer,
                         const integer::PoolParams& p);
absl::Status ExportLayer(NetworkExporter& out, const integer::Layer& layer,
                         const integer::ReduceParams& p);
absl::Status ExportLayer(NetworkExporter& out, const integer::Layer& layer,
                         const integer::LutParams& p);
absl::Status ExportLayer(NetworkExporter& out, const integer::Layer& layer,
                         const integer::SoftmaxParams& p);
absl::Status ExportLayer(NetworkExporter& out, const integer::Layer& layer,
                         const integer::NormalizationParams& p);
absl::Status ExportLayer(NetworkExporter& out, const integer::Layer& layer,
                         const integer::RequantParams& p);
absl::Status ExportLayer(NetworkExporter& out, const integer::Layer& layer,
                         const integer::PReluParams& p);
absl::Status ExportLayer(NetworkExporter& out, const integer::Layer& layer,
                         const integer::ResizeLinearParams& p);
// export_network_movement.cc
absl::Status ExportLayer(NetworkExporter& out, const integer::Layer& layer,
                         const integer::ConcatParams& p);
absl::Status ExportLayer(NetworkExporter& out, const integer::Layer& layer,
                         const integer::SliceParams& p);
absl::Status ExportLayer(NetworkExporter& out, const integer::Layer& layer,
                         const integer::PadParams& p);
absl::Status ExportLayer(NetworkExporter& out, const integer::Layer& layer,
                         const integer::TransposeParams& p);
absl::Status ExportLayer(NetworkExporter& out, const integer::Layer& layer,
                         const integer::ReshapeParams& p);
absl::Status ExportLayer(NetworkExporter& out, const integer::Layer& layer,
                         const integer::ResizeNearestParams& p);
absl::Status ExportLayer(NetworkExporter& out, const integer::Layer& layer,
                         const integer::DepthToSpaceParams& p);
absl::Status ExportLayer(NetworkExporter& out, const integer::Layer& layer,
                         const integer::QuantizeParams& p);
absl::Status ExportLayer(NetworkExporter& out, const integer::Layer& layer,
                         const integer::DequantizeParams& p);

}  // namespace qb
