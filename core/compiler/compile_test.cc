#include "core/compiler/compile.h"

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"

#include "core/base/atomic_file.h"
#include "core/base/failure.h"
#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"
#include "core/package/mblt.h"
#include "core/package/mxq.h"

namespace qb {
namespace {

using ::testing::HasSubstr;

constexpr char kModel[] = "examples/fashion/fashion.onnx";
constexpr char kCalibration[] = "examples/fashion/calib";

CompileRequest Request(const std::string& output, int threads) {
  CompileRequest request;
  request.parse.model_path = kModel;
  request.parse.target = "aries-rb";
  request.parse.threads = threads;
  request.quantize.output_path = output;
  request.quantize.target = "aries-rb";
  request.quantize.calibration_paths = {kCalibration};
  request.quantize.threads = threads;
  return request;
}

CompileConfig Config(const std::string& text = "") {
  ConfigSources sources;
  sources.file_text = text;
  sources.file_name = "test";
  absl::StatusOr<CompileConfig> config = CompileConfig::Resolve(sources);
  QB_EXPECT_OK(config);
  return *std::move(config);
}

std::vector<std::string> FilesIn(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files.push_back(entry.path().filename().string());
  }
  return files;
}

// Raises the cancel flag when a stage begins, as a signal would in the middle of the work.
class CancelAt final : public ProgressSink {
 public:
  CancelAt(std::string stage, CancelToken& cancel) : stage_(std::move(stage)), cancel_(cancel) {}
  void OnStage(absl::string_view stage) override {
    stages.emplace_back(stage);
    if (stage == stage_) {
      cancel_.Cancel();
    }
  }
  void OnProgress(int64_t, int64_t, absl::string_view) override {}
  void OnLog(LogLevel, absl::string_view, absl::string_view message) override {
    messages.emplace_back(message);
  }
  std::vector<std::string> stages;
  std::vector<std::string> messages;

 private:
  std::string stage_;
  CancelToken& cancel_;
};

TEST(Compile, EqualInputsGiveEqualBytesForAnyThreadsAndPaths) {
  testing::TempDir one;
  testing::TempDir two;
  NullProgressSink sink;
  CancelToken cancel;
  QB_ASSERT_OK(Compile(Request(one.File("a.mxq"), 1), Config(), sink, cancel));
  QB_ASSERT_OK(Compile(Request(two.File("deep/er/b.mxq"), 2),
                       Config("device: cpu\nresourceManagement: {threads: 3}"), sink, cancel));
  QB_ASSERT_OK_AND_ASSIGN(const std::string a, ReadFile(one.File("a.mxq")));
  QB_ASSERT_OK_AND_ASSIGN(const std::string b, ReadFile(two.File("deep/er/b.mxq")));
  EXPECT_TRUE(a == b);
  EXPECT_THAT(FilesIn(one.path()), ::testing::ElementsAre("a.mxq"));
}

// The first samples under names that turn their order around.
void CopySamples(const std::string& folder, size_t count, bool turned) {
  std::filesystem::create_directories(folder);
  std::vector<std::string> files = FilesIn(kCalibration);
  std::sort(files.begin(), files.end());
  for (size_t i = 0; i < count; ++i) {
    const size_t at = turned ? count - 1 - i : i;
    std::filesystem::copy_file(absl::StrCat(kCalibration, "/", files[i]),
                               absl::StrCat(folder, "/", absl::Dec(at, absl::kZeroPad4), ".npy"));
  }
}

TEST(Compile, NeitherOrderNorNamesOfSamplesNorThreadsMatter) {
  testing::TempDir dir;
  // More than bias correction takes, so that it has to choose.
  CopySamples(dir.File("straight"), 40, false);
  CopySamples(dir.File("turned"), 40, true);
  NullProgressSink sink;
  CancelToken cancel;
  for (const char* config : {"calibration: {mode: 0}", "calibration: {mode: 1, method: 3}",
                             "calibration: {mode: 2, method: 2}",
                             "calibration: {mode: 2, histogram: {objective: kl}}"}) {
    CompileRequest straight = Request(dir.File("a.mxq"), 1);
    straight.quantize.calibration_paths = {dir.File("straight")};
    CompileRequest turned = Request(dir.File("b.mxq"), 3);
    turned.quantize.calibration_paths = {dir.File("turned")};
    QB_ASSERT_OK(Compile(straight, Config(config), sink, cancel));
    QB_ASSERT_OK(Compile(turned, Config(config), sink, cancel));
    EXPECT_TRUE(*ReadFile(dir.File("a.mxq")) == *ReadFile(dir.File("b.mxq"))) << config;
  }
}

TEST(Compile, ParseThenQuantizeGivesTheSameExecutable) {
  testing::TempDir dir;
  NullProgressSink sink;
  CancelToken cancel;
  CompileRequest request = Request(dir.File("whole.mxq"), 2);
  QB_ASSERT_OK(Compile(request, Config(), sink, cancel));
  request.parse.output_path = dir.File("m.mblt");
  QB_ASSERT_OK(Parse(request.parse, Config(), sink, cancel));
  request.quantize.mblt_path = dir.File("m.mblt");
  request.quantize.output_path = dir.File("steps.mxq");
  QB_ASSERT_OK(Quantize(request.quantize, Config(), sink, cancel));
  EXPECT_TRUE(*ReadFile(dir.File("whole.mxq")) == *ReadFile(dir.File("steps.mxq")));
}

TEST(Compile, TheExecutableSaysWhatItIs) {
  testing::TempDir dir;
  NullProgressSink sink;
  CancelToken cancel;
  QB_ASSERT_OK_AND_ASSIGN(const CompileResult result,
                          Compile(Request(dir.File("a.mxq"), 2), Config(), sink, cancel));
  ASSERT_EQ(result.outputs.size(), 1u);
  EXPECT_GT(result.report["check"]["outputs"].items()[0]["sqnr_db"].as_double(), 20);
  QB_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<MxqFile> file, MxqFile::Open(dir.File("a.mxq")));
  EXPECT_EQ(file->manifest()["target"].as_string(), "aries-rb");
  EXPECT_EQ(file->manifest()["core_modes"].Dump(), "[\"single\"]");
  EXPECT_TRUE(file->manifest()["mblt"]["provenance"]["source"]["sha256"].is_string());
  EXPECT_EQ(file->manifest()["plan"]["arena_bytes"].as_int(),
            file->manifest()["plan"]["arena_lower_bound_bytes"].as_int());
  EXPECT_GT(file->report()["layers"].items().size(), 5u);
}

TEST(Compile, CancellingLeavesNothing) {
  for (const char* stage :
       {"import", "samples", "calibrate", "quantize", "correct", "check", "write"}) {
    testing::TempDir dir;
    CancelToken cancel;
    CancelAt sink(stage, cancel);
    const auto result = Compile(Request(dir.File("a.mxq"), 2), Config(), sink, cancel);
    EXPECT_EQ(FailureCodeOf(result.status()), FailureCode::kCancelled) << stage;
    EXPECT_TRUE(FilesIn(dir.path()).empty()) << stage;
  }
}

TEST(Compile, WrongRequestsHaveTheirCode) {
  testing::TempDir dir;
  NullProgressSink sink;
  CancelToken cancel;
  const auto code = [&](const CompileRequest& request, const CompileConfig& config) {
    const auto result = Compile(request, config, sink, cancel);
    EXPECT_FALSE(result.ok());
    return FailureCodeOf(result.status());
  };
  CompileRequest request = Request(dir.File("a.mxq"), 1);
  request.parse.target = request.quantize.target = "aries";
  EXPECT_EQ(code(request, Config()), FailureCode::kTargetError);
  request = Request(dir.File("a.mxq"), 1);
  request.parse.target = request.quantize.target = "regulus-rb";
  EXPECT_EQ(code(request, Config("inferenceScheme: multi")), FailureCode::kTargetError);
  request = Request(dir.File("a.mxq"), 1);
  request.quantize.calibration_paths.clear();
  EXPECT_EQ(code(request, Config()), FailureCode::kArgumentError);
  request.quantize.calibration_paths = {dir.File("nowhere")};
  EXPECT_EQ(code(request, Config()), FailureCode::kCalibrationDataError);
  request.parse.model_path = dir.File("nowhere.onnx");
  EXPECT_EQ(code(request, Config()), FailureCode::kModelParseError);
  request = Request(dir.path(), 1);  // a folder cannot be replaced by a file
  EXPECT_EQ(code(request, Config()), FailureCode::kOutputWriteError);
  request = Request(dir.File("a.mxq"), 1);
  request.quantize.require_device = true;
  EXPECT_EQ(code(request, Config("device: gpu")), FailureCode::kDeviceUnavailable);
  EXPECT_TRUE(FilesIn(dir.path()).empty());
}

TEST(Compile, AllModesOfATargetGoIntoOneExecutable) {
  testing::TempDir dir;
  NullProgressSink sink;
  CancelToken cancel;
  QB_ASSERT_OK(
      Compile(Request(dir.File("a.mxq"), 2), Config("inferenceScheme: all"), sink, cancel));
  QB_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<MxqFile> file, MxqFile::Open(dir.File("a.mxq")));
  EXPECT_EQ(file->manifest()["core_modes"].items().size(), 4u);
  for (const char* mode : {"single", "multi", "global4", "global8"}) {
    EXPECT_EQ(file->programs().count(mode), 1u) << mode;
  }
}

TEST(Compile, RandomCalibrationWarns) {
  testing::TempDir dir;
  CancelToken cancel;
  CancelAt sink("never", cancel);
  CompileRequest request = Request(dir.File("a.mxq"), 1);
  request.quantize.calibration_paths.clear();
  QB_ASSERT_OK(Compile(request, Config("useRandomCalib: true"), sink, cancel));
  EXPECT_THAT(sink.messages, ::testing::Contains(HasSubstr("random data")));
}

TEST(Compile, TheResolvedConfigIsSavedAndGivesTheSameBytes) {
  testing::TempDir dir;
  NullProgressSink sink;
  CancelToken cancel;
  CompileRequest request = Request(dir.File("a.mxq"), 1);
  request.quantize.config_save_path = dir.File("c.yaml");
  const CompileConfig config = Config("calibration: {mode: 0}");
  QB_ASSERT_OK(Compile(request, config, sink, cancel));
  QB_ASSERT_OK_AND_ASSIGN(const std::string saved, ReadFile(dir.File("c.yaml")));
  request.quantize.output_path = dir.File("b.mxq");
  QB_ASSERT_OK(Compile(request, Config(saved), sink, cancel));
  EXPECT_TRUE(*ReadFile(dir.File("a.mxq")) == *ReadFile(dir.File("b.mxq")));
  EXPECT_TRUE(ReadFile(dir.File("c.yaml.origins.json")).ok());
}

}  // namespace
}  // namespace qb
