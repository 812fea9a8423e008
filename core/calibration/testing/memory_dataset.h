// A dataset whose samples a test gives.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/dataset/dataset.h"

namespace qb::testing {

class MemoryDataset final : public Dataset {
 public:
  explicit MemoryDataset(std::vector<std::vector<Tensor>> samples) : samples_(std::move(samples)) {
    for (size_t i = 0; i < samples_.size(); ++i) {
      names_.push_back(absl::StrCat("sample", i));
    }
  }

  int64_t size() const override { return static_cast<int64_t>(samples_.size()); }
  const std::string& name(int64_t index) const override {
    return names_[static_cast<size_t>(index)];
  }
  absl::StatusOr<std::vector<Tensor>> Load(int64_t index) const override {
    return samples_[static_cast<size_t>(index)];
  }

 private:
  std::vector<std::vector<Tensor>> samples_;
  std::vector<std::string> names_;
};

// All samples of another dataset, for shuffling and changing them.
inline std::vector<std::vector<Tensor>> SamplesOf(const Dataset& dataset) {
  std::vector<std::vector<Tensor>> samples;
  for (int64_t i = 0; i < dataset.size(); ++i) {
    samples.push_back(*dataset.Load(i));
  }
  return samples;
}

}  // namespace qb::testing
