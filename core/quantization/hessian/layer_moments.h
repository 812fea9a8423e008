// The second moments of one layer's input over all samples.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/thread_pool.h"
#include "core/calibration/window_sums.h"
#include "core/ir/dtype.h"
#include "core/quantization/hessian/column_solver.h"

namespace qb {

// What a layer reads, sample by sample.
struct LayerInputs {
  WindowGeometry window;
  int64_t groups = 1;
  DType dtype = DType::kInt8;  // or kInt16
  int32_t zero_point = 0;
  std::vector<const void*> codes;
  // The float model's values in steps of 1 / resolution codes, or null: no shift is wanted.
  const std::vector<std::vector<int16_t>>* real = nullptr;
  int64_t resolution = 1;
};

// One entry a group, in units of codes. The same for any number of threads and any order of
// samples.
std::vector<InputMoments> MomentsOf(const LayerInputs& inputs, ThreadPool& pool);

}  // namespace qb
