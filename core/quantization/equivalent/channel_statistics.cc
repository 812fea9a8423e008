#include "core/quantization/equivalent/channel_statistics.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/synchronization/mutex.h"

#include "core/base/status_macros.h"
#include "core/base/thread_pool.h"
#include "core/calibration/sample_choice.h"
#include "core/calibration/window_sums.h"
#include "core/execute/executor.h"

namespace qb {
namespace {

struct Observed {
  explicit Observed(int64_t channels)
      : largest(static_cast<size_t>(channels), 0.0), squares(channels) {}
  std::vector<double> largest;
  OrderFreeSums squares;
  int64_t rows = 0;
};

class Measurement {
 public:
  Measurement(absl::Span<const Node* const> values, const Dataset& dataset) : dataset_(dataset) {
    for (const Node* value : values) {
      observed_.emplace(value, Observed(value->shape()[value->shape().rank() - 1]));
    }
  }

  absl::Status Run(const FloatExecutor& executor, const std::vector<int64_t>& samples, int threads,
                   const CancelToken& cancel) {
    std::vector<absl::Status> statuses(samples.size(), absl::OkStatus());
    std::vector<std::unique_ptr<FloatExecutor::Context>> contexts(static_cast<size_t>(threads));
    ThreadPool(threads).ParallelFor(
        static_cast<int64_t>(samples.size()), [&](int64_t i, int worker) {
          auto& context = contexts[static_cast<size_t>(worker)];
          if (context == nullptr) {
            context = executor.NewContext();
          }
          absl::Status& status = statuses[static_cast<size_t>(i)];
          status = cancel.Check();
          if (status.ok()) {
            status = RunSample(executor, *context, samples[static_cast<size_t>(i)]);
          }
        });
    for (const absl::Status& status : statuses) {
      QB_RETURN_IF_ERROR(status);
    }
    return absl::OkStatus();
  }

  std::map<int64_t, ChannelStatistics> Collect() const {
    std::map<int64_t, ChannelStatistics> result;
    for (const auto& [node, observed] : observed_) {
      ChannelStatistics statistics{observed.largest, observed.squares.Result()};
      for (double& sum : statistics.mean_square) {
        sum /= static_cast<double>(std::max<int64_t>(1, observed.rows));
      }
      result[node->id()] = std::move(statistics);
    }
    return result;
  }

 private:
  absl::Status RunSample(const FloatExecutor& executor, FloatExecutor::Context& context,
                         int64_t sample) {
    QB_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs, dataset_.Load(sample));
    RunOptions run;
    run.observer = [this](const Node& node, const Tensor& view) { Observe(node, view); };
    std::vector<Tensor> outputs;
    return executor.Run(context, inputs, run, &outputs);
  }

  void Observe(const Node& node, const Tensor& view) {
    const auto found = observed_.find(&node);
    if (found == observed_.end()) {
      return;
    }
    const size_t channels = found->second.largest.size();
    std::vector<double> largest(channels, 0.0), squares(channels, 0.0);
    const absl::Span<const float> values = view.values<float>();
    for (size_t i = 0; i < values.size(); ++i) {
      const double value = values[i];
      largest[i % channels] = std::max(largest[i % channels], std::abs(value));
      squares[i % channels] += value * value;
    }
    absl::MutexLock lock(&mutex_);
    for (size_t c = 0; c < channels; ++c) {
      found->second.largest[c] = std::max(found->second.largest[c], largest[c]);
    }
    found->second.squares.Add(squares);
    found->second.rows += static_cast<int64_t>(values.size() / std::max<size_t>(1, channels));
  }

  const Dataset& dataset_;
  absl::Mutex mutex_;
  std::map<const Node*, Observed> observed_;  // changed under mutex_
};

}  // namespace

absl::StatusOr<std::map<int64_t, ChannelStatistics>> MeasureChannels(
    const Graph& graph, absl::Span<const Node* const> values, const Dataset& dataset,
    const ChannelSampling& sampling, const CancelToken& cancel) {
  QB_ASSIGN_OR_RETURN(const std::vector<int64_t> samples,
                      ChooseSamples(dataset, sampling.most_samples, sampling.threads, cancel));
  ExecutorOptions options;
  options.observed.assign(values.begin(), values.end());
  QB_ASSIGN_OR_RETURN(const std::unique_ptr<FloatExecutor> executor,
                      CreateCpuExecutor(graph, options));
  Measurement measurement(values, dataset);
  QB_RETURN_IF_ERROR(measurement.Run(*executor, samples, sampling.threads, cancel));
  return measurement.Collect();
}

}  // namespace qb
