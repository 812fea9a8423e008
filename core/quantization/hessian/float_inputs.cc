#include "core/quantization/hessian/float_inputs.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/status_macros.h"

namespace qb {
namespace {

int16_t Rounded(double steps) {
  return static_cast<int16_t>(std::nearbyint(std::clamp(steps, -32767.0, 32767.0)));
}

}  // namespace

FloatInputs::FloatInputs(const Dataset& dataset, std::vector<int64_t> samples,
                         std::vector<WantedInput> wanted, int64_t most_bytes)
    : dataset_(dataset),
      samples_(std::move(samples)),
      wanted_(std::move(wanted)),
      most_bytes_(most_bytes) {}

absl::StatusOr<std::unique_ptr<FloatInputs>> FloatInputs::Create(const Graph& graph,
                                                                 const Dataset& dataset,
                                                                 std::vector<int64_t> samples,
                                                                 std::vector<WantedInput> wanted,
                                                                 int64_t most_bytes) {
  ExecutorOptions options;
  for (const WantedInput& input : wanted) {
    options.observed.push_back(input.value);
  }
  std::unique_ptr<FloatInputs> inputs(
      new FloatInputs(dataset, std::move(samples), std::move(wanted), most_bytes));
  QB_ASSIGN_OR_RETURN(inputs->executor_, CreateCpuExecutor(graph, options));
  return inputs;
}

absl::StatusOr<const std::vector<std::vector<int16_t>>*> FloatInputs::Get(
    size_t index, ThreadPool& pool, const CancelToken& cancel) {
  held_.erase(held_.begin(), held_.lower_bound(index));
  if (!held_.contains(index)) {
    QB_RETURN_IF_ERROR(Fetch(index, pool, cancel));
  }
  return &held_.at(index);
}

absl::Status FloatInputs::Fetch(size_t first, ThreadPool& pool, const CancelToken& cancel) {
  held_.clear();
  size_t end = first;
  int64_t bytes = 0;
  while (end < wanted_.size()) {
    bytes += wanted_[end].value->shape().elements() * static_cast<int64_t>(samples_.size()) *
             static_cast<int64_t>(sizeof(int16_t));
    if (end > first && bytes > most_bytes_) {
      break;
    }
    held_[end++].resize(samples_.size());
  }
  std::vector<absl::Status> statuses(samples_.size(), absl::OkStatus());
  std::vector<std::unique_ptr<FloatExecutor::Context>> contexts(
      static_cast<size_t>(pool.threads()));
  pool.ParallelFor(static_cast<int64_t>(samples_.size()), [&](int64_t sample, int worker) {
    auto& context = contexts[static_cast<size_t>(worker)];
    if (context == nullptr) {
      context = executor_->NewContext();
    }
    absl::Status& status = statuses[static_cast<size_t>(sample)];
    status = cancel.Check();
    if (status.ok()) {
      status = RunSample(static_cast<size_t>(sample), first, end, *context);
    }
  });
  for (const absl::Status& status : statuses) {
    QB_RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

absl::Status FloatInputs::RunSample(size_t sample, size_t first, size_t end,
                                    FloatExecutor::Context& context) {
  QB_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs, dataset_.Load(samples_[sample]));
  RunOptions run;
  run.observer = [&](const Node& node, const Tensor& view) {
    for (size_t index = first; index < end; ++index) {
      const WantedInput& wanted = wanted_[index];
      if (wanted.value != &node) {
        continue;
      }
      const double steps =
          static_cast<double>(wanted.resolution) / static_cast<double>(wanted.scale);
      std::vector<int16_t>& to = held_.at(index)[sample];
      to.reserve(static_cast<size_t>(view.elements()));
      for (const float value : view.values<float>()) {
        to.push_back(Rounded(static_cast<double>(value) * steps));
      }
    }
  };
  std::vector<Tensor> outputs;
  return executor_->Run(context, inputs, run, &outputs);
}

}  // namespace qb
