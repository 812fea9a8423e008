// Steps of the values on the way to the model's outputs: what calibration.output asks for.
#pragma once

#include <functional>

#include "core/calibration/calibrate.h"
#include "core/quantization/group_member.h"
#include "core/quantization/output_region.h"
#include "core/quantization/value_scale.h"

namespace qb {

// Values of calibration.output.
enum class OutputSteps {
  // One step for all that a layer writes. The parts of a concatenation share it where the method
  // shares scales and their ranges are close; otherwise each keeps its own.
  kOneScale = 0,
  kByChannel = 1,  // a step for each channel of a layer that rescales by channel
  // As kOneScale, for logits: results of a sigmoid have step 1/256; its argument, and every other
  // output that a layer with weights writes, is clipped to +-kSigmoidRange.
  kSigmoidRange = 2,
};

// The sigmoid beyond it is within 3.4e-4 of 0 or 1.
inline constexpr double kSigmoidRange = 8.0;

struct OutputSettings {
  OutputSteps steps = OutputSteps::kOneScale;
  // Whether the parts of this concatenation share a step where their ranges are close.
  std::function<bool(const Node*)> shares;
  // What a writer's result needs on its own.
  std::function<GroupMember(const Node*)> member_of;
};

// Sets the scales of the region's values in `scales`, which has those of all others. The ends of
// channels come from `table`; one made for another compile may lack some, whose layers then have
// one step.
void SetOutputSteps(const OutputRegion& region, const OutputSettings& settings,
                    const CalibrationTable& table, ValueScales& scales);

}  // namespace qb
