// Some samples of a dataset, in an order of their own.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/dataset/dataset.h"

namespace qb {

// `source` outlives the view. Thread-safe.
class SampleView final : public Dataset {
 public:
  SampleView(const Dataset& source, std::vector<int64_t> indices)
      : source_(source), indices_(std::move(indices)) {}

  int64_t size() const override { return static_cast<int64_t>(indices_.size()); }
  const std::string& name(int64_t index) const override { return source_.name(At(index)); }
  absl::StatusOr<std::vector<Tensor>> Load(int64_t index) const override {
    return source_.Load(At(index));
  }
  absl::StatusOr<uint64_t> ContentHash(int64_t index) const override {
    return source_.ContentHash(At(index));
  }

 private:
  int64_t At(int64_t index) const { return indices_[static_cast<size_t>(index)]; }

  const Dataset& source_;
  const std::vector<int64_t> indices_;
};

}  // namespace qb
