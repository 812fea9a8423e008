// What several kinds of layers check of their tensors and numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "core/integer/validate_layer.h"

namespace qb::integer::internal {

template <typename... Args>
absl::Status Bad(const Args&... args) {
  return absl::InvalidArgumentError(absl::StrCat(args...));
}

// The tensors of a layer.
struct Operands {
  const Layer& layer;
  const Network& network;
  const TensorInfo& x(size_t i) const {
    return network.tensors[static_cast<size_t>(layer.inputs[i])];
  }
  const TensorInfo& y() const { return network.tensors[static_cast<size_t>(layer.output)]; }
  size_t count() const { return layer.inputs.size(); }
};

// All answer InvalidArgument with what was found and what is accepted.
absl::Status CheckRequant(Requant requant);
absl::Status CheckRequants(const std::vector<Requant>& requants);
absl::Status CheckClamp(int32_t low, int32_t high, DType dtype = DType::kInt8);
absl::Status CheckInt8(const Operands& t);
bool IsCode(const TensorInfo& tensor);
// Each tensor for itself.
absl::Status CheckCodes(const Operands& t);
// Of layers that move elements without looking at them.
absl::Status CheckSameType(const Operands& t);
absl::Status CheckShape(const Operands& t, const std::vector<int64_t>& dims);
absl::Status CheckRank4(const Operands& t);
// As many elements in the input as in the output.
absl::Status CheckSameElements(const Operands& t);
// A table over an int16 input.
absl::Status CheckKnots(const LutParams& p, const Operands& t);

}  // namespace qb::integer::internal
