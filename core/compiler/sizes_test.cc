// One model at several sizes in one executable.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/atomic_file.h"
#include "core/base/failure.h"
#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"
#include "core/compiler/compile.h"
#include "core/dataset/dataset.h"
#include "core/evaluate/staged_model.h"
#include "core/ops/graph_text.h"
#include "core/package/mblt.h"
#include "core/package/mxq.h"

namespace qb {
namespace {

using ::testing::HasSubstr;

class SizesTest : public ::testing::Test {
 protected:
  // A convolution over an image of `side` pixels, and a layer for the CPU when `shared`.
  std::string Write(int side, int weights = 7, bool shared = false) {
    const std::string text = absl::StrCat(
        "graph \"g\" {\n x = Input float32[1x", side, "x", side, "x3]\n",
        "w = InputConstant float32[5x3x3x3] random(", weights, ")\n",
        "c = Convolution(x, w) {h_kernel=3, w_kernel=3, channel_last=true}\n",
        shared ? "m = ReduceMin(c) {reduce_axes=[3]}\n y = Output(m)\n" : "y = Output(c)\n", "}");
    absl::StatusOr<Graph> graph = GraphFromText(text);
    EXPECT_TRUE(graph.ok()) << graph.status();
    std::string path = dir_.File(absl::StrCat(side, "_", weights, shared, ".mblt"));
    QB_EXPECT_OK(WriteMblt(path, *graph, Json::Object().Set("target", "aries-rb")));
    return path;
  }

  absl::StatusOr<CompileResult> Run(const std::vector<std::string>& mblts,
                                    const std::string& config = "useRandomCalib: true",
                                    const std::string& output = "m.mxq") {
    QuantizeRequest request;
    request.mblt_path = mblts.front();
    request.further_mblt_paths.assign(mblts.begin() + 1, mblts.end());
    request.output_path = dir_.File(output);
    request.target = "aries-rb";
    request.calibration_paths = calibration_paths_;
    ConfigSources sources;
    sources.file_text = config;
    sources.file_name = "test";
    const absl::StatusOr<CompileConfig> resolved = CompileConfig::Resolve(sources);
    EXPECT_TRUE(resolved.ok()) << resolved.status();
    NullProgressSink sink;
    return Quantize(request, *resolved, sink, CancelToken());
  }

  testing::TempDir dir_;
  std::vector<std::string> calibration_paths_;
};

TEST_F(SizesTest, TheShapesOfTheSampleChooseTheProgram) {
  for (const bool shared : {false, true}) {
    QB_ASSERT_OK(Run({Write(8, 7, shared), Write(12, 7, shared), Write(9, 7, shared)},
                     "useRandomCalib: true\ncpuOffload: true"));
    QB_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<MxqFile> file, MxqFile::Open(dir_.File("m.mxq")));
    ASSERT_EQ(file->sizes().size(), 3u);
    for (const int64_t side : {12, 8, 9}) {
      QB_ASSERT_OK_AND_ASSIGN(const Executable executable,
                              OpenExecutable(*file, "", 1, {Shape{1, side, side, 3}}));
      const std::unique_ptr<Dataset> samples = MakeRandomDataset(executable.inputs, 1, 3);
      QB_ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> outputs,
                              executable.model->Run(*samples->Load(0), 0));
      EXPECT_EQ(outputs[0].shape()[1], side - 2);
    }
    const absl::Status status = OpenExecutable(*file, "", 1, {Shape{1, 10, 10, 3}}).status();
    EXPECT_EQ(FailureCodeOf(status), FailureCode::kArgumentError);
    EXPECT_THAT(std::string(status.message()), HasSubstr("x 1x8x8x3; x 1x12x12x3; x 1x9x9x3"));
  }
}

TEST_F(SizesTest, EachSizeIsWhatItIsAlone) {
  QB_ASSERT_OK(Run({Write(8), Write(12)}));
  QB_ASSERT_OK(Run({Write(12)}, "useRandomCalib: true", "alone.mxq"));
  QB_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<MxqFile> both, MxqFile::Open(dir_.File("m.mxq")));
  QB_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<MxqFile> alone,
                          MxqFile::Open(dir_.File("alone.mxq")));
  EXPECT_TRUE(both->sizes()[1].stages[0].programs.at("single") ==
              alone->sizes()[0].stages[0].programs.at("single"));
  EXPECT_EQ(both->report()["further_sizes"].items().size(), 1u);
}

TEST_F(SizesTest, AnotherModelIsRefused) {
  const absl::Status status = Run({Write(8, 7), Write(12, 8)}).status();
  EXPECT_EQ(FailureCodeOf(status), FailureCode::kArgumentError);
  EXPECT_THAT(std::string(status.message()), HasSubstr("constant 'w' has other values"));
}

TEST_F(SizesTest, TwoSizesThatAreTheSameAreRefused) {
  const absl::Status status = Run({Write(8), Write(12), Write(12)}).status();
  EXPECT_EQ(FailureCodeOf(status), FailureCode::kArgumentError);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("two of the sizes are the same: x 1x12x12x3"));
}

TEST_F(SizesTest, EverySizeHasItsCalibrationSet) {
  calibration_paths_ = {dir_.path()};
  const absl::Status status = Run({Write(8), Write(12)}, "").status();
  EXPECT_EQ(FailureCodeOf(status), FailureCode::kArgumentError);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("1 calibration data set is given; a model of 2 sizes takes one for each"));
}

}  // namespace
}  // namespace qb
