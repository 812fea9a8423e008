#include "core/evaluate/layer_evaluation.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/base/thread_pool.h"
#include "core/evaluate/codes.h"
#include "core/evaluate/input_bytes.h"
#include "core/evaluate/metrics.h"
#include "core/execute/executor.h"
#include "core/integer/requant.h"
#include "core/integer/run_layer.h"
#include "core/ops/op_def.h"

namespace qb {
namespace {

using integer::Network;
using integer::TensorInfo;

// A float value that is a tensor of the network, and the layers that make it out of other such
// values.
struct Step {
  const Node* node = nullptr;
  int tensor = -1;
  std::vector<size_t> layers;  // in execution order
};

// The steps of a network, by float node.
class StepPlan {
 public:
  static absl::StatusOr<StepPlan> Create(const Graph& graph, const Network& network) {
    StepPlan plan(network);
    QB_RETURN_IF_ERROR(plan.FindBorder(graph));
    plan.FindByName(graph);
    for (Step& step : plan.steps_) {
      QB_RETURN_IF_ERROR(plan.CheckShape(step));
      plan.FindLayers(step);
    }
    return plan;
  }

  const std::vector<Step>& steps() const { return steps_; }
  // Whether a float value is known for the tensor.
  bool is_value(int tensor) const { return value_[static_cast<size_t>(tensor)]; }

 private:
  explicit StepPlan(const Network& network)
      : network_(&network),
        value_(network.tensors.size(), false),
        producers_(network.tensors.size(), -1) {
    for (size_t i = 0; i < network.layers.size(); ++i) {
      producers_[static_cast<size_t>(network.layers[i].output)] = static_cast<int64_t>(i);
    }
  }

  void Add(const Node* node, int tensor) {
    if (!value_[static_cast<size_t>(tensor)]) {
      value_[static_cast<size_t>(tensor)] = true;
      steps_.push_back({node, tensor, {}});
    }
  }

  // The codes of an input: those that Quantize makes, or of a uint8 input those that the layer
  // behind makes of its bytes. Where axes are turned in between, the turned value is a step of its
  // own.
  void AddInput(const Node* node, int input, int quantized) {
    if (network_->tensors[static_cast<size_t>(input)].dtype != DType::kUint8) {
      Add(node, quantized);
      return;
    }
    for (const integer::Layer& layer : network_->layers) {
      const bool scales = std::holds_alternative<integer::RequantParams>(layer.params) ||
                          std::holds_alternative<integer::ConvParams>(layer.params);
      if (scales && layer.inputs[0] == quantized) {
        Add(node, layer.output);
      }
    }
  }

  // Inputs and outputs have names of their own there.
  absl::Status FindBorder(const Graph& graph) {
    if (graph.inputs().size() != network_->inputs.size() ||
        graph.outputs().size() != network_->outputs.size()) {
      return Failure(FailureCode::kArgumentError,
                     absl::StrCat("the executable has ", network_->inputs.size(), " inputs and ",
                                  network_->outputs.size(), " outputs, the model ",
                                  graph.inputs().size(), " and ", graph.outputs().size()));
    }
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      const int input = network_->inputs[i];
      if (HoldsCodes(network_->tensors[static_cast<size_t>(input)])) {
        Add(graph.inputs()[i], input);
        continue;
      }
      for (const integer::Layer& layer : network_->layers) {
        if (std::holds_alternative<integer::QuantizeParams>(layer.params) &&
            layer.inputs[0] == input) {
          AddInput(graph.inputs()[i], input, layer.output);
        }
      }
    }
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
      const int output = network_->outputs[i];
      if (HoldsCodes(network_->tensors[static_cast<size_t>(output)])) {
        Add(graph.outputs()[i]->operand(0), output);
      }
    }
    return absl::OkStatus();
  }

  void FindByName(const Graph& graph) {
    absl::flat_hash_map<std::string, const Node*> nodes;
    for (const Node* node : graph.TopologicalOrder()) {
      if (!node->is_constant() && node->op() != OpKind::kOutput) {
        nodes[node->name()] = node;
      }
    }
    for (const integer::Layer& layer : network_->layers) {
      const TensorInfo& info = network_->tensors[static_cast<size_t>(layer.output)];
      const auto found = nodes.find(info.name);
      if (found != nodes.end() && HoldsCodes(info)) {
        Add(found->second, layer.output);
      }
    }
  }

  absl::Status CheckShape(const Step& step) const {
    const TensorInfo& info = network_->tensors[static_cast<size_t>(step.tensor)];
    if (info.shape.elements() != step.node->shape().elements() ||
        step.node->type().dtype != DType::kFloat32) {
      return Failure(
          FailureCode::kArgumentError,
          absl::StrCat("layer '", step.node->name(), "' is ", step.node->type().ToString(),
                       " in the model and ", info.shape.ToString(),
                       " in the executable; it was made from "
                       "another model"));
    }
    return absl::OkStatus();
  }

  // Everything between the step's tensor and tensors that are values themselves.
  void FindLayers(Step& step) const {
    std::vector<int> open = {step.tensor};
    while (!open.empty()) {
      const int64_t producer = producers_[static_cast<size_t>(open.back())];
      open.pop_back();
      if (producer < 0) {
        continue;
      }
      const size_t layer = static_cast<size_t>(producer);
      if (std::find(step.layers.begin(), step.layers.end(), layer) != step.layers.end()) {
        continue;
      }
      step.layers.push_back(layer);
      for (const int input : network_->layers[layer].inputs) {
        if (!is_value(input)) {
          open.push_back(input);
        }
      }
    }
    std::sort(step.layers.begin(), step.layers.end());
  }

  const Network* network_;
  std::vector<bool> value_;         // by tensor
  std::vector<int64_t> producers_;  // by tensor: the layer, or -1
  std::vector<Step> steps_;
};

// What the samples say about one step.
struct StepSums {
  OutputSums single, entire;
  int64_t elements = 0, saturated = 0;

  void Add(const StepSums& other) {
    Pool(single, other.single);
    Pool(entire, other.entire);
    elements += other.elements;
    saturated += other.saturated;
  }
  static void Pool(OutputSums& total, const OutputSums& sums) {
    total.signal += sums.signal;
    total.noise += sums.noise;
    total.other += sums.other;
    total.product += sums.product;
  }
};

int64_t CountSaturated(const Tensor& real, const TensorInfo& info) {
  // Half a step beyond the last code still rounds to it.
  const double low = (integer::LeastCode(info.dtype) - info.zero_point - 0.5) * info.scale;
  const double high = (integer::MostCode(info.dtype) - info.zero_point + 0.5) * info.scale;
  int64_t count = 0;
  for (const float value : real.values<float>()) {
    count += value < low || value > high ? 1 : 0;
  }
  return count;
}

// The float view as the network shapes it.
Tensor Reshaped(const Tensor& view, const Shape& shape) {
  Tensor copy = Tensor::Allocate({DType::kFloat32, shape});
  std::copy_n(view.data<float>(), static_cast<size_t>(view.elements()), copy.mutable_data<float>());
  return copy;
}

// Everything that the samples share; immutable.
class LayerJudge {
 public:
  static absl::StatusOr<std::unique_ptr<LayerJudge>> Create(const Graph& graph,
                                                            const Network& network,
                                                            std::vector<Uint8Input> bytes) {
    QB_ASSIGN_OR_RETURN(StepPlan plan, StepPlan::Create(graph, network));
    std::unique_ptr<LayerJudge> judge(new LayerJudge(network, std::move(plan)));
    judge->bytes_ = std::move(bytes);
    QB_RETURN_IF_ERROR(judge->Prepare(graph));
    return judge;
  }

  const std::vector<Step>& steps() const { return plan_.steps(); }
  std::unique_ptr<FloatExecutor::Context> NewContext() const { return executor_->NewContext(); }

  absl::StatusOr<std::vector<StepSums>> RunSample(FloatExecutor::Context& context,
                                                  const std::vector<Tensor>& inputs) const {
    Sample sample(network_, steps().size());
    QB_RETURN_IF_ERROR(RunEntire(inputs, sample));
    RunOptions run;
    run.observer = [&](const Node& node, const Tensor& view) {
      const auto found = by_node_.find(&node);
      for (size_t i = 0; found != by_node_.end() && i < found->second.size(); ++i) {
        Judge(found->second[i], view, sample);
      }
    };
    std::vector<Tensor> outputs;
    QB_RETURN_IF_ERROR(executor_->Run(context, inputs, run, &outputs));
    QB_RETURN_IF_ERROR(sample.failure);
    return std::move(sample.sums);
  }

 private:
  struct Sample {
    Sample(const Network& network, size_t steps)
        : entire(network.tensors.size()), codes(network.tensors.size()), sums(steps) {}
    std::vector<std::optional<Tensor>> entire;  // by tensor: as the whole network computes it
    std::vector<std::optional<Tensor>> codes;   // by tensor: of the float values
    std::vector<StepSums> sums;                 // by step
    absl::Status failure;
    integer::Scratch scratch;
  };

  LayerJudge(const Network& network, StepPlan plan)
      : network_(network), plan_(std::move(plan)), constants_(network.tensors.size(), nullptr) {
    for (const integer::ConstantTensor& constant : network.constants) {
      constants_[static_cast<size_t>(constant.tensor)] = constant.bytes.data();
    }
  }

  absl::Status Prepare(const Graph& graph) {
    ExecutorOptions options;
    for (size_t i = 0; i < steps().size(); ++i) {
      std::vector<size_t>& of_node = by_node_[steps()[i].node];
      if (of_node.empty()) {
        options.observed.push_back(steps()[i].node);
      }
      of_node.push_back(i);
    }
    QB_ASSIGN_OR_RETURN(executor_, CreateCpuExecutor(graph, options));
    for (const integer::Layer& layer : network_.layers) {
      absl::StatusOr<integer::LayerKernel> kernel = integer::LayerKernel::Create(layer, network_);
      QB_RETURN_IF_ERROR(kernel.status());
      kernels_.push_back(*std::move(kernel));
    }
    return absl::OkStatus();
  }

  const TensorInfo& info(int tensor) const { return network_.tensors[static_cast<size_t>(tensor)]; }

  // Runs one layer from and into `values`. Errors: ARGUMENT_ERROR when an operand is not there,
  // because the model computes it later than the network does.
  absl::Status RunLayer(size_t index, std::vector<std::optional<Tensor>>& values,
                        integer::Scratch& scratch) const {
    const integer::Layer& layer = network_.layers[index];
    std::vector<const void*> inputs;
    for (const int input : layer.inputs) {
      const uint8_t* constant = constants_[static_cast<size_t>(input)];
      const std::optional<Tensor>& value = values[static_cast<size_t>(input)];
      if (constant == nullptr && !value.has_value()) {
        return Failure(FailureCode::kArgumentError,
                       absl::StrCat("layer '", layer.name, "' reads '", info(input).name,
                                    "', which comes later in the model; the executable was made "
                                    "from another one"));
      }
      inputs.push_back(constant != nullptr ? constant : value->raw());
    }
    const TensorInfo& y = info(layer.output);
    std::optional<Tensor>& output = values[static_cast<size_t>(layer.output)];
    output = Tensor::Allocate({y.dtype, y.shape});
    kernels_[index].Run(inputs, output->mutable_raw(), scratch);
    return absl::OkStatus();
  }

  absl::Status RunEntire(const std::vector<Tensor>& inputs, Sample& sample) const {
    if (inputs.size() != network_.inputs.size()) {
      return absl::InvalidArgumentError(absl::StrCat("got ", inputs.size(), " inputs, the network ",
                                                     "takes ", network_.inputs.size()));
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      const TensorInfo& x = info(network_.inputs[i]);
      if (inputs[i].elements() != x.shape.elements() || inputs[i].dtype() != DType::kFloat32) {
        return Failure(FailureCode::kArgumentError,
                       absl::StrCat("input '", x.name, "' is ", inputs[i].type().ToString(),
                                    "; float32 of ", x.shape.elements(), " elements is accepted"));
      }
      Tensor& value = sample.entire[static_cast<size_t>(network_.inputs[i])].emplace(inputs[i]);
      if (x.dtype == DType::kUint8) {
        QB_ASSIGN_OR_RETURN(const Uint8Input meaning, BytesOfInput(x, bytes_));
        value = BytesOf(Reshaped(inputs[i], x.shape), meaning);
      } else if (HoldsCodes(x)) {
        value = QuantizeTensor(inputs[i], x);
      }
    }
    for (size_t layer = 0; layer < network_.layers.size(); ++layer) {
      QB_RETURN_IF_ERROR(RunLayer(layer, sample.entire, sample.scratch));
    }
    return absl::OkStatus();
  }

  // The float value of a step has come: its layers on float operands, compared with it.
  void Judge(size_t index, const Tensor& view, Sample& sample) const {
    if (!sample.failure.ok()) {
      return;
    }
    const Step& step = steps()[index];
    const size_t tensor = static_cast<size_t>(step.tensor);
    const TensorInfo& y = info(step.tensor);
    const Tensor real = Reshaped(view, y.shape);
    StepSums& sums = sample.sums[index];
    sums.elements = real.elements();
    sums.saturated = CountSaturated(real, y);
    sums.entire = CompareOutputs(real, DequantizeTensor(*sample.entire[tensor], y));
    sample.entire[tensor].reset();
    const Tensor codes = QuantizeTensor(real, y);
    const bool from_codes = std::all_of(step.layers.begin(), step.layers.end(), [&](size_t layer) {
      return !std::holds_alternative<integer::QuantizeParams>(network_.layers[layer].params);
    });
    if (from_codes && !step.layers.empty()) {
      for (const size_t layer : step.layers) {
        sample.failure.Update(RunLayer(layer, sample.codes, sample.scratch));
        if (!sample.failure.ok()) {
          return;
        }
      }
      sums.single = CompareOutputs(real, DequantizeTensor(*sample.codes[tensor], y));
    } else {
      sums.single = CompareOutputs(real, DequantizeTensor(codes, y));  // a model input
    }
    sample.codes[tensor] = codes;
  }

  const Network& network_;
  const StepPlan plan_;
  std::vector<Uint8Input> bytes_;
  std::vector<const uint8_t*> constants_;  // by tensor; null: no constant
  absl::flat_hash_map<const Node*, std::vector<size_t>> by_node_;
  std::unique_ptr<FloatExecutor> executor_;
  std::vector<integer::LayerKernel> kernels_;  // by layer
};

double CosineOf(const OutputSums& sums) {
  const double norm = std::sqrt(sums.signal) * std::sqrt(sums.other);
  return norm > 0 ? sums.product / norm : (sums.noise > 0 ? 0.0 : 1.0);
}

std::vector<LayerMetrics> Summarize(const LayerJudge& judge, const Network& network,
                                    const std::vector<std::vector<StepSums>>& samples) {
  std::vector<std::pair<size_t, LayerMetrics>> rows;  // with the position of the step's last layer
  for (size_t i = 0; i < judge.steps().size(); ++i) {
    const Step& step = judge.steps()[i];
    StepSums total;
    for (const std::vector<StepSums>& sample : samples) {
      total.Add(sample[i]);
    }
    LayerMetrics row;
    row.name = step.node->name();
    row.op = std::string(OpDefOf(step.node->op()).name);
    row.activation_bits =
        network.tensors[static_cast<size_t>(step.tensor)].dtype == DType::kInt16 ? 16 : 8;
    row.sqnr_db = SqnrDb(total.single.signal, total.single.noise);
    row.cosine = CosineOf(total.single);
    row.entire_sqnr_db = SqnrDb(total.entire.signal, total.entire.noise);
    row.entire_cosine = CosineOf(total.entire);
    row.saturation_share = total.elements == 0 ? 0.0
                                               : static_cast<double>(total.saturated) /
                                                     static_cast<double>(total.elements);
    rows.emplace_back(step.layers.empty() ? 0 : step.layers.back() + 1, std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<LayerMetrics> metrics;
  for (auto& [position, row] : rows) {
    metrics.push_back(std::move(row));
  }
  return metrics;
}

}  // namespace

Json LayerMetrics::ToJson() const {
  return Json::Object()
      .Set("name", name)
      .Set("op", op)
      .Set("activation_bits", activation_bits)
      .Set("sqnr_db", sqnr_db)
      .Set("cosine", cosine)
      .Set("entire_sqnr_db", entire_sqnr_db)
      .Set("entire_cosine", entire_cosine)
      .Set("saturation_share", saturation_share);
}

absl::StatusOr<std::vector<LayerMetrics>> EvaluateLayers(const Graph& graph, const Network& network,
                                                         const Dataset& dataset,
                                                         const LayerEvaluationOptions& options,
                                                         ProgressSink& sink,
                                                         const CancelToken& cancel) {
  QB_ASSIGN_OR_RETURN(const std::unique_ptr<LayerJudge> judge,
                      LayerJudge::Create(graph, network, options.bytes));
  const int64_t count =
      options.max_samples > 0 ? std::min(options.max_samples, dataset.size()) : dataset.size();
  std::vector<std::vector<StepSums>> samples(static_cast<size_t>(count));
  std::vector<absl::Status> statuses(static_cast<size_t>(count), absl::OkStatus());
  const int threads =
      static_cast<int>(std::clamp<int64_t>(options.threads, 1, std::max<int64_t>(count, 1)));
  std::vector<std::unique_ptr<FloatExecutor::Context>> contexts(static_cast<size_t>(threads));
  std::atomic<bool> failed{false};
  std::atomic<int64_t> done{0};
  ThreadPool pool(threads);
  pool.ParallelFor(count, [&](int64_t index, int worker) {
    if (failed.load() || cancel.cancelled()) {
      return;
    }
    std::unique_ptr<FloatExecutor::Context>& context = contexts[static_cast<size_t>(worker)];
    if (context == nullptr) {
      context = judge->NewContext();
    }
    const auto run = [&]() -> absl::Status {
      QB_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs, dataset.Load(index));
      QB_ASSIGN_OR_RETURN(samples[static_cast<size_t>(index)], judge->RunSample(*context, inputs));
      return absl::OkStatus();
    };
    absl::Status& status = statuses[static_cast<size_t>(index)];
    status = run();
    failed.store(failed.load() || !status.ok());
    sink.OnProgress(done.fetch_add(1) + 1, count, "sample");
  });
  QB_RETURN_IF_ERROR(cancel.Check());
  for (const absl::Status& status : statuses) {
    QB_RETURN_IF_ERROR(status);
  }
  return Summarize(*judge, network, samples);
}

}  // namespace qb
