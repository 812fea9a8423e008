#include "core/tuning/sensitivity.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/base/thread_pool.h"
#include "core/evaluate/codes.h"
#include "core/execute/executor.h"
#include "core/quantization/linear_form.h"
#include "core/tuning/network_score.h"
#include "core/tuning/one_layer_graph.h"

namespace qb {
namespace {

// One rounding that is tried.
struct Trial {
  const Node* node = nullptr;  // whose value changes
  // Of a value: its codes. Of weights: null.
  const integer::TensorInfo* codes = nullptr;
  // Of weights: the layer with coded weights and what it reads.
  std::unique_ptr<Graph> graph;
  std::unique_ptr<FloatExecutor> executor;
  const Node* input = nullptr;
};

class Measurement {
 public:
  Measurement(const SensitivityInput& input, const SensitivityOptions& options,
              const CancelToken& cancel)
      : input_(input), options_(options), cancel_(cancel) {}

  absl::StatusOr<Sensitivities> Run(ProgressSink& sink) {
    AddValueTrials();
    QB_RETURN_IF_ERROR(AddWeightTrials());
    ExecutorOptions executor_options;
    for (const Trial& trial : trials_) {
      executor_options.observed.push_back(trial.node);
      if (trial.input != nullptr) {
        executor_options.observed.push_back(trial.input);
      }
    }
    QB_ASSIGN_OR_RETURN(executor_, CreateCpuExecutor(input_.plan.graph(), executor_options));
    const int64_t count = std::min(options_.samples, input_.dataset.size());
    const int threads = static_cast<int>(std::min<int64_t>(options_.threads, count));
    workers_.resize(static_cast<size_t>(threads));
    sums_.resize(static_cast<size_t>(count));
    std::vector<absl::Status> statuses(static_cast<size_t>(count), absl::OkStatus());
    std::atomic<int64_t> done{0};
    ThreadPool(threads).ParallelFor(count, [&](int64_t sample, int worker) {
      statuses[static_cast<size_t>(sample)] =
          RunSample(sample, workers_[static_cast<size_t>(worker)]);
      sink.OnProgress(done.fetch_add(1) + 1, count, "sample");
    });
    for (const absl::Status& status : statuses) {
      QB_RETURN_IF_ERROR(status);
    }
    return Collect();
  }

 private:
  using SumsByOutput = std::vector<OutputSums>;

  struct Worker {
    std::unique_ptr<FloatExecutor::Context> context, rest;
    absl::flat_hash_map<const Trial*, Tensor> results;  // of weight trials, until their node comes
  };
  // One sample on its way through the float graph.
  struct Walk {
    Worker& worker;
    std::vector<SumsByOutput>& sums;           // by trial
    std::vector<std::vector<Tensor>> results;  // by trial, outputs
    absl::Status status;
  };

  void AddValueTrials() {
    absl::flat_hash_map<std::string, const integer::TensorInfo*> tensors;
    for (const integer::TensorInfo& tensor : input_.network.tensors) {
      if (tensor.dtype != DType::kFloat32) {
        tensors.emplace(tensor.name, &tensor);
      }
    }
    for (const Node* node : input_.plan.values()) {
      const auto found = tensors.find(CodesName(*node));
      if (input_.plan.ScaleSource(node) == node && found != tensors.end() &&
          found->second->dtype == DType::kInt8) {
        trials_.push_back({node, found->second, nullptr, nullptr, nullptr});
      }
    }
  }

  // The tensor with the codes of a value: an input's own name is that of its float form.
  static std::string CodesName(const Node& node) {
    return node.op() == OpKind::kInput ? absl::StrCat(node.name(), "/codes") : node.name();
  }

  static const integer::ConvParams* WeightsOf(const integer::Layer& layer) {
    if (const auto* conv = std::get_if<integer::ConvParams>(&layer.params)) {
      return conv;
    }
    const auto* transposed = std::get_if<integer::ConvTransposeParams>(&layer.params);
    return transposed != nullptr ? &transposed->conv : nullptr;
  }

  absl::Status AddWeightTrials() {
    absl::flat_hash_map<std::string, const integer::Layer*> layers;
    for (const integer::Layer& layer : input_.network.layers) {
      if (WeightsOf(layer) != nullptr) {
        layers.emplace(layer.name, &layer);
      }
    }
    for (const Node* node : input_.plan.linear_nodes()) {
      const auto found = layers.find(node->name());
      // A lone batch normalization has one weight a channel: its codes are exact.
      if (found == layers.end() || node->op() == OpKind::kBatchnorm ||
          WeightsOf(*found->second)->weight_bits == 16) {
        continue;
      }
      QB_ASSIGN_OR_RETURN(const LinearForm form, LinearFormOf(*node));
      const auto means = input_.table.windows.find(node->id());
      Trial trial;
      trial.node = node;
      trial.input = form.input;
      const integer::Layer& layer = *found->second;
      const auto tensor = [&](int index) -> const integer::TensorInfo& {
        return input_.network.tensors[static_cast<size_t>(index)];
      };
      trial.graph = std::make_unique<Graph>(GraphWithCodedWeights(
          *node, form, {*WeightsOf(layer), tensor(layer.inputs[0]), tensor(layer.output)},
          means == input_.table.windows.end() ? nullptr : &means->second));
      QB_ASSIGN_OR_RETURN(trial.executor, CreateCpuExecutor(*trial.graph));
      trials_.push_back(std::move(trial));
    }
    return absl::OkStatus();
  }

  absl::Status RunSample(int64_t sample, Worker& worker) {
    QB_RETURN_IF_ERROR(cancel_.Check());
    if (worker.context == nullptr) {
      worker.context = executor_->NewContext();
      worker.rest = executor_->NewContext();
    }
    worker.results.clear();
    QB_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs, input_.dataset.Load(sample));
    std::vector<SumsByOutput>& sums = sums_[static_cast<size_t>(sample)];
    sums.resize(trials_.size());
    Walk walk{worker, sums, std::vector<std::vector<Tensor>>(trials_.size()), absl::OkStatus()};
    RunOptions run;
    run.observer = [&](const Node& node, const Tensor& view) {
      if (walk.status.ok()) {
        walk.status = Visit(node, view, walk);
      }
    };
    std::vector<Tensor> expected;
    QB_RETURN_IF_ERROR(executor_->Run(*worker.context, inputs, run, &expected));
    QB_RETURN_IF_ERROR(walk.status);
    for (size_t t = 0; t < trials_.size(); ++t) {
      for (size_t i = 0; i < expected.size(); ++i) {
        sums[t].push_back(CompareOutputs(expected[i], walk.results[t][i]));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Visit(const Node& node, const Tensor& view, Walk& walk) {
    QB_RETURN_IF_ERROR(cancel_.Check());
    for (size_t t = 0; t < trials_.size(); ++t) {
      const Trial& trial = trials_[t];
      if (trial.input == &node) {
        QB_ASSIGN_OR_RETURN(walk.worker.results[&trial], ResultWithCodedWeights(trial, view));
      }
      if (trial.node == &node) {
        const Tensor value =
            trial.codes != nullptr
                ? DequantizeTensor(QuantizeTensor(view, *trial.codes), *trial.codes)
                      .Reshaped(view.shape())
                : walk.worker.results.at(&trial);
        QB_RETURN_IF_ERROR(executor_->RunOnFrom(*walk.worker.context, *walk.worker.rest, node,
                                                value, &walk.results[t]));
        walk.worker.results.erase(&trial);
      }
    }
    return absl::OkStatus();
  }

  static absl::StatusOr<Tensor> ResultWithCodedWeights(const Trial& trial, const Tensor& input) {
    std::vector<Tensor> outputs;
    const std::unique_ptr<FloatExecutor::Context> context = trial.executor->NewContext();
    QB_RETURN_IF_ERROR(trial.executor->Run(*context, {&input, 1}, {}, &outputs));
    return std::move(outputs[0]);
  }

  double LossOf(size_t trial) const {
    const size_t outputs = input_.plan.graph().outputs().size();
    double loss = 0.0;
    for (size_t i = 0; i < outputs; ++i) {
      OutputSums total;
      for (const std::vector<SumsByOutput>& sums : sums_) {
        AddSums(sums[trial][i], total);
      }
      loss += total.signal > 0 ? total.noise / total.signal : 0.0;
      if (options_.classes && total.rows > 0) {
        loss += 1.0 - static_cast<double>(total.equal_rows) / static_cast<double>(total.rows);
      }
    }
    return loss;
  }

  Sensitivities Collect() const {
    Sensitivities result;
    for (size_t t = 0; t < trials_.size(); ++t) {
      const Trial& trial = trials_[t];
      (trial.codes != nullptr ? result.values : result.weights)[trial.node->id()] = LossOf(t);
    }
    return result;
  }

  const SensitivityInput& input_;
  const SensitivityOptions& options_;
  const CancelToken& cancel_;
  std::vector<Trial> trials_;
  std::unique_ptr<FloatExecutor> executor_;
  std::vector<Worker> workers_;
  std::vector<std::vector<SumsByOutput>> sums_;  // by sample, trial
};

}  // namespace

absl::StatusOr<Sensitivities> MeasureSensitivities(const SensitivityInput& input,
                                                   const SensitivityOptions& options,
                                                   ProgressSink& sink, const CancelToken& cancel) {
  return Measurement(input, options, cancel).Run(sink);
}

}  // namespace qb
