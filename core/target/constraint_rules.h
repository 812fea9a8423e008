// The functions behind the table of constraints.cc, by family. Internal to core/target.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>

#include "core/target/constraints.h"

namespace qb {

using Finding = std::optional<std::string>;

inline bool IsOneOf(OpKind op, std::initializer_list<OpKind> kinds) {
  return std::find(kinds.begin(), kinds.end(), op) != kinds.end();
}

// general_rules.cc
Finding KnownOperator(const Node& node, const SupportContext& context);
Finding VaryingOperand(const Node& node, const SupportContext& context);
Finding FloatValues(const Node& node, const SupportContext& context);
Finding LimitedRank(const Node& node, const SupportContext& context);
Finding LimitedSize(const Node& node, const SupportContext& context);
Finding NonEmpty(const Node& node, const SupportContext& context);
Finding BatchOne(const Node& node, const SupportContext& context);
Finding ChannelsLast(const Node& node, const SupportContext& context);
Finding LookupUnit(const Node& node, const SupportContext& context);

// window_rules.cc
Finding ConstantWeights(const Node& node, const SupportContext& context);
Finding LargestKernel(const Node& node, const SupportContext& context);
Finding LargestStride(const Node& node, const SupportContext& context);
Finding LargestDilation(const Node& node, const SupportContext& context);
Finding SumLength(const Node& node, const SupportContext& context);
Finding SpreadPadding(const Node& node, const SupportContext& context);
Finding ReducedAxes(const Node& node, const SupportContext& context);

// arithmetic_rules.cc
Finding MatrixOperands(const Node& node, const SupportContext& context);
Finding OneVaryingOperand(const Node& node, const SupportContext& context);
Finding ChannelSlopes(const Node& node, const SupportContext& context);
Finding PositiveBeta(const Node& node, const SupportContext& context);
Finding SampleNormalization(const Node& node, const SupportContext& context);
Finding LoneBatchnorm(const Node& node, const SupportContext& context);

// movement_rules.cc
Finding ConstantPadding(const Node& node, const SupportContext& context);
Finding ImageResize(const Node& node, const SupportContext& context);
Finding ConstantIndices(const Node& node, const SupportContext& context);

}  // namespace qb
