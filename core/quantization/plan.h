// The quantization plan: which values of a float graph become int8 tensors, which of them share
// scale and zero point, and what calibration has to measure for that. README.md states the rules.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"

#include "core/calibration/calibrate.h"
#include "core/ir/graph.h"
#include "core/ops/pointwise_closure.h"
#include "core/quantization/proven_range.h"

namespace qb {

// Values of calibration.method without activation zero points.
enum class QuantizationMethod {
  kSeparateScales = 0,  // every value its own scale
  kSharedScales =
      1,  // operands of one add, sub or concat share a scale where their ranges are close
};

// Scale and zero point of one value, and where they come from.
struct ValueScale {
  float scale = 1.0f;
  int32_t zero_point = 0;  // -128: the value is never negative and has all 256 codes; else 0
  double threshold = 0.0;  // the magnitude at the end of the codes
  double largest_seen = 0.0;
  double saturation_share = 0.0;  // of the calibration's elements

  bool operator==(const ValueScale& other) const {
    return scale == other.scale && zero_point == other.zero_point;
  }
};

// Immutable. The graph outlives the plan and does not change.
class QuantizationPlan {
 public:
  // `graph`: float, channels last, as core/passes leaves it.
  // Errors: UNSUPPORTED_OPERATOR naming the layer whose value is not float32.
  static absl::StatusOr<QuantizationPlan> Create(const Graph& graph, QuantizationMethod method);

  const Graph& graph() const { return *graph_; }
  const PointwiseClosures& closures() const { return *closures_; }
  // Values that become tensors of the network, in topological order; no constants, no outputs.
  const std::vector<const Node*>& values() const { return values_; }
  // The value whose scale `node` has: itself, or the one that its elements are copies of.
  const Node* ScaleSource(const Node* node) const;
  // Convolutions and the like, in topological order.
  const std::vector<const Node*>& linear_nodes() const { return linear_nodes_; }

  // What Calibrate has to look at. Windows are asked for when window_samples > 0.
  absl::StatusOr<CalibrationRequest> Request(int64_t window_samples) const;

  // Scales of all values from what calibration found. Precondition: `table` answers Request().
  absl::flat_hash_map<const Node*, ValueScale> Scales(const CalibrationTable& table) const;

  // Bytes of the int8 activations alive at one time, for one sample.
  int64_t LargestLiveBytes() const;

 private:
  QuantizationPlan() = default;
  bool IsCalibrated(const Node* source) const;

  const Graph* graph_ = nullptr;
  QuantizationMethod method_ = QuantizationMethod::kSharedScales;
  std::unique_ptr<PointwiseClosures> closures_;
  absl::flat_hash_map<const Node*, Interval> proven_;
  absl::flat_hash_map<const Node*, const Node*> scale_sources_;
  std::vector<const Node*> values_;
  std::vector<const Node*> linear_nodes_;
};

}  // namespace qb
