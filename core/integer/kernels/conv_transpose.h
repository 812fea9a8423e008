// Transposed convolution as a convolution over an image with zeros between its pixels.
#pragma once

#include <memory>

#include "core/integer/kernels/conv.h"
#include "core/integer/kernels/kernel_call.h"

namespace qb::integer {

// The geometry of that convolution, without weights and tables. Pads are negative where those of `p`
// exceed dilation * (kernel - 1).
ConvParams StuffedGeometry(const ConvTransposeParams& p);
// [1, (H - 1) stride_h + 1, (W - 1) stride_w + 1, C].
Shape StuffedShape(const ConvTransposeParams& p, const Shape& input);

// The convolution as a layer of a network of its own.
struct PackedTranspose {
  Network network;
  Layer layer;
  std::unique_ptr<const PackedConv> conv;
};

// Of a valid layer, for `level` (not kReference).
std::unique_ptr<const PackedTranspose> PackConvTranspose(const Layer& layer, const Network& network,
                                                         KernelLevel level);
void RunConvTransposePacked(const KernelCall& call, const PackedTranspose& packed);
// Straight from the definition.
void RunConvTransposeReference(const KernelCall& call);

}  // namespace qb::integer
