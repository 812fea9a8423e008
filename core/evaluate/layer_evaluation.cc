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
#include "core/evaluate/layer_sums.h"
#include "core/evaluate/metrics.h"
#include "core/evaluate/step_plan.h"
#include "core/execute/executor.h"
#include "core/integer/requant.h"
#include "core/integer/run_layer.h"
#include "core/ops/op_def.h"

namespace qb {
namespace {

using integer::Network;
using integer::TensorInfo;

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
                                                            const LayerEvaluationOptions& options) {
    QB_ASSIGN_OR_RETURN(StepPlan plan, StepPlan::Create(graph, network));
    std::unique_ptr<LayerJudge> judge(new LayerJudge(network, std::move(plan)));
    judge->bytes_ = options.bytes;
    judge->folded_ = options.folded;
    QB_RETURN_IF_ERROR(judge->Prepare(graph));
    return judge;
  }

  const std::vector<Step>& steps() const { return plan_.steps(); }
  std::unique_ptr<FloatExecutor::Context> NewContext() const { return executor_->NewContext(); }

  absl::StatusOr<std::vector<LayerSums>> RunSample(FloatExecutor::Context& context,
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
    std::vector<Tensor> finished = inputs;
    if (folded_ != nullptr) {
      QB_ASSIGN_OR_RETURN(finished, folded_->Finish(std::move(finished)));
    }
    std::vector<Tensor> outputs;
    QB_RETURN_IF_ERROR(executor_->Run(context, finished, run, &outputs));
    QB_RETURN_IF_ERROR(sample.failure);
    return std::move(sample.sums);
  }

 private:
  struct Sample {
    Sample(const Network& network, size_t steps)
        : entire(network.tensors.size()), codes(network.tensors.size()), sums(steps) {}
    std::vector<std::optional<Tensor>> entire;  // by tensor: as the whole network computes it
    std::vector<std::optional<Tensor>> codes;   // by tensor: of the float values
    std::vector<LayerSums> sums;                // by step
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
      const bool as_bytes = folded_ != nullptr && folded_->ChannelAxis(x.name).has_value();
      const DType taken = as_bytes ? DType::kUint8 : DType::kFloat32;
      if (inputs[i].elements() != x.shape.elements() || inputs[i].dtype() != taken) {
        return Failure(
            FailureCode::kArgumentError,
            absl::StrCat("input '", x.name, "' is ", inputs[i].type().ToString(), "; ",
                         DTypeName(taken), " of ", x.shape.elements(), " elements is accepted"));
      }
      Tensor& value = sample.entire[static_cast<size_t>(network_.inputs[i])].emplace(inputs[i]);
      if (x.dtype == DType::kUint8 && !as_bytes) {
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
    LayerSums& sums = sample.sums[index];
    CountValues(real, y, sums);
    const Tensor executable = DequantizeTensor(*sample.entire[tensor], y);
    sums.entire = CompareOutputs(real, executable);
    CountErrors(real, executable, sums);
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
      sums.single = sums.rounding;  // a model input
    }
    sample.codes[tensor] = codes;
  }

  const Network& network_;
  const StepPlan plan_;
  std::vector<Uint8Input> bytes_;
  const FoldedInputs* folded_ = nullptr;
  std::vector<const uint8_t*> constants_;  // by tensor; null: no constant
  absl::flat_hash_map<const Node*, std::vector<size_t>> by_node_;
  std::unique_ptr<FloatExecutor> executor_;
  std::vector<integer::LayerKernel> kernels_;  // by layer
};

double CosineOf(const OutputSums& sums) {
  const double norm = std::sqrt(sums.signal) * std::sqrt(sums.other);
  return norm > 0 ? sums.product / norm : (sums.noise > 0 ? 0.0 : 1.0);
}

LayerMetrics MetricsOf(const Step& step, const TensorInfo& info, const LayerSums& total) {
  LayerMetrics row;
  row.name = step.node->name();
  row.op = std::string(OpDefOf(step.node->op()).name);
  row.activation_bits = info.dtype == DType::kInt16 ? 16 : 8;
  row.sqnr_db = SqnrDb(total.single.signal, total.single.noise);
  row.cosine = CosineOf(total.single);
  row.entire_sqnr_db = SqnrDb(total.entire.signal, total.entire.noise);
  row.entire_cosine = CosineOf(total.entire);
  row.rounding_db = SqnrDb(total.rounding.signal, total.rounding.noise);
  row.saturation_share = total.elements == 0 ? 0.0
                                             : static_cast<double>(total.saturated) /
                                                   static_cast<double>(total.elements);
  row.clipping_share = total.rounding.noise > 0 ? total.clipped / total.rounding.noise : 0.0;
  row.bias_share = total.BiasShare();
  if (info.dtype == DType::kInt8) {
    row.dead_code_share = total.DeadCodeShare(info);
    row.effective_bits = total.EffectiveBits();
  }
  row.code_range = CodeRangeOf(info);
  row.histogram_range = HistogramRangeOf(info);
  row.histogram = total.bins;
  return row;
}

std::vector<LayerMetrics> Summarize(const LayerJudge& judge, const Network& network,
                                    const std::vector<LayerSums>& totals) {
  std::vector<std::pair<size_t, LayerMetrics>> rows;  // with the position of the step's last layer
  for (size_t i = 0; i < judge.steps().size(); ++i) {
    const Step& step = judge.steps()[i];
    rows.emplace_back(
        step.layers.empty() ? 0 : step.layers.back() + 1,
        MetricsOf(step, network.tensors[static_cast<size_t>(step.tensor)], totals[i]));
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<LayerMetrics> metrics;
  metrics.reserve(rows.size());
  for (auto& [position, row] : rows) {
    metrics.push_back(std::move(row));
  }
  return metrics;
}

Json Pair(const HistogramRange& range) {
  return Json::Array().Append(Json(range.low)).Append(Json(range.high));
}

}  // namespace

Json LayerMetrics::ToJson() const {
  Json counts = Json::Array();
  for (const int64_t count : histogram) {
    counts.Append(Json(count));
  }
  return Json::Object()
      .Set("name", name)
      .Set("op", op)
      .Set("activation_bits", activation_bits)
      .Set("weight_bits", weight_bits > 0 ? Json(weight_bits) : Json())
      .Set("only_8_bits", only_8_bits)
      .Set("sqnr_db", sqnr_db)
      .Set("cosine", cosine)
      .Set("entire_sqnr_db", entire_sqnr_db)
      .Set("entire_cosine", entire_cosine)
      .Set("rounding_db", rounding_db)
      .Set("saturation_share", saturation_share)
      .Set("clipping_share", clipping_share)
      .Set("dead_code_share", dead_code_share.has_value() ? Json(*dead_code_share) : Json())
      .Set("effective_bits", effective_bits.has_value() ? Json(*effective_bits) : Json())
      .Set("bias_share", bias_share)
      .Set("code_range", Pair(code_range))
      .Set("histogram",
           Json::Object().Set("range", Pair(histogram_range)).Set("counts", std::move(counts)));
}

absl::StatusOr<std::vector<LayerMetrics>> EvaluateLayers(const LayerPair& models,
                                                         const Dataset& dataset,
                                                         const LayerEvaluationOptions& options,
                                                         ProgressSink& sink,
                                                         const CancelToken& cancel) {
  QB_ASSIGN_OR_RETURN(const std::unique_ptr<LayerJudge> judge,
                      LayerJudge::Create(models.graph, models.network, options));
  const int64_t count =
      options.max_samples > 0 ? std::min(options.max_samples, dataset.size()) : dataset.size();
  OrderedLayerSums totals(judge->steps().size());
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
      QB_ASSIGN_OR_RETURN(std::vector<LayerSums> sums, judge->RunSample(*context, inputs));
      totals.Add(index, std::move(sums));
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
  return Summarize(*judge, models.network, totals.Take());
}

}  // namespace qb
