// Constants that hold one number per channel.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/ir/graph.h"

namespace qb {

// The values that `operand`, a float32 constant, adds to or multiplies with each channel of a
// tensor of shape `shape`; shape[channel_axis] entries. Empty when the operand is no such constant,
// varies along another axis, enlarges the shape by broadcasting, or holds a value that is not
// finite.
std::optional<std::vector<float>> ChannelValues(const Node& operand, const Shape& shape,
                                                int64_t channel_axis);

// True for a float32 constant of one element, whatever its rank.
bool IsScalarConstant(const Node& node);

}  // namespace qb
