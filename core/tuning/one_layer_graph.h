// A layer with weights as a float graph of its own, with the weights that its codes stand for.
#pragma once

#include <vector>

#include "absl/status/statusor.h"

#include "core/integer/network.h"
#include "core/ir/graph.h"
#include "core/quantization/linear_form.h"

namespace qb {

// The codes of a layer's weights, and the values that it reads and writes: their steps by channel
// are in the codes.
struct CodedLayer {
  const integer::ConvParams& conv;
  const integer::TensorInfo& input;
  const integer::TensorInfo& output;
};

// input -> layer -> output, computing `node` with the real numbers that the weights of `layer`
// stand for, exact otherwise: what rounding the weights alone does to the layer's result. With the
// means that its taps meet (MeanBeforeActivation), the bias takes away the shift that the rounded
// weights cause, as bias correction does; null: the bias is that of `form`. Precondition: `layer`
// was made from `form`, that of `node`.
Graph GraphWithCodedWeights(const Node& node, const LinearForm& form, const CodedLayer& layer,
                            const std::vector<double>* tap_means);

}  // namespace qb
