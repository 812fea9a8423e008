// Which scale and zero point each element of a tensor has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/integer/network.h"

namespace qb::integer {

// The axis that a tensor's factors go along. Precondition: it has factors.
inline int64_t ChannelAxisOf(const TensorInfo& info) {
  return info.channel_axis < 0 ? info.shape.rank() - 1 : info.channel_axis;
}

// real = scale(c) * (code - zero_point(c)) with c = ChannelOf(element). A tensor without factors
// has one channel.
class ElementSteps {
 public:
  // Precondition: ValidateTensor(info) is OK.
  explicit ElementSteps(const TensorInfo& info) : zero_points_(info.channel_zero_points) {
    if (info.channel_factors.empty()) {
      scales_ = {info.scale};
    } else {
      scales_.reserve(info.channel_factors.size());
      for (const float factor : info.channel_factors) {
        scales_.push_back(info.scale * factor);
      }
      for (int64_t axis = ChannelAxisOf(info) + 1; axis < info.shape.rank(); ++axis) {
        run_ *= info.shape[axis];
      }
    }
    if (zero_points_.empty()) {
      zero_points_.assign(scales_.size(), info.zero_point);
    }
  }

  size_t channels() const { return scales_.size(); }
  // So many neighbouring elements are of one channel.
  int64_t run() const { return run_; }
  size_t ChannelOf(size_t element) const {
    return scales_.size() == 1 ? 0 : element / static_cast<size_t>(run_) % scales_.size();
  }
  float scale(size_t channel) const { return scales_[channel]; }
  int32_t zero_point(size_t channel) const { return zero_points_[channel]; }

 private:
  std::vector<float> scales_;
  std::vector<int32_t> zero_points_;
  int64_t run_ = 1;
};

}  // namespace qb::integer
