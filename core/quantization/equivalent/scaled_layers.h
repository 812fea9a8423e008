// Channels of layers multiplied by numbers, in their constants.
#pragma once

#include <vector>

#include "core/ir/graph.h"

namespace qb {

// A product with a constant matrix, or a convolution with channels last that is not grouped, with
// float32 constants: what can take a factor for each input channel.
bool TakesInputScale(const Node& node);
// The same for each output channel: without an activation, or with one that a positive factor
// passes (Relu).
bool TakesOutputScale(const Node& node);
// A layer or RMS normalization over the last axis alone, with constant scale and bias.
bool IsScalableNorm(const Node& node);

// [input channels][the weights that read it], magnitudes unchanged. Precondition: TakesInputScale.
std::vector<std::vector<double>> WeightsByInput(const Node& node);

// Each new constant takes the place of the old one at this node only. Factors are above zero; one a
// channel. Preconditions: as named.
void ScaleInputs(Graph& graph, Node* node, const std::vector<double>& factors);
void ScaleOutputs(Graph& graph, Node* node, const std::vector<double>& factors);  // also of a norm

}  // namespace qb
