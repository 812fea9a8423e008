// Scales by channel of activations, where the layers around a value can hold them in their weights.
#pragma once

#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

#include "core/calibration/channel_extremes.h"
#include "core/ir/graph.h"
#include "core/ops/pointwise_closure.h"
#include "core/quantization/layer_overrides.h"
#include "core/quantization/value_scale.h"

namespace qb {

// Whether `value` joins channels of several values, and nothing but layers with weights reads it.
// Its parts can keep their steps, which those layers multiply into their weights; no code is
// rounded again. `wide`: the values that have 16 bits.
bool JoinsChannels(const Node& value, const PointwiseClosures& closures,
                   const absl::flat_hash_set<const Node*>& wide);

// The scale of a value that joins channels, whose parts are copied: that of its widest part, times
// factors. Nothing where zero points or types of the parts differ. `scales`: of the parts.
std::optional<ValueScale> JoinedScale(const Node& value,
                                      const absl::flat_hash_map<const Node*, ValueScale>& scales);

// Whether codes of `value` may have a step of its own for each index of the last axis: a layer with
// weights writes it, or a table of a 16-bit value, whose rescaling can differ by channel, and
// nothing but layers with weights reads it, or what joins its channels to others. Those multiply
// the steps into their weights, so the arithmetic stays what it is.
bool CanHaveChannelFactors(const Node& value, const PointwiseClosures& closures,
                           const absl::flat_hash_set<const Node*>& wide);

// Everything outlives the call.
struct FactorInputs {
  const ChannelExtremes& extremes;  // of the value
  // Of all values, with the factors that were chosen before.
  const absl::flat_hash_map<const Node*, ValueScale>& scales;
  const LayerSettings& settings;
};

// What the step of each channel is multiplied with, each in (0, 1], empty where one step serves
// all. A channel whose ends are closer than those of the codes can have smaller steps, but weights
// that take in very different steps are rounded more coarsely; between one step for all and the
// smallest steps the factors are those for which the error that both roundings leave in the layers
// that read `value` is estimated to be least. Precondition: CanHaveChannelFactors.
std::vector<float> ChooseChannelFactors(const Node& value, const FactorInputs& inputs);

}  // namespace qb
