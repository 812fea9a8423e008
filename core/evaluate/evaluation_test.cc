#include "core/evaluate/evaluation.h"

#include "core/base/failure.h"
#include "core/base/testing/status_matchers.h"

namespace qb {
namespace {

using ::testing::HasSubstr;

// Class scores that depend on the sample; `flip` exchanges the two best classes of odd samples.
class FakeModel final : public ModelUnderTest {
 public:
  explicit FakeModel(bool flip) : flip_(flip) {}
  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> inputs, int) const override {
    const float x = inputs[0].values<float>()[0];
    const bool odd = static_cast<int>(x) % 2 == 1;
    std::vector<float> scores = {1, 2, 3, 0, 0, 0};
    if (flip_ && odd) {
      std::swap(scores[1], scores[2]);
    }
    return std::vector<Tensor>{Tensor::OfFloats({1, 6}, scores)};
  }

 private:
  bool flip_;
};

class CountingDataset final : public Dataset {
 public:
  explicit CountingDataset(int64_t size) {
    for (int64_t i = 0; i < size; ++i) {
      names_.push_back(absl::StrCat("s", i));
    }
  }
  int64_t size() const override { return static_cast<int64_t>(names_.size()); }
  const std::string& name(int64_t index) const override {
    return names_[static_cast<size_t>(index)];
  }
  absl::StatusOr<std::vector<Tensor>> Load(int64_t index) const override {
    return std::vector<Tensor>{Tensor::OfFloats({1}, {static_cast<float>(index)})};
  }

 private:
  std::vector<std::string> names_;
};

TEST(Evaluate, CountsAgreementAndTopK) {
  Labels labels;
  for (int i = 0; i < 10; ++i) {
    labels[absl::StrCat("s", i)] = "2";
  }
  EvaluationOptions options;
  options.output_names = {"scores"};
  options.labels = &labels;
  NullProgressSink sink;
  CancelToken cancel;
  std::string previous;
  for (const int threads : {1, 3}) {
    options.threads = threads;
    QB_ASSERT_OK_AND_ASSIGN(
        const Evaluation result,
        Evaluate({FakeModel(false), FakeModel(true)}, CountingDataset(10), options, sink, cancel));
    EXPECT_EQ(result.samples, 10);
    EXPECT_DOUBLE_EQ(*result.outputs[0].agreement, 0.5);
    EXPECT_DOUBLE_EQ(result.accuracy->float_top1, 1.0);
    EXPECT_DOUBLE_EQ(result.accuracy->quantized_top1, 0.5);
    EXPECT_DOUBLE_EQ(result.accuracy->quantized_top5, 1.0);
    const std::string json = result.ToJson().Dump();
    EXPECT_TRUE(previous.empty() || previous == json);
    previous = json;
  }
}

// Two boxes a sample, of which the second moves when it is quantized; and what NMS selected.
class FakeDetector final : public ModelUnderTest {
 public:
  explicit FakeDetector(float shift) : shift_(shift) {}
  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor>, int) const override {
    const std::vector<int64_t> selected = {0, 0, 0};
    return std::vector<Tensor>{
        Tensor::Of<int64_t>(DType::kInt64, {1, 3}, selected),
        Tensor::Of<float>(
            DType::kFloat32, {1, 3, 4},
            std::vector<float>{0, 0, 10, 10, 50 + shift_, 50, 60 + shift_, 60, 0, 0, 1, 1}),
        Tensor::Of<float>(DType::kFloat32, {1, 3, 1}, std::vector<float>{0.9f, 0.8f, 0.1f})};
  }

 private:
  float shift_;
};

TEST(Evaluate, CountsBoxesThatAreFoundAgain) {
  EvaluationOptions options;
  options.output_names = {"selected", "boxes", "scores"};
  options.count_boxes = true;
  NullProgressSink sink;
  for (const auto& [shift, found] : {std::pair{1.0f, 6}, std::pair{8.0f, 3}}) {
    QB_ASSERT_OK_AND_ASSIGN(const Evaluation result,
                            Evaluate({FakeDetector(0), FakeDetector(shift)}, CountingDataset(3),
                                     options, sink, CancelToken()));
    EXPECT_EQ(result.box_recall->boxes, 6);
    EXPECT_EQ(result.box_recall->found, found);
    EXPECT_EQ(result.ToJson()["boxes"]["recall"].as_double(), found / 6.0);
  }
  EXPECT_EQ(
      FailureCodeOf(Evaluate({FakeModel(false), FakeModel(true)}, CountingDataset(1),
                             {.output_names = {"scores"}, .count_boxes = true}, sink, CancelToken())
                        .status()),
      FailureCode::kArgumentError);
}

TEST(Evaluate, TakesClassNamesAndText) {
  const Labels labels = {{"s0", "dog"}, {"s1", "dog"}};
  EvaluationOptions options;
  options.output_names = {"scores"};
  options.labels = &labels;
  options.classes = {"bird", "cat", "dog", "fox", "owl", "rat"};
  NullProgressSink sink;
  QB_ASSERT_OK_AND_ASSIGN(const Evaluation result,
                          Evaluate({FakeModel(false), FakeModel(true)}, CountingDataset(2), options,
                                   sink, CancelToken()));
  EXPECT_DOUBLE_EQ(result.accuracy->float_top1, 1.0);
  EXPECT_DOUBLE_EQ(result.accuracy->quantized_top1, 0.5);
  // As one step of a recognizer: class 2 is the second character.
  options.label_metric = LabelMetric::kCtc;
  options.classes = {"a", "dog", "c", "d", "e"};
  QB_ASSERT_OK_AND_ASSIGN(const Evaluation text,
                          Evaluate({FakeModel(false), FakeModel(true)}, CountingDataset(2), options,
                                   sink, CancelToken()));
  EXPECT_DOUBLE_EQ(*text.accuracy->float_sequence, 1.0);
  EXPECT_DOUBLE_EQ(*text.accuracy->quantized_sequence, 0.5);
  EXPECT_TRUE(text.ToJson()["float_top1"].is_null());
  EXPECT_DOUBLE_EQ(text.ToJson()["quantized_sequence_accuracy"].as_double(), 0.5);
}

TEST(Evaluate, BadLabelsAreNamed) {
  EvaluationOptions options;
  options.output_names = {"scores"};
  NullProgressSink sink;
  CancelToken cancel;
  for (const auto& [labels, message] :
       std::vector<std::pair<Labels, std::string>>{{{{"s1", "6"}}, "no class index in [0, 6)"},
                                                   {{{"s1", "cat"}}, "'cat' is no class index"},
                                                   {{{"other", "1"}}, "no sample has a label"}}) {
    options.labels = &labels;
    const auto result =
        Evaluate({FakeModel(false), FakeModel(false)}, CountingDataset(3), options, sink, cancel);
    EXPECT_EQ(FailureCodeOf(result.status()), FailureCode::kArgumentError);
    EXPECT_THAT(std::string(result.status().message()), HasSubstr(message));
  }
}

TEST(Evaluate, StopsWhenCancelled) {
  EvaluationOptions options;
  options.output_names = {"scores"};
  NullProgressSink sink;
  CancelToken cancel;
  cancel.Cancel();
  EXPECT_EQ(
      Evaluate({FakeModel(false), FakeModel(false)}, CountingDataset(3), options, sink, cancel)
          .status()
          .code(),
      absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace qb
