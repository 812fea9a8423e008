#include "core/calibration/sample_choice.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include "core/base/status_macros.h"
#include "core/base/thread_pool.h"

namespace qb {
namespace {

// FNV-1a over 8-byte words with a final mix: spreads samples, resists nobody.
uint64_t HashOf(const std::vector<Tensor>& values) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const Tensor& value : values) {
    const char* bytes = static_cast<const char*>(value.raw());
    const size_t size = static_cast<size_t>(value.size_bytes());
    for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, bytes + at, std::min(sizeof(word), size - at));
      hash = (hash ^ word) * 0x100000001b3u;
      hash ^= hash >> 29;
    }
  }
  hash = (hash ^ (hash >> 31)) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 32);
}

absl::StatusOr<uint64_t> HashOfSample(const Dataset& dataset, int64_t index,
                                      const CancelToken& cancel) {
  QB_RETURN_IF_ERROR(cancel.Check());
  QB_ASSIGN_OR_RETURN(const std::vector<Tensor> sample, dataset.Load(index));
  return HashOf(sample);
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
