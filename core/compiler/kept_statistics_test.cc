#include "core/compiler/kept_statistics.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "absl/strings/match.h"

#include "core/base/atomic_file.h"
#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"
#include "core/compiler/compile.h"

namespace qb {
namespace {

using ::testing::HasSubstr;

constexpr char kModel[] = "examples/fashion/fashion.onnx";
constexpr char kCalibration[] = "examples/fashion/calib";

// Counts what a compile computes.
class Counter final : public ProgressSink {
 public:
  void OnStage(absl::string_view stage) override { stage_ = std::string(stage); }
  void OnProgress(int64_t done, int64_t, absl::string_view) override { steps_[stage_] = done; }
  void OnLog(LogLevel, absl::string_view, absl::string_view) override {}
  int64_t steps(const std::string& stage) const {
    const auto found = steps_.find(stage);
    return found == steps_.end() ? 0 : found->second;
  }

 private:
  std::string stage_;
  std::map<std::string, int64_t> steps_;
};

class KeptStatisticsTest : public ::testing::Test {
 protected:
  CompileRequest Request(const std::string& output) {
    CompileRequest request;
    request.parse.model_path = kModel;
    request.parse.target = "aries-rb";
    request.quantize.output_path = dir_.File(output);
    request.quantize.target = "aries-rb";
    request.quantize.calibration_paths = {kCalibration};
    request.quantize.threads = 2;
    return request;
  }
  absl::Status Run(const CompileRequest& request, const std::string& config_text,
                   Counter* counter = nullptr) {
    ConfigSources sources;
    sources.file_text = config_text;
    sources.file_name = "test";
    QB_ASSIGN_OR_RETURN(const CompileConfig config, CompileConfig::Resolve(sources));
    Counter own;
    return Compile(request, config, counter == nullptr ? own : *counter, CancelToken()).status();
  }
  absl::Status RunFresh(const std::string& output, const std::string& config) {
    return Run(Request(output), config);
  }
  absl::Status RunSaving(const std::string& output, const std::string& config) {
    CompileRequest request = Request(output);
    request.quantize.statistics_save_path = dir_.File("stats");
    return Run(request, config);
  }
  absl::Status RunLoading(const std::string& output, const std::string& config,
                          Counter* counter = nullptr) {
    CompileRequest request = Request(output);
    request.quantize.statistics_load_path = dir_.File("stats");
    return Run(request, config, counter);
  }
  bool Equal(const std::string& a, const std::string& b) {
    return *ReadFile(dir_.File(a)) == *ReadFile(dir_.File(b));
  }

  testing::TempDir dir_;
};

TEST_F(KeptStatisticsTest, ReuseGivesTheSameBytesWithoutAPassOverTheSamples) {
  QB_ASSERT_OK(RunFresh("fresh.mxq", ""));
  QB_ASSERT_OK(RunSaving("saving.mxq", ""));
  Counter counter;
  QB_ASSERT_OK(RunLoading("loading.mxq", "", &counter));
  EXPECT_TRUE(Equal("fresh.mxq", "saving.mxq"));
  EXPECT_TRUE(Equal("fresh.mxq", "loading.mxq"));
  EXPECT_EQ(counter.steps("calibrate"), 0);
  EXPECT_EQ(counter.steps("correct"), 0);
}

TEST_F(KeptStatisticsTest, OtherBitsAndSchemesReuseThemToo) {
  QB_ASSERT_OK(RunSaving("saving.mxq", ""));
  const std::string config =
      "inferenceScheme: global4\nbit: {layerOverrides: {weight4Bits: ['*']}}\n";
  QB_ASSERT_OK(RunFresh("fresh.mxq", config));
  Counter counter;
  QB_ASSERT_OK(RunLoading("loading.mxq", config, &counter));
  EXPECT_TRUE(Equal("fresh.mxq", "loading.mxq"));
  EXPECT_EQ(counter.steps("calibrate"), 0);
  EXPECT_GT(counter.steps("correct"), 0);  // another network, another correction

  // A file that is loaded and saved again has both corrections.
  CompileRequest both = Request("both.mxq");
  both.quantize.statistics_load_path = both.quantize.statistics_save_path = dir_.File("stats");
  QB_ASSERT_OK(Run(both, config));
  for (const std::string& each : {config, std::string()}) {
    Counter again;
    QB_ASSERT_OK(RunLoading("again.mxq", each, &again));
    EXPECT_EQ(again.steps("correct"), 0);
  }
  EXPECT_TRUE(Equal("saving.mxq", "again.mxq"));
}

TEST_F(KeptStatisticsTest, OfOtherSamplesOrSettingsTheyAreRefused) {
  QB_ASSERT_OK(RunSaving("saving.mxq", ""));
  const absl::Status settings = RunLoading("a.mxq", "calibration: {mode: 0}");
  EXPECT_EQ(FailureCodeOf(settings), FailureCode::kArgumentError);
  EXPECT_THAT(std::string(settings.message()), HasSubstr("this compile asks for mode 0"));

  CompileRequest fewer = Request("b.mxq");
  fewer.quantize.statistics_load_path = dir_.File("stats");
  std::string listing;
  for (const auto& entry : std::filesystem::directory_iterator(kCalibration)) {
    if (listing.size() < 1000) {
      listing += std::filesystem::absolute(entry.path()).string() + "\n";
    }
  }
  QB_ASSERT_OK(WriteFileAtomically(dir_.File("few.txt"), listing));
  fewer.quantize.calibration_paths = {dir_.File("few.txt")};
  EXPECT_THAT(std::string(Run(fewer, "").message()),
              HasSubstr("they were measured on other samples"));
  EXPECT_FALSE(std::filesystem::exists(dir_.File("b.mxq")));
}

TEST_F(KeptStatisticsTest, OfAnotherModelTheyAreRefused) {
  QB_ASSERT_OK(RunSaving("saving.mxq", ""));
  QB_ASSERT_OK_AND_ASSIGN(std::string text, ReadFile(dir_.File("stats")));
  QB_ASSERT_OK_AND_ASSIGN(std::vector<KeptStatistics> sets, StatisticsFromText(text));
  sets[0].model[0] = sets[0].model[0] == '0' ? '1' : '0';
  QB_ASSERT_OK(WriteFileAtomically(dir_.File("stats"), StatisticsToText(sets)));
  EXPECT_THAT(std::string(RunLoading("a.mxq", "").message()),
              HasSubstr("they were measured on another model"));
  EXPECT_THAT(std::string(StatisticsFiles::Open(dir_.File("no/such"), "").status().message()),
              HasSubstr("--calib-stats-load"));
}

TEST_F(KeptStatisticsTest, BiasesThatDoNotFitAreRefused) {
  QB_ASSERT_OK(RunSaving("saving.mxq", ""));
  QB_ASSERT_OK_AND_ASSIGN(std::string text, ReadFile(dir_.File("stats")));
  QB_ASSERT_OK_AND_ASSIGN(std::vector<KeptStatistics> sets, StatisticsFromText(text));
  KeptCorrection::Layer& layer = sets[0].corrections.at(0).layers.at(0);
  layer.biases[0] = (int64_t{1} << 31) - 1;  // the accumulator could leave int32
  QB_ASSERT_OK(WriteFileAtomically(dir_.File("stats"), StatisticsToText(sets)));
  EXPECT_EQ(FailureCodeOf(RunLoading("a.mxq", "")), FailureCode::kArgumentError);
  layer.biases.push_back(0);
  QB_ASSERT_OK(WriteFileAtomically(dir_.File("stats"), StatisticsToText(sets)));
  EXPECT_THAT(std::string(RunLoading("a.mxq", "").message()), HasSubstr("do not fit the layer"));
}

}  // namespace
}  // namespace qb
