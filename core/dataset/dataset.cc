#include "core/dataset/dataset.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/base/thread_pool.h"
#include "core/dataset/sample_listing.h"
#include "core/dataset/sample_loader.h"

namespace qb {
namespace {

constexpr size_t kMostNamedSamples = 20;

class ListedDataset final : public Dataset {
 public:
  // One hash a sample.
  ListedDataset(SampleLoader loader, std::vector<SamplePath> samples, std::vector<uint64_t> hashes)
      : loader_(std::move(loader)), samples_(std::move(samples)), hashes_(std::move(hashes)) {}

  int64_t size() const override { return static_cast<int64_t>(samples_.size()); }
  const std::string& name(int64_t index) const override {
    return samples_[static_cast<size_t>(index)].name;
  }
  // The file was checked when the set was opened; it may have been replaced since.
  absl::StatusOr<std::vector<Tensor>> Load(int64_t index) const override {
    absl::StatusOr<LoadedSample> sample = loader_.Load(samples_[static_cast<size_t>(index)]);
    if (!sample.ok()) {
      return Failure(FailureCode::kCalibrationDataError,
                     absl::StrCat("calibration data: ", sample.status().message()));
    }
    return std::move(sample->values);
  }
  absl::StatusOr<uint64_t> ContentHash(int64_t index) const override {
    return hashes_[static_cast<size_t>(index)];
  }

 private:
  const SampleLoader loader_;
  const std::vector<SamplePath> samples_;
  const std::vector<uint64_t> hashes_;
};

// What the check of one sample found.
struct Finding {
  std::string problem;  // empty: the sample is good
  uint64_t hash = 0;    // of a good sample
  std::vector<SampleNote> notes;
};

std::vector<Finding> CheckAll(const SampleLoader& loader, const std::vector<SamplePath>& samples,
                              const DatasetOptions& options, ProgressSink& sink) {
  std::vector<Finding> findings(samples.size());
  std::atomic<int64_t> done{0};
  const int64_t count = static_cast<int64_t>(samples.size());
  ThreadPool pool(static_cast<int>(std::clamp<int64_t>(options.threads, 1, count)));
  pool.ParallelFor(count, [&](int64_t index, int) {
    if (options.cancel != nullptr && options.cancel->cancelled()) {
      return;
    }
    Finding& finding = findings[static_cast<size_t>(index)];
    absl::StatusOr<LoadedSample> sample = loader.Load(samples[static_cast<size_t>(index)]);
    if (sample.ok()) {
      finding.hash = ContentHashOf(sample->values);
      finding.notes = std::move(sample->notes);
    } else {
      finding.problem = std::string(sample.status().message());
    }
    sink.OnProgress(done.fetch_add(1) + 1, count, "sample");
  });
  return findings;
}

absl::Status BadSamples(const std::string& path, const std::vector<Finding>& findings) {
  std::string listed;
  size_t bad = 0;
  for (const Finding& finding : findings) {
    if (!finding.problem.empty() && ++bad <= kMostNamedSamples) {
      absl::StrAppend(&listed, "\n  ", finding.problem);
    }
  }
  if (bad == 0) {
    return absl::OkStatus();
  }
  if (bad > kMostNamedSamples) {
    absl::StrAppend(&listed, "\n  and ", bad - kMostNamedSamples, " more");
  }
  return Failure(FailureCode::kCalibrationDataError,
                 absl::StrCat("calibration data: ", bad, " of ", findings.size(), " samples of '",
                              path, "' cannot be used:", listed));
}

// A note, the first sample that has it, and how many have.
struct SharedNote {
  SampleNote note;
  size_t first = 0;
  size_t count = 0;
};

std::vector<SharedNote> CountNotes(const std::vector<Finding>& findings) {
  std::vector<SharedNote> shared;
  std::map<std::string, size_t> place;
  for (size_t i = 0; i < findings.size(); ++i) {
    for (const SampleNote& note : findings[i].notes) {
      const auto [found, is_new] =
          place.try_emplace(absl::StrCat(note.input, "\n", note.text), shared.size());
      if (is_new) {
        shared.push_back({note, i, 0});
      }
      ++shared[found->second].count;
    }
  }
  return shared;
}

void LogNotes(const std::vector<SamplePath>& samples, const std::vector<Finding>& findings,
              ProgressSink& sink) {
  for (const SharedNote& shared : CountNotes(findings)) {
    const std::string text = absl::StrCat("input '", shared.note.input, "': ", shared.note.text);
    if (shared.note.of_whole_sets && shared.count < samples.size()) {
      sink.OnLog(
          LogLevel::kWarning, "dataset",
          absl::StrCat(text, " in ", shared.count, " of ", samples.size(), " samples, first '",
                       samples[shared.first].name, "': were they written as the others?"));
    } else {
      sink.OnLog(shared.note.level, "dataset",
                 absl::StrCat(text, " (sample '", samples[shared.first].name, "')"));
    }
  }
}

std::vector<uint64_t> HashesOf(const std::vector<Finding>& findings) {
  std::vector<uint64_t> hashes;
  hashes.reserve(findings.size());
  for (const Finding& finding : findings) {
    hashes.push_back(finding.hash);
  }
  return hashes;
}

}  // namespace

uint64_t ContentHashOf(absl::Span<const Tensor> values) {
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

absl::StatusOr<uint64_t> Dataset::ContentHash(int64_t index) const {
  QB_ASSIGN_OR_RETURN(const std::vector<Tensor> values, Load(index));
  return ContentHashOf(values);
}

absl::StatusOr<std::unique_ptr<Dataset>> OpenDataset(const std::string& path,
                                                     absl::Span<const InputSpec> inputs,
                                                     const DatasetOptions& options,
                                                     ProgressSink& sink) {
  QB_ASSIGN_OR_RETURN(std::vector<SamplePath> samples, ListSamples(path));
  SampleLoader loader(std::vector<InputSpec>(inputs.begin(), inputs.end()), options);
  const std::vector<Finding> findings = CheckAll(loader, samples, options, sink);
  if (options.cancel != nullptr) {
    QB_RETURN_IF_ERROR(options.cancel->Check());
  }
  QB_RETURN_IF_ERROR(BadSamples(path, findings));
  LogNotes(samples, findings, sink);
  return std::make_unique<ListedDataset>(std::move(loader), std::move(samples), HashesOf(findings));
}

absl::StatusOr<std::unique_ptr<Dataset>> OpenDataset(const std::string& path,
                                                     absl::Span<const InputSpec> inputs,
                                                     ProgressSink& sink) {
  return OpenDataset(path, inputs, DatasetOptions{}, sink);
}

}  // namespace qb
