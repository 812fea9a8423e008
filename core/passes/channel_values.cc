#include "core/passes/channel_values.h"

#include <cmath>

namespace qb {

std::optional<std::vector<float>> ChannelValues(const Node& operand, const Shape& shape,
                                                int64_t channel_axis) {
  if (!operand.is_constant() || operand.type().dtype != DType::kFloat32 ||
      operand.shape().rank() > shape.rank() || channel_axis >= shape.rank()) {
    return std::nullopt;
  }
  const int64_t missing = shape.rank() - operand.shape().rank();
  for (int64_t axis = 0; axis < operand.shape().rank(); ++axis) {
    const int64_t dim = operand.shape()[axis];
    if (dim != 1 && (axis + missing != channel_axis || dim != shape[channel_axis])) {
      return std::nullopt;
    }
  }
  const absl::Span<const float> values = operand.constant().values<float>();
  for (const float value : values) {
    if (!std::isfinite(value)) {
      return std::nullopt;
    }
  }
  if (values.size() == 1) {
    return std::vector<float>(static_cast<size_t>(shape[channel_axis]), values[0]);
  }
  return std::vector<float>(values.begin(), values.end());
}

bool IsScalarConstant(const Node& node) {
  return node.is_constant() && node.type().dtype == DType::kFloat32 && node.shape().elements() == 1;
}

}  // namespace qb
