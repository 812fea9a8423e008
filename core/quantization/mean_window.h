// Means over rows and columns as convolutions whose weights are all one: the form in which they
// take and give 16-bit codes.
#pragma once

#include <cstdint>
#include <optional>

#include "core/integer/network.h"
#include "core/ir/node.h"

namespace qb {

struct MeanWindow {
  // Kernel, strides, dilations, padding, groups and weights of one; no requantization yet.
  integer::ConvParams conv;
  double factor = 1.0;  // the result is the window's sum times this
  Shape result;  // [1, rows, columns, channels]; the node's own may lack the axes of extent 1
};

// Of average poolings whose windows all count the same number of elements, and of means and sums
// over rows, columns or both of [1, H, W, C]; nothing for other nodes.
std::optional<MeanWindow> MeanWindowOf(const Node& node);

}  // namespace qb
