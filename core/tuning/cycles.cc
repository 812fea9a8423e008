#include "core/tuning/cycles.h"

#include "core/base/status_macros.h"
#include "core/npu/cost.h"
#include "core/npu/liveness.h"

namespace qb {

absl::StatusOr<int64_t> EstimateCycles(const integer::Network& network, const TargetSpec& target) {
  const npu::Liveness liveness = npu::ComputeLiveness(network);
  int64_t cycles = 0;
  for (size_t i = 0; i < network.layers.size(); ++i) {
    QB_ASSIGN_OR_RETURN(const npu::Tiling tiling, npu::ChooseTiling(network.layers[i], network,
                                                                    target, liveness.in_place[i]));
    cycles += tiling.cost.cycles;
  }
  return cycles;
}

}  // namespace qb
