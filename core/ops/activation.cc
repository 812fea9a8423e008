#include "core/ops/activation.h"

#include <cmath>

#include "absl/strings/str_cat.h"

namespace qb {

absl::Status CheckActivation(const Activation& activation) {
  if (activation.kind == ActivationKind::kClip &&
      (std::isnan(activation.min) || std::isnan(activation.max))) {
    return absl::InvalidArgumentError("a bound of the clip activation is not a number");
  }
  return absl::OkStatus();
}

}  // namespace qb
