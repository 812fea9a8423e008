#include "core/target/constraints.h"

#include <array>

#include "core/target/constraint_rules.h"

namespace qb {
namespace {

constexpr auto kConstraints = std::to_array<Constraint>({
    {"operator", "The NPU has no instruction for this operator", KnownOperator},
    {"varying-operand", "The NPU computes what depends on an input of the model", VaryingOperand},
    {"float-values", "The values must be float32 before quantization", FloatValues},
    {"rank", "A tensor has a limited number of dimensions", LimitedRank},
    {"size", "A tensor has at most 2^24 elements along one dimension and 2^31 in all", LimitedSize},
    {"non-empty", "A tensor must have at least one element", NonEmpty},
    {"batch", "Images are processed one at a time: the batch dimension must be 1", BatchOne},
    {"channels-last", "Images have their channels last", ChannelsLast},
    {"constant-weights", "The weights and the bias of a convolution must be constant",
     ConstantWeights},
    {"kernel", "The window of a convolution or pooling is limited", LargestKernel},
    {"stride", "The stride of a convolution or pooling is limited", LargestStride},
    {"dilation", "The dilation of a convolution or pooling is limited", LargestDilation},
    {"sum-length", "A sum of products must fit the 32-bit accumulator whatever the codes are",
     SumLength},
    {"matrix-operands",
     "A matrix product takes matrices, and a bias only beside a constant right side",
     MatrixOperands},
    {"lookup-unit", "This target has no lookup-table unit for non-linear functions", LookupUnit},
    {"one-varying-operand",
     "Div needs a constant divisor without zeros; Pow, Maximum and Minimum one operand that varies",
     OneVaryingOperand},
    {"constant-padding", "Padding is done with a constant and never crops", ConstantPadding},
    {"image-resize",
     "Images are resized by the nearest element or linearly, along rows and columns", ImageResize},
    {"spread-padding", "The padding of a transposed convolution is at most dilation * (kernel - 1)",
     SpreadPadding},
    {"channel-slopes", "The slopes of a PRelu must be constant, one for each channel",
     ChannelSlopes},
    {"softmax-beta", "The factor of a softmax must be above 0", PositiveBeta},
    {"sample-normalization",
     "A layer or RMS normalization needs a constant scale and bias, and takes runs of limited "
     "length",
     SampleNormalization},
    {"batch-normalization",
     "A batch normalization that no neighbour takes in needs constants and the last axis",
     LoneBatchnorm},
    {"reduced-axes", "A maximum is taken over neighbouring axes; sums are limited", ReducedAxes},
    {"constant-indices", "Elements are picked at constant places of what varies", ConstantIndices},
});

}  // namespace

absl::Span<const Constraint> AllConstraints() { return kConstraints; }

}  // namespace qb
