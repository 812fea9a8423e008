#include "core/evaluate/evaluation.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"

#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/base/thread_pool.h"
#include "core/evaluate/boxes.h"
#include "core/evaluate/ctc.h"

namespace qb {
namespace {

struct SampleResult {
  std::vector<OutputSums> outputs;
  std::vector<bool> compared;  // by output
  BoxRecall boxes;
  bool labelled = false;
  bool float_sequence = false, quantized_sequence = false;
  bool float_top1 = false, float_top5 = false, quantized_top1 = false, quantized_top5 = false;
};

absl::Status CheckComparable(const Tensor& a, const Tensor& b, const std::string& name) {
  if (a.type() != b.type() || a.dtype() != DType::kFloat32) {
    return Failure(
        FailureCode::kArgumentError,
        absl::StrCat("output '", name, "': the models give ", a.type().ToString(), " and ",
                     b.type().ToString(), "; only equal float32 types can be compared"));
  }
  return absl::OkStatus();
}

// The class that a label names, by number or by name.
absl::StatusOr<int64_t> ClassOf(const std::string& label, const std::string& sample,
                                int64_t classes, const std::vector<std::string>& names) {
  int64_t index = 0;
  const auto named = std::find(names.begin(), names.end(), label);
  if (named != names.end()) {
    index = named - names.begin();
  } else if (!absl::SimpleAtoi(label, &index)) {
    index = -1;
  }
  if (index < 0 || index >= classes) {
    return Failure(
        FailureCode::kArgumentError,
        absl::StrCat("label of sample '", sample, "': '", label, "' is no class index in [0, ",
                     classes, ")", names.empty() ? "" : " and no class name"));
  }
  return index;
}

absl::Status JudgeText(const Tensor& reference, const Tensor& candidate, const std::string& label,
                       const EvaluationOptions& options, SampleResult& result) {
  const Shape& shape = reference.shape();
  const int64_t classes = shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
  QB_ASSIGN_OR_RETURN(const std::vector<std::string> alphabet,
                      CtcAlphabet(options.classes, classes));
  result.labelled = true;
  const absl::string_view text = absl::StripAsciiWhitespace(label);
  result.float_sequence = DecodeCtc(reference, alphabet) == text;
  result.quantized_sequence = DecodeCtc(candidate, alphabet) == text;
  return absl::OkStatus();
}

absl::Status Judge(const Tensor& reference, const Tensor& candidate, const std::string& sample,
                   const EvaluationOptions& options, SampleResult& result) {
  const auto found = options.labels->find(sample);
  if (found == options.labels->end()) {
    return absl::OkStatus();
  }
  if (options.label_metric == LabelMetric::kCtc) {
    return JudgeText(reference, candidate, found->second, options, result);
  }
  QB_ASSIGN_OR_RETURN(const int64_t label,
                      ClassOf(found->second, sample, reference.elements(), options.classes));
  result.labelled = true;
  const absl::Span<const float> y = reference.values<float>();
  const absl::Span<const float> q = candidate.values<float>();
  result.float_top1 = InTopK(y, label, 1);
  result.float_top5 = InTopK(y, label, 5);
  result.quantized_top1 = InTopK(q, label, 1);
  result.quantized_top5 = InTopK(q, label, 5);
  return absl::OkStatus();
}

// Selected indices and the like are no boxes.
std::vector<Tensor> FloatsOf(const std::vector<Tensor>& outputs) {
  std::vector<Tensor> floats;
  for (const Tensor& output : outputs) {
    if (output.dtype() == DType::kFloat32) {
      floats.push_back(output);
    }
  }
  return floats;
}

absl::Status CountBoxes(const std::vector<Tensor>& reference, const std::vector<Tensor>& candidate,
                        BoxRecall& recall) {
  constexpr double kLeastScore = 0.25, kCountedScore = 0.3;
  const std::vector<Tensor> wanted = FloatsOf(reference), found = FloatsOf(candidate);
  std::vector<Shape> shapes;
  shapes.reserve(wanted.size());
  for (const Tensor& output : wanted) {
    shapes.push_back(output.shape());
  }
  QB_ASSIGN_OR_RETURN(const BoxLayout layout, FindBoxes(shapes));
  std::vector<Box> boxes = ReadBoxes(wanted, layout, kLeastScore);
  const auto weak = [](const Box& box) { return box.score <= kCountedScore; };
  boxes.erase(std::remove_if(boxes.begin(), boxes.end(), weak), boxes.end());
  recall.boxes = static_cast<int64_t>(boxes.size());
  recall.found = CountFound(boxes, ReadBoxes(found, layout, kLeastScore));
  return absl::OkStatus();
}

absl::Status CompareOutput(const Tensor& expected, const Tensor& got, const std::string& name,
                           SampleResult& result) {
  // Indices and the like: what a quantized model selects has no distance to what the float one
  // does.
  const bool numbers = expected.dtype() != got.dtype() || got.dtype() == DType::kFloat32;
  result.compared.push_back(numbers);
  if (!numbers) {
    result.outputs.emplace_back();
    return absl::OkStatus();
  }
  QB_RETURN_IF_ERROR(CheckComparable(expected, got, name));
  result.outputs.push_back(CompareOutputs(expected, got));
  return absl::OkStatus();
}

// What the loop over the samples shares.
struct Loop {
  const ModelUnderTest& reference;
  const ModelUnderTest& candidate;
  const Dataset& dataset;
  const EvaluationOptions& options;

  // Samples [first, end) into `results`.
  absl::Status RunGroup(int64_t first, int64_t end, int worker, SampleResult* results) const {
    std::vector<std::vector<Tensor>> inputs;
    for (int64_t index = first; index < end; ++index) {
      QB_ASSIGN_OR_RETURN(std::vector<Tensor> sample, dataset.Load(index));
      inputs.push_back(std::move(sample));
    }
    QB_ASSIGN_OR_RETURN(const std::vector<std::vector<Tensor>> got,
                        candidate.RunBatch(inputs, worker));
    for (size_t i = 0; i < inputs.size(); ++i) {
      QB_ASSIGN_OR_RETURN(const std::vector<Tensor> expected, reference.Run(inputs[i], worker));
      QB_ASSIGN_OR_RETURN(results[i], Compare(first + static_cast<int64_t>(i), expected, got[i]));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<SampleResult> Compare(int64_t index, const std::vector<Tensor>& expected,
                                       const std::vector<Tensor>& got) const {
    if (expected.size() != got.size() || got.size() != options.output_names.size()) {
      return Failure(FailureCode::kArgumentError,
                     absl::StrCat("the models have ", expected.size(), " and ", got.size(),
                                  " outputs; they must have equally many"));
    }
    SampleResult result;
    for (size_t i = 0; i < got.size(); ++i) {
      QB_RETURN_IF_ERROR(CompareOutput(expected[i], got[i], options.output_names[i], result));
    }
    if (options.count_boxes) {
      QB_RETURN_IF_ERROR(CountBoxes(expected, got, result.boxes));
    }
    if (options.labels != nullptr && !got.empty()) {
      QB_RETURN_IF_ERROR(CheckComparable(expected[0], got[0], options.output_names[0]));
      QB_RETURN_IF_ERROR(Judge(expected[0], got[0], dataset.name(index), options, result));
    }
    return result;
  }
};

OutputMetrics Pool(const std::string& name, const std::vector<SampleResult>& samples,
                   size_t output) {
  OutputSums total;
  for (const SampleResult& sample : samples) {
    const OutputSums& sums = sample.outputs[output];
    total.signal += sums.signal;
    total.noise += sums.noise;
    total.other += sums.other;
    total.product += sums.product;
    total.max_error = std::max(total.max_error, sums.max_error);
    total.max_signal = std::max(total.max_signal, sums.max_signal);
    total.rows += sums.rows;
    total.equal_rows += sums.equal_rows;
  }
  OutputMetrics metrics;
  metrics.name = name;
  metrics.sqnr_db = SqnrDb(total.signal, total.noise);
  const double norm = std::sqrt(total.signal) * std::sqrt(total.other);
  metrics.cosine = norm > 0 ? total.product / norm : (total.noise > 0 ? 0.0 : 1.0);
  metrics.relative_error = total.max_signal > 0 ? total.max_error / total.max_signal : 0.0;
  if (total.rows > 0) {
    metrics.agreement = static_cast<double>(total.equal_rows) / static_cast<double>(total.rows);
  }
  return metrics;
}

double MeanDecibels(const std::vector<SampleResult>& samples) {
  double decibels = 0, values = 0;
  for (const SampleResult& sample : samples) {
    for (size_t i = 0; i < sample.outputs.size(); ++i) {
      if (sample.compared[i]) {
        decibels += SqnrDb(sample.outputs[i].signal, sample.outputs[i].noise);
        values += 1;
      }
    }
  }
  return values > 0 ? decibels / values : 0;
}

absl::StatusOr<Accuracy> AccuracyOf(const std::vector<SampleResult>& samples, LabelMetric metric) {
  const auto count = [&](bool SampleResult::*field) {
    return std::count_if(samples.begin(), samples.end(),
                         [field](const SampleResult& sample) { return sample.*field; });
  };
  Accuracy accuracy;
  accuracy.labelled = count(&SampleResult::labelled);
  if (accuracy.labelled == 0) {
    return Failure(FailureCode::kArgumentError,
                   "no sample has a label: the names in the labels file fit none of the samples");
  }
  const auto share = [&](bool SampleResult::*field) {
    return static_cast<double>(count(field)) / static_cast<double>(accuracy.labelled);
  };
  accuracy.float_top1 = share(&SampleResult::float_top1);
  accuracy.float_top5 = share(&SampleResult::float_top5);
  accuracy.quantized_top1 = share(&SampleResult::quantized_top1);
  accuracy.quantized_top5 = share(&SampleResult::quantized_top5);
  if (metric == LabelMetric::kCtc) {
    accuracy.float_sequence = share(&SampleResult::float_sequence);
    accuracy.quantized_sequence = share(&SampleResult::quantized_sequence);
  }
  return accuracy;
}

absl::StatusOr<Evaluation> Summarize(const std::vector<SampleResult>& samples,
                                     const EvaluationOptions& options) {
  Evaluation evaluation;
  evaluation.samples = static_cast<int64_t>(samples.size());
  for (size_t i = 0; i < options.output_names.size(); ++i) {
    const bool compared =
        std::all_of(samples.begin(), samples.end(),
                    [i](const SampleResult& sample) { return sample.compared[i]; });
    if (compared) {
      evaluation.outputs.push_back(Pool(options.output_names[i], samples, i));
    }
  }
  evaluation.sqnr_db_mean_all_outputs = MeanDecibels(samples);
  if (options.count_boxes) {
    evaluation.box_recall.emplace();
    for (const SampleResult& sample : samples) {
      evaluation.box_recall->boxes += sample.boxes.boxes;
      evaluation.box_recall->found += sample.boxes.found;
    }
  }
  if (options.labels != nullptr) {
    QB_ASSIGN_OR_RETURN(evaluation.accuracy, AccuracyOf(samples, options.label_metric));
  }
  return evaluation;
}

}  // namespace

absl::StatusOr<std::vector<std::vector<Tensor>>> ModelUnderTest::RunBatch(
    absl::Span<const std::vector<Tensor>> samples, int worker) const {
  std::vector<std::vector<Tensor>> outputs;
  for (const std::vector<Tensor>& sample : samples) {
    QB_ASSIGN_OR_RETURN(std::vector<Tensor> output, Run(sample, worker));
    outputs.push_back(std::move(output));
  }
  return outputs;
}

absl::StatusOr<Evaluation> Evaluate(const ModelPair& models, const Dataset& dataset,
                                    const EvaluationOptions& options, ProgressSink& sink,
                                    const CancelToken& cancel) {
  const int64_t count =
      options.max_samples > 0 ? std::min(options.max_samples, dataset.size()) : dataset.size();
  const Loop loop{models.reference, models.candidate, dataset, options};
  std::vector<SampleResult> samples(static_cast<size_t>(count));
  std::vector<absl::Status> statuses(static_cast<size_t>(count), absl::OkStatus());
  std::atomic<bool> failed{false};
  std::atomic<int64_t> done{0};
  ThreadPool pool(std::max(1, options.threads));
  const int64_t batch = models.candidate.batch();
  pool.ParallelFor((count + batch - 1) / batch, [&](int64_t group, int worker) {
    if (failed.load() || cancel.cancelled()) {
      return;
    }
    const int64_t first = group * batch;
    const int64_t end = std::min(count, first + batch);
    absl::Status& status = statuses[static_cast<size_t>(group)];
    status = loop.RunGroup(first, end, worker, samples.data() + first);
    if (!status.ok()) {
      failed.store(true);
      return;
    }
    sink.OnProgress(done.fetch_add(end - first) + end - first, count, "sample");
  });
  QB_RETURN_IF_ERROR(cancel.Check());
  for (const absl::Status& status : statuses) {
    QB_RETURN_IF_ERROR(status);
  }
  return Summarize(samples, options);
}

Json Evaluation::ToJson() const {
  Json json = Json::Object();
  json.Set("samples", samples);
  Json list = Json::Array();
  for (const OutputMetrics& output : outputs) {
    Json item = Json::Object();
    item.Set("name", output.name).Set("sqnr_db", output.sqnr_db).Set("cosine", output.cosine);
    item.Set("relative_error", output.relative_error);
    item.Set("agreement", output.agreement.has_value() ? Json(*output.agreement) : Json());
    list.Append(std::move(item));
  }
  json.Set("outputs", std::move(list));
  json.Set("sqnr_db_mean_all_outputs", sqnr_db_mean_all_outputs);
  json.Set("labelled", accuracy.has_value() ? accuracy->labelled : int64_t{0});
  const bool text = accuracy.has_value() && accuracy->float_sequence.has_value();
  const auto share = [&](double Accuracy::*field) {
    return accuracy.has_value() && !text ? Json((*accuracy).*field) : Json();
  };
  json.Set("float_top1", share(&Accuracy::float_top1));
  json.Set("float_top5", share(&Accuracy::float_top5));
  json.Set("quantized_top1", share(&Accuracy::quantized_top1));
  json.Set("quantized_top5", share(&Accuracy::quantized_top5));
  if (box_recall.has_value()) {
    const double boxes = static_cast<double>(box_recall->boxes);
    json.Set("boxes",
             Json::Object()
                 .Set("float", box_recall->boxes)
                 .Set("found", box_recall->found)
                 .Set("recall", box_recall->boxes == 0
                                    ? Json()
                                    : Json(static_cast<double>(box_recall->found) / boxes)));
  }
  if (text) {
    json.Set("float_sequence_accuracy", *accuracy->float_sequence);
    json.Set("quantized_sequence_accuracy", accuracy->quantized_sequence.value_or(0.0));
  }
  return json;
}

}  // namespace qb
