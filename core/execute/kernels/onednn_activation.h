// Fused activations as post operations of a oneDNN primitive.
#pragma once

#include "core/ops/activation.h"
#include <dnnl.hpp>

namespace qb::execute {

inline void AppendActivation(const Activation& activation, dnnl::post_ops& post_ops) {
  switch (activation.kind) {
    case ActivationKind::kNone:
      break;
    case ActivationKind::kRelu:
      post_ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
      break;
    case ActivationKind::kClip:
      post_ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_clip, activation.min, activation.max);
      break;
  }
}

}  // namespace qb::execute
