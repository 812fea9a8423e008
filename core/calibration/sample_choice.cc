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

absl::StatusOr<std::vector<int64_t>> SamplesByContent(const Dataset& dataset, int64_t count,
                                                      int threads, const CancelToken& cancel) {
  std::vector<uint64_t> hashes(static_cast<size_t>(dataset.size()));
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
  std::vector<int64_t> indices(hashes.size());
  std::iota(indices.begin(), indices.end(), int64_t{0});
  std::stable_sort(indices.begin(), indices.end(), [&](int64_t a, int64_t b) {
    return hashes[static_cast<size_t>(a)] < hashes[static_cast<size_t>(b)];
  });
  indices.resize(static_cast<size_t>(std::min(count, dataset.size())));
  return indices;
}

absl::StatusOr<std::vector<int64_t>> ChooseSamples(const Dataset& dataset, int64_t count,
                                                   int threads, const CancelToken& cancel) {
  if (dataset.size() <= count) {
    std::vector<int64_t> all(static_cast<size_t>(dataset.size()));
    std::iota(all.begin(), all.end(), int64_t{0});
    return all;
  }
  QB_ASSIGN_OR_RETURN(std::vector<int64_t> indices,
                      SamplesByContent(dataset, count, threads, cancel));
  std::sort(indices.begin(), indices.end());
  return indices;
}

}  // namespace qb
