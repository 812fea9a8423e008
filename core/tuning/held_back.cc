#include "core/tuning/held_back.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "core/base/status_macros.h"
#include "core/calibration/sample_choice.h"

namespace qb {
namespace {

class ChosenSamples final : public Dataset {
 public:
  ChosenSamples(const Dataset& dataset, std::vector<int64_t> indices)
      : dataset_(dataset), indices_(std::move(indices)) {}

  int64_t size() const override { return static_cast<int64_t>(indices_.size()); }
  const std::string& name(int64_t index) const override { return dataset_.name(At(index)); }
  absl::StatusOr<std::vector<Tensor>> Load(int64_t index) const override {
    return dataset_.Load(At(index));
  }
  absl::StatusOr<uint64_t> ContentHash(int64_t index) const override {
    return dataset_.ContentHash(At(index));
  }

 private:
  int64_t At(int64_t index) const { return indices_[static_cast<size_t>(index)]; }

  const Dataset& dataset_;
  const std::vector<int64_t> indices_;
};

// Sums over samples depend on their order in the last bits, and the order must not be that of
// names.
absl::Status SortByContent(const Dataset& dataset, std::vector<int64_t>& indices) {
  std::vector<std::pair<uint64_t, int64_t>> keyed;
  for (const int64_t index : indices) {
    QB_ASSIGN_OR_RETURN(const uint64_t hash, dataset.ContentHash(index));
    keyed.emplace_back(hash, index);
  }
  std::sort(keyed.begin(), keyed.end());
  for (size_t i = 0; i < indices.size(); ++i) {
    indices[i] = keyed[i].second;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<HeldBackSamples> HoldBackSamples(const Dataset& dataset, int64_t most, int threads,
                                                const CancelToken& cancel) {
  const int64_t count = std::clamp<int64_t>(dataset.size() / 4, 1, most);
  QB_ASSIGN_OR_RETURN(std::vector<int64_t> held, ChooseSamples(dataset, count, threads, cancel));
  std::vector<int64_t> all(static_cast<size_t>(dataset.size()));
  std::iota(all.begin(), all.end(), int64_t{0});
  std::vector<int64_t> rest;
  std::set_difference(all.begin(), all.end(), held.begin(), held.end(), std::back_inserter(rest));
  if (rest.empty()) {
    rest = all;
  }
  QB_RETURN_IF_ERROR(SortByContent(dataset, held));
  HeldBackSamples samples;
  samples.calibration = std::make_unique<ChosenSamples>(dataset, std::move(rest));
  samples.held_back = std::make_unique<ChosenSamples>(dataset, std::move(held));
  return samples;
}

}  // namespace qb
