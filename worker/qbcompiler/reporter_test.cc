#include "worker/qbcompiler/reporter.h"

#include <cstdlib>

#include "absl/strings/str_split.h"

#include "core/base/failure.h"
#include "core/base/testing/status_matchers.h"

namespace qb::worker {
namespace {

using ::testing::HasSubstr;

// What a reporter wrote, through memory files.
class Capture {
 public:
  explicit Capture(bool jsonl, bool bar = false) {
    options.jsonl = jsonl;
    options.progress_bar = bar;
    options.answers = open_memstream(&answers_, &answers_size_);
    options.messages = open_memstream(&messages_, &messages_size_);
    options.now = [this] { return time; };
  }
  ~Capture() {
    std::fclose(options.answers);
    std::fclose(options.messages);
    std::free(answers_);   // NOLINT: open_memstream allocates with malloc
    std::free(messages_);  // NOLINT
  }
  std::string Answers() {
    std::fflush(options.answers);
    return std::string(answers_, answers_size_);
  }
  std::string Messages() {
    std::fflush(options.messages);
    return std::string(messages_, messages_size_);
  }
  std::vector<Json> Lines() {
    std::vector<Json> lines;
    for (const absl::string_view line : absl::StrSplit(Answers(), '\n', absl::SkipEmpty())) {
      absl::StatusOr<Json> json = Json::Parse(line);
      QB_EXPECT_OK(json);
      lines.push_back(*std::move(json));
    }
    return lines;
  }

  absl::Time time = absl::FromUnixSeconds(1000);
  ReporterOptions options;

 private:
  char* answers_ = nullptr;
  size_t answers_size_ = 0;
  char* messages_ = nullptr;
  size_t messages_size_ = 0;
};

TEST(Reporter, LogLinesCarryTheTraceTheRunBelongsTo) {
  Capture capture(true);
  capture.options.traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  Reporter reporter(capture.options);
  reporter.OnLog(LogLevel::kInfo, "import", "read");
  EXPECT_EQ(capture.Lines().at(0)["traceparent"].as_string(), capture.options.traceparent);
  Capture without(true);
  Reporter(without.options).OnLog(LogLevel::kInfo, "import", "read");
  EXPECT_FALSE(without.Lines().at(0).contains("traceparent"));
}

TEST(Reporter, JsonlHasNumberedLinesAndRisingFraction) {
  Capture capture(true);
  Reporter reporter(capture.options);
  reporter.Plan({{"import", 0.2}, {"calibrate", 0.8}});
  reporter.OnStage("import");
  reporter.OnProgress(1, 1, "model");
  reporter.OnStage("calibrate");
  for (int i = 1; i <= 4; ++i) {
    capture.time += absl::Seconds(1);
    reporter.OnProgress(i, 4, "sample");
  }
  reporter.OnLog(LogLevel::kWarning, "calibration", "few samples");
  reporter.Result(Json::Object().Set("device", "cpu"), "");
  const std::vector<Json> lines = capture.Lines();
  ASSERT_EQ(lines.size(), 9u);
  double fraction = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i]["seq"].as_int(), static_cast<int64_t>(i + 1));
    if (lines[i]["type"].as_string() == "progress") {
      EXPECT_GE(lines[i]["fraction"].as_double(), fraction);
      fraction = lines[i]["fraction"].as_double();
    }
  }
  EXPECT_DOUBLE_EQ(fraction, 1.0);
  EXPECT_EQ(lines[0]["ts"].as_string(), "1970-01-01T00:16:40.000Z");
  EXPECT_EQ(lines.back()["type"].as_string(), "result");
  EXPECT_EQ(capture.Messages(), "");
}

TEST(Reporter, ProgressIsRateLimitedButTheLastStepIsNot) {
  Capture capture(true);
  Reporter reporter(capture.options);
  reporter.OnStage("s");
  for (int i = 1; i <= 1000; ++i) {
    reporter.OnProgress(i, 1000, "x");
  }
  EXPECT_EQ(capture.Lines().size(), 3u);
}

TEST(Reporter, ErrorsCarryTheCode) {
  Capture jsonl(true);
  Reporter(jsonl.options).Error(Failure(FailureCode::kTargetError, "no target 'x'"));
  EXPECT_EQ(jsonl.Lines()[0]["code"].as_string(), "TARGET_ERROR");
  Capture plain(false);
  Reporter(plain.options).Error(Failure(FailureCode::kTargetError, "no target 'x'"));
  EXPECT_EQ(plain.Messages(), "ERROR [TARGET_ERROR]: no target 'x'\n");
  EXPECT_EQ(plain.Answers(), "");
}

TEST(Reporter, PlainModeKeepsAnswersApart) {
  Capture capture(false, true);
  Reporter reporter(capture.options);
  reporter.OnStage("calibrate");
  reporter.OnProgress(1, 2, "sample");
  reporter.OnLog(LogLevel::kDebug, "x", "hidden");
  reporter.ShowDebug();
  reporter.OnLog(LogLevel::kDebug, "x", "shown");
  reporter.Result(Json::Object(), "done\n");
  EXPECT_EQ(capture.Answers(), "done\n");
  EXPECT_THAT(capture.Messages(), HasSubstr("calibrate 1/2 sample"));
  EXPECT_THAT(capture.Messages(), ::testing::Not(HasSubstr("hidden")));
  EXPECT_THAT(capture.Messages(), HasSubstr("debug: x: shown\n"));
}

}  // namespace
}  // namespace qb::worker
