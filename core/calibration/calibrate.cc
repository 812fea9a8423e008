#include "core/calibration/calibrate.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"

#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/base/thread_pool.h"
#include "core/calibration/range_observer.h"
#include "core/calibration/sample_choice.h"
#include "core/execute/executor.h"

namespace qb {
namespace {

// The rank of the threshold among the magnitudes of all samples: at most the share `left_out` of
// them is above it.
int64_t RankOf(double left_out, int64_t all_elements) {
  const double above = std::ceil(left_out * static_cast<double>(all_elements));
  return std::clamp<int64_t>(static_cast<int64_t>(above) + 1, 1,
                             std::max<int64_t>(all_elements, 1));
}

int64_t MostOfASample(double share, int64_t elements) {
  const double most = std::ceil(share * static_cast<double>(elements));
  return std::clamp<int64_t>(static_cast<int64_t>(most), 1, std::max<int64_t>(elements, 1));
}

// A policy per requested range.
std::vector<RangePolicy> ChoosePolicies(const CalibrationRequest& request,
                                        const CalibrationOptions& options, int64_t samples) {
  std::vector<RangePolicy> policies;
  int64_t pool_bytes = 0;
  for (const auto& [node, levels, two_sided] : request.ranges) {
    RangePolicy policy;
    policy.levels = levels;
    policy.two_sided = two_sided;
    const double sides = two_sided ? 2.0 : 1.0;
    if (options.mode == CalibrationMode::kMaxPercentile) {
      const int64_t elements = node->shape().elements();
      policy.kind = RangePolicy::Kind::kPool;
      policy.rank = RankOf((1.0 - options.percentile) / sides, elements * samples);
      policy.most_a_sample = MostOfASample(options.topk_ratio / sides, elements);
      pool_bytes += (two_sided ? 4 : 2) * policy.rank * static_cast<int64_t>(sizeof(uint32_t));
    } else if (options.mode == CalibrationMode::kHistogram) {
      policy.kind = RangePolicy::Kind::kHistogram;
      policy.bins = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(options.bins)));
      policy.objective = options.objective;
      policy.percentile = options.percentile;
    }
    policies.push_back(policy);
  }
  if (pool_bytes > options.most_pool_bytes) {
    for (RangePolicy& policy : policies) {
      const int64_t pool = 2 * policy.rank * static_cast<int64_t>(sizeof(uint32_t));
      if (policy.kind == RangePolicy::Kind::kPool && pool > MagnitudeTail::kCountsBytes) {
        policy.kind = RangePolicy::Kind::kCounts;
      }
    }
  }
  return policies;
}

// Everything that observes one node's value.
struct NodeObservers {
  RangeObserver* range = nullptr;
  ChannelObserver* channels = nullptr;
  std::vector<size_t> windows;  // indices into the request
};

// The state that all workers share during the pass.
class CalibrationPass {
 public:
  CalibrationPass(const CalibrationInput& input, const CalibrationOptions& options,
                  ProgressSink& sink, const CancelToken& cancel)
      : dataset_(input.dataset),
        request_(input.request),
        options_(options),
        sink_(sink),
        cancel_(cancel) {}

  absl::StatusOr<CalibrationTable> Run(const Graph& graph) {
    QB_RETURN_IF_ERROR(Prepare());
    ExecutorOptions executor_options;
    for (const auto& [node, observers] : observers_) {
      executor_options.observed.push_back(node);
    }
    std::sort(executor_options.observed.begin(), executor_options.observed.end(),
              [](const Node* a, const Node* b) { return a->id() < b->id(); });
    QB_ASSIGN_OR_RETURN(executor_, CreateCpuExecutor(graph, executor_options));
    const int threads = static_cast<int>(std::min<int64_t>(options_.threads, dataset_.size()));
    ThreadPool pool(threads);
    workers_.resize(static_cast<size_t>(threads));
    pool.ParallelFor(dataset_.size(), [&](int64_t index, int worker) { RunSample(index, worker); });
    absl::MutexLock lock(&mutex_);
    QB_RETURN_IF_ERROR(failure_);
    return Collect();
  }

 private:
  struct Worker {
    std::unique_ptr<FloatExecutor::Context> context;
    ObserverScratch scratch;
  };

  absl::Status Prepare() {
    const std::vector<RangePolicy> policies = ChoosePolicies(request_, options_, dataset_.size());
    for (size_t i = 0; i < request_.ranges.size(); ++i) {
      ranges_.push_back(std::make_unique<RangeObserver>(policies[i]));
      observers_[request_.ranges[i].node].range = ranges_.back().get();
    }
    for (const Node* node : request_.channels) {
      channels_.push_back(
          std::make_unique<ChannelObserver>(node->shape()[node->shape().rank() - 1]));
      observers_[node].channels = channels_.back().get();
    }
    if (request_.window_samples > 0 && !request_.windows.empty()) {
      QB_ASSIGN_OR_RETURN(table_.window_samples, ChooseSamples(dataset_, request_.window_samples,
                                                               options_.threads, cancel_));
      for (size_t i = 0; i < request_.windows.size(); ++i) {
        observers_[request_.windows[i].value].windows.push_back(i);
        window_sums_.emplace_back(request_.windows[i].geometry.taps());
      }
    }
    return absl::OkStatus();
  }

  // The first failure stops the samples that have not begun.
  void RunSample(int64_t index, int worker) {
    if (stopped_.load(std::memory_order_relaxed)) {
      return;
    }
    const absl::Status status = TryRunSample(index, workers_[static_cast<size_t>(worker)]);
    absl::MutexLock lock(&mutex_);
    if (!status.ok()) {
      stopped_.store(true, std::memory_order_relaxed);
      failure_.Update(status);
      return;
    }
    sink_.OnProgress(++done_, dataset_.size(), "sample");
  }

  absl::Status TryRunSample(int64_t index, Worker& worker) {
    QB_RETURN_IF_ERROR(cancel_.Check());
    if (worker.context == nullptr) {
      worker.context = executor_->NewContext();
    }
    QB_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs, dataset_.Load(index));
    const bool with_windows =
        std::binary_search(table_.window_samples.begin(), table_.window_samples.end(), index);
    const Node* bad = nullptr;
    RunOptions run;
    run.observer = [&](const Node& node, const Tensor& view) {
      if (bad == nullptr && !ObserveNode(node, view, with_windows, worker.scratch)) {
        bad = &node;
      }
    };
    std::vector<Tensor> outputs;
    QB_RETURN_IF_ERROR(executor_->Run(*worker.context, inputs, run, &outputs));
    if (bad != nullptr) {
      return Failure(FailureCode::kCalibrationDataError,
                     absl::StrCat("calibration: sample '", dataset_.name(index), "' makes node '",
                                  bad->name(), "' NaN or infinite; finite values are needed"));
    }
    return absl::OkStatus();
  }

  bool ObserveNode(const Node& node, const Tensor& view, bool with_windows,
                   ObserverScratch& scratch) {
    const auto found = observers_.find(&node);
    if (found == observers_.end()) {
      return true;
    }
    const absl::Span<const float> values = view.values<float>();
    if (found->second.range != nullptr && !found->second.range->Observe(values, scratch)) {
      return false;
    }
    if (found->second.channels != nullptr) {
      found->second.channels->Observe(values);
    }
    if (with_windows) {
      for (const size_t window : found->second.windows) {
        const std::vector<double> sums = WindowSums(request_.windows[window].geometry, values);
        absl::MutexLock lock(&mutex_);
        window_sums_[window].Add(sums);
      }
    }
    return true;
  }

  CalibrationTable Collect() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    table_.samples = dataset_.size();
    for (size_t i = 0; i < ranges_.size(); ++i) {
      table_.ranges[request_.ranges[i].node->id()] = ranges_[i]->Result();
    }
    for (size_t i = 0; i < channels_.size(); ++i) {
      table_.channels[request_.channels[i]->id()] = channels_[i]->Result();
    }
    for (size_t i = 0; i < window_sums_.size(); ++i) {
      const CalibrationRequest::Window& window = request_.windows[i];
      std::vector<double> means = window_sums_[i].Result();
      const double positions = static_cast<double>(window.geometry.positions()) *
                               static_cast<double>(table_.window_samples.size());
      for (double& mean : means) {
        mean /= positions;
      }
      table_.windows[window.user->id()] = std::move(means);
    }
    return std::move(table_);
  }

  const Dataset& dataset_;
  const CalibrationRequest& request_;
  const CalibrationOptions& options_;
  ProgressSink& sink_;
  const CancelToken& cancel_;
  CalibrationTable table_;
  std::vector<std::unique_ptr<RangeObserver>> ranges_;
  std::vector<std::unique_ptr<ChannelObserver>> channels_;
  absl::flat_hash_map<const Node*, NodeObservers> observers_;
  std::unique_ptr<FloatExecutor> executor_;
  std::vector<Worker> workers_;
  std::atomic<bool> stopped_{false};
  absl::Mutex mutex_;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  int64_t done_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<OrderFreeSums> window_sums_;  // Add under mutex_
};

}  // namespace

absl::StatusOr<CalibrationTable> Calibrate(const CalibrationInput& input,
                                           const CalibrationOptions& options, ProgressSink& sink,
                                           const CancelToken& cancel) {
  if (input.dataset.size() == 0) {
    return Failure(FailureCode::kCalibrationDataError, "calibration: there are no samples");
  }
  if (options.mode == CalibrationMode::kMaxPercentile &&
      1.0 - options.percentile > options.topk_ratio) {
    sink.OnLog(LogLevel::kWarning, "calibration",
               absl::StrCat("percentile ", options.percentile, " leaves out more elements than ",
                            "topkRatio ", options.topk_ratio, " of a sample lets into the pool; ",
                            "thresholds come from that share"));
  }
  return CalibrationPass(input, options, sink, cancel).Run(input.graph);
}

}  // namespace qb
