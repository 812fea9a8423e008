// A layer with weights as a float graph of its own, with the weights that its codes stand for.
#pragma once

#include <vector>

#include "absl/status/statusor.h"

#include "core/integer/network.h"
#include "core/ir/graph.h"
#include "core/quantization/linear_form.h"

namespace qb {

// input -> layer -> output, computing `node` with the real numbers that the weights of `conv` stand
// for, exact otherwise: what rounding the weights alone does to the layer's result. With the means
// that its taps meet (MeanBeforeActivation), the bias takes away the shift that the rounded weights
// cause, as bias correction does; null: the bias is that of `form`. Precondition: `conv` was made
// from `form`, that of `node`.
Graph GraphWithCodedWeights(const Node& node, const LinearForm& form,
                            const integer::ConvParams& conv, const std::vector<double>* tap_means);

}  // namespace qb
