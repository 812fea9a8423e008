// From the float graph and its scales to integer layers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"

#include "core/integer/network.h"
#include "core/quantization/linear_form.h"
#include "core/quantization/plan.h"

namespace qb {

// A network, and which of its layers stand for linear nodes.
struct LoweredNetwork {
  struct LinearLayer {
    const Node* node = nullptr;
    size_t layer =
        0;  // index into network.layers; its params are ConvParams or ConvTransposeParams
    // The lookup table that alone reads the layer's 16-bit result, and its node; else null, 0.
    const Node* table_node = nullptr;
    size_t table = 0;
  };
  integer::Network network;
  std::vector<LinearLayer> linear_layers;  // in execution order
};

// Float inputs are quantized where they enter and outputs become float where they leave, so every
// layer in between, boundary transposes included, moves and computes codes. Where a layer cannot
// read a value at the width that it is held in, a Requant layer makes a second tensor of it.
//
// Errors: UNSUPPORTED_OPERATOR "quantization: layer 'x' (Op): ..." for what has no integer form
// here.
absl::StatusOr<LoweredNetwork> Lower(const QuantizationPlan& plan, const ValueScales& scales);

// The state of one lowering: the network as far as it is built. Internal to core/quantization: the
// functions below it each lower one family of operators and append layers.
class Lowering {
 public:
  Lowering(const QuantizationPlan& plan, const ValueScales& scales)
      : plan_(plan), scales_(scales) {}

  absl::StatusOr<LoweredNetwork> Run();

  const QuantizationPlan& plan() const { return plan_; }
  // Type, scale and zero point that a planned value is held in, and those of its 8-bit form.
  const ValueScale& scale(const Node* node) const { return scales_.held.at(node); }
  const ValueScale& narrow_scale(const Node* node) const {
    const auto found = scales_.narrow.find(node);
    return found == scales_.narrow.end() ? scale(node) : found->second;
  }

  const OutputMoves& outputs() const { return scales_.outputs; }

  // The tensor of a planned value that was lowered before, as it is held.
  int tensor(const Node* node) const { return tensors_.at(node); }
  // The same with other codes: a rescaled tensor, made at the first call.
  int TensorAs(const Node* node, const ValueScale& scale);
  int NarrowTensor(const Node* node) { return TensorAs(node, narrow_scale(node)); }
  const integer::TensorInfo& info(int tensor) const {
    return lowered_.network.tensors[static_cast<size_t>(tensor)];
  }
  // A tensor of codes.
  int AddTensor(std::string name, Shape shape, const ValueScale& scale);
  // The tensor that stands for `node`, without a layer that writes it yet.
  int AddValue(const Node* node);
  // A constant's codes at `scale`.
  int AddConstant(const Node& constant, const ValueScale& scale);
  void AddLayer(std::string name, std::vector<int> inputs, int output, integer::LayerParams params);
  void AddLinearLayer(const Node* node, int output, integer::LayerParams params);
  // The layer that is added next is the only reader of the linear layer of `source`.
  void NoteTable(const Node* source, const Node* table);

 private:
  absl::Status LowerValue(const Node* node);
  void LowerOutputs();
  int AddFloat(std::string name, Shape shape);

  const QuantizationPlan& plan_;
  const ValueScales& scales_;
  LoweredNetwork lowered_;
  absl::flat_hash_map<const Node*, int> tensors_;
  // Rescaled forms by tensor, type, scale and zero point.
  std::map<std::tuple<int, DType, float, int32_t>, int> rescaled_;
};

absl::Status UnsupportedLayer(const Node& node, absl::string_view what);
// The scale for a constant tensor's codes; of 8 bits all 256 when it is never negative.
ValueScale ScaleOfConstant(const Tensor& constant, DType dtype = DType::kInt8);

// Weights and bias of a linear layer. Precondition: the layer is one.
const integer::ConvParams& ConvOf(const integer::Layer& layer);

absl::Status LowerLinear(Lowering& lowering, const Node* node);  // lower_linear.cc
absl::Status LowerMatMul(Lowering& lowering, const Node* node);
absl::Status LowerLookup(Lowering& lowering, const Node* node);  // lower_elementwise.cc
absl::Status LowerElementwise(Lowering& lowering, const Node* node);
absl::Status LowerPRelu(Lowering& lowering, const Node* node);
absl::Status LowerSoftmax(Lowering& lowering, const Node* node);
absl::Status LowerNormalization(Lowering& lowering, const Node* node);  // lower_normalization.cc
absl::Status LowerPooling(Lowering& lowering, const Node* node);        // lower_pooling.cc
absl::Status LowerGlobalPooling(Lowering& lowering, const Node* node);
absl::Status LowerReduce(Lowering& lowering, const Node* node);
absl::Status LowerReduceMax(Lowering& lowering, const Node* node);
absl::Status LowerReshape(Lowering& lowering, const Node* node);  // lower_movement.cc
absl::Status LowerTranspose(Lowering& lowering, const Node* node);
absl::Status LowerConcatenate(Lowering& lowering, const Node* node);
absl::Status LowerSlice(Lowering& lowering, const Node* node);
absl::Status LowerPad(Lowering& lowering, const Node* node);
absl::Status LowerResize(Lowering& lowering, const Node* node);
absl::Status LowerDepthToSpace(Lowering& lowering, const Node* node);
absl::Status LowerSpaceToDepth(Lowering& lowering, const Node* node);
absl::Status LowerGather(Lowering& lowering, const Node* node);  // lower_selection.cc
absl::Status LowerExpand(Lowering& lowering, const Node* node);

}  // namespace qb
