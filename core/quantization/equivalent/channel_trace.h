// Which channel of a layer's result each element of a later value comes from.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/ir/graph.h"

namespace qb {

// Goes back from `value` through layers that only move elements (reshape, transpose, slice) or
// multiply by one number, to the first node that is none of these. Each value on the way is read by
// the next alone, or by slices that have no element in common. Null when the way is broken.
Node* SourceThroughMovement(Node* value);

// The elements of `value` as numbers of the channel (last axis) of `source` that they come from,
// row major. Precondition: source == SourceThroughMovement(value). `channel_of`: the number for
// each channel of the source's last axis, or for each element when it has as many. Empty when a
// layer on the way has no kernel.
std::vector<float> TraceChannels(const Node& source, const Node& value,
                                 const std::vector<float>& channel_of);

// Of numbers [rows, channels, inner] the one of each channel, when it is the same in all rows and
// places.
std::optional<std::vector<int64_t>> ConstantAlong(const std::vector<float>& numbers,
                                                  int64_t channels, int64_t inner);

}  // namespace qb
