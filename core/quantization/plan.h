// The quantization plan: which values of a float graph become int8 tensors, which of them share
// scale and zero point, and what calibration has to measure for that. README.md states the rules.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"

#include "core/calibration/calibrate.h"
#include "core/ir/graph.h"
#include "core/ops/pointwise_closure.h"
#include "core/quantization/group_member.h"
#include "core/quantization/layer_overrides.h"
#include "core/quantization/output_region.h"
#include "core/quantization/output_steps.h"
#include "core/quantization/proven_range.h"
#include "core/quantization/value_scale.h"

namespace qb {

// Immutable. The graph outlives the plan and does not change.
class QuantizationPlan {
 public:
  // `graph`: float, channels last, as core/passes leaves it.
  // Errors: UNSUPPORTED_OPERATOR naming the layer whose value is not float32; those of
  // ResolveLayerOverrides.
  static absl::StatusOr<QuantizationPlan> Create(const Graph& graph, QuantizationMethod method,
                                                 const LayerOverrides& overrides = {},
                                                 OutputSteps outputs = OutputSteps::kOneScale);

  const Graph& graph() const { return *graph_; }
  const PointwiseClosures& closures() const { return *closures_; }
  // Values that become tensors of the network, in topological order; no constants, no outputs.
  const std::vector<const Node*>& values() const { return values_; }
  // The value whose scale `node` has: itself, or the one that its elements are copies of.
  const Node* ScaleSource(const Node* node) const;
  // int16 for a layer whose activations have 16 bits, for what it reads, for what moves such
  // values, and for sums that only tables read; a value stays int8 where its operator has no 16-bit
  // form.
  DType dtype(const Node* value) const {
    return wide_.contains(value) ? DType::kInt16 : DType::kInt8;
  }
  const LayerSettings& settings() const { return settings_; }
  // The table that is made of the 16-bit value `source`, where there is one and nothing else reads
  // the value; else null.
  const Node* OnlyTableOf(const Node* source) const {
    const auto found = only_tables_.find(source);
    return found == only_tables_.end() ? nullptr : found->second;
  }
  // Those whose steps may differ by channel because they leave the model (output_region.h). Part of
  // Request(), whatever the outputs' steps are.
  const std::vector<const Node*>& channel_writers() const { return region_.channel_writers(); }
  // Convolutions and the like, in topological order.
  const std::vector<const Node*>& linear_nodes() const { return linear_nodes_; }

  // What Calibrate has to look at. Windows are asked for when window_samples > 0.
  absl::StatusOr<CalibrationRequest> Request(int64_t window_samples) const;

  // Scales of all values from what calibration found. Precondition: `table` answers Request().
  ValueScales Scales(const CalibrationTable& table) const;

  // Bytes of the activations alive at one time, for one sample.
  int64_t LargestLiveBytes() const;

 private:
  QuantizationPlan() = default;
  bool IsCalibrated(const Node* source) const;
  void ChooseWidths();
  void WidenTerms();
  void FindOnlyTables();
  bool SharesOperands(const Node* node) const;
  void SetChannelFactors(const CalibrationTable& table, ValueScales& scales) const;
  QuantizationMethod MethodOf(const Node* node) const;
  GroupMember MemberOf(const Node* node, const CalibrationTable& table) const;

  const Graph* graph_ = nullptr;
  QuantizationMethod method_ = QuantizationMethod::kSharedScales;
  std::unique_ptr<PointwiseClosures> closures_;
  absl::flat_hash_map<const Node*, Interval> proven_;
  absl::flat_hash_map<const Node*, const Node*> scale_sources_;
  std::vector<const Node*> values_;
  std::vector<const Node*> linear_nodes_;
  LayerSettings settings_;
  absl::flat_hash_set<const Node*> wide_;
  absl::flat_hash_map<const Node*, const Node*> only_tables_;
  std::vector<const Node*> factored_;  // inner values whose steps may differ by channel
  OutputSteps outputs_ = OutputSteps::kOneScale;
  OutputRegion region_;
};

}  // namespace qb
