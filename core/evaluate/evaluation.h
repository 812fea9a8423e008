// Float model against quantized executable on a set of samples.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/cancel_token.h"
#include "core/base/json.h"
#include "core/base/progress.h"
#include "core/dataset/dataset.h"
#include "core/dataset/labels.h"
#include "core/evaluate/metrics.h"

namespace qb {

// One model that can be run: the float executor or the simulator. Run is called from several
// threads at once, with `worker` in [0, threads).
class ModelUnderTest {
 public:
  virtual ~ModelUnderTest() = default;
  virtual absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> inputs,
                                                  int worker) const = 0;
  // How many samples the model takes at once.
  virtual int64_t batch() const { return 1; }
  // The outputs of 1 to batch() samples, by sample; Run of each by default.
  virtual absl::StatusOr<std::vector<std::vector<Tensor>>> RunBatch(
      absl::Span<const std::vector<Tensor>> samples, int worker) const;
};

// What a label says about the first output.
enum class LabelMetric {
  kTopK,  // a class index, or one of the class names: top-1 and top-5
  kCtc,   // the text that the steps of a CTC recognizer spell: share of samples read without error
};

// Boxes of the float model with a score of more than 0.3, and how many of them the candidate finds
// again (boxes.h) among its own of 0.25 and more. A detector needs no labels for that.
struct BoxRecall {
  int64_t boxes = 0, found = 0;
};

struct EvaluationOptions {
  int threads = 1;
  int64_t max_samples = 0;  // 0: all
  std::vector<std::string> output_names;
  const Labels* labels = nullptr;  // null: unlabelled
  bool count_boxes = false;        // the outputs are a detector's
  LabelMetric label_metric = LabelMetric::kTopK;
  // Names of the classes from 0 up, or empty; of kCtc the characters of the classes from 1 up.
  std::vector<std::string> classes;
};

struct Accuracy {
  int64_t labelled = 0;
  double float_top1 = 0, float_top5 = 0, quantized_top1 = 0, quantized_top5 = 0;  // 0..1
  // Of kCtc, instead of those.
  std::optional<double> float_sequence, quantized_sequence;
};

struct Evaluation {
  int64_t samples = 0;
  std::vector<OutputMetrics> outputs;
  // Mean over samples and outputs of each one's dB: comparable with tools that average dB.
  double sqnr_db_mean_all_outputs = 0;
  std::optional<Accuracy> accuracy;  // of the first output
  std::optional<BoxRecall> box_recall;

  Json ToJson() const;
};

// Two models with the same inputs and outputs; valid during a call.
struct ModelPair {
  const ModelUnderTest& reference;
  const ModelUnderTest& candidate;
};

// Samples are spread over threads; sums are merged in sample order, so the result does not depend
// on the number of threads. Errors: CALIBRATION_DATA_ERROR of a sample; ARGUMENT_ERROR for a label
// that is no class index, when no sample has a label, or for outputs without boxes; CANCELLED;
// those of the models.
absl::StatusOr<Evaluation> Evaluate(const ModelPair& models, const Dataset& dataset,
                                    const EvaluationOptions& options, ProgressSink& sink,
                                    const CancelToken& cancel);

}  // namespace qb
