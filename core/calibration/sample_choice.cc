#include "core/calibration/sample_choice.h"

#include <algorithm>
#include <numeric>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include "core/base/status_macros.h"
#include "core/base/thread_pool.h"

namespace qb {
namespace {

absl::StatusOr<uint64_t> HashOfSample(const Dataset& dataset, int64_t index,
                                      const CancelToken& cancel) {
  QB_RETURN_IF_ERROR(cancel.Check());
  return dataset.ContentHash(index);
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> ChooseSamples(const Dataset& dataset, int64_t count,
                                                   int threads, const CancelToken& cancel) {
  std::vector<int64_t> indices(static_cast<size_t>(dataset.size()));
  std::iota(indices.begin(), indices.end(), int64_t{0});
  if (dataset.size() <= count) {
    return indices;
  }
  std::vector<uint64_t> hashes(indices.size());
  absl::Mutex mutex;
  absl::Status failure;
  ThreadPool pool(threads);
  pool.ParallelFor(dataset.size(), [&](int64_t index, int) {
    const absl::StatusOr<uint64_t> hash = HashOfSample(dataset, index, cancel);
    if (!hash.ok()) {
      absl::MutexLock lock(&mutex);
      failure.Update(hash.status());
      return;
    }
    hashes[static_cast<size_t>(index)] = *hash;
  });
  QB_RETURN_IF_ERROR(failure);
  std::stable_sort(indices.begin(), indices.end(), [&](int64_t a, int64_t b) {
    return hashes[static_cast<size_t>(a)] < hashes[static_cast<size_t>(b)];
  });
  indices.resize(static_cast<size_t>(count));
  std::sort(indices.begin(), indices.end());
  return indices;
}

}  // namespace qb
