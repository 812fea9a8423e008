// Executables with layers of 4 and 16 bits, from the config to the simulator.
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"
#include "core/compiler/compile.h"
#include "core/evaluate/simulated_model.h"
#include "core/package/mxq.h"

namespace qb {
namespace {

using ::testing::HasSubstr;

constexpr char kCalibration[] = "examples/fashion/calib";

class LayerBitsCompileTest : public ::testing::Test {
 protected:
  absl::StatusOr<CompileResult> CompileWith(const std::string& name, const std::string& config,
                                            const std::string& saved_config = "") {
    ConfigSources sources;
    sources.file_text = config;
    sources.file_name = "test";
    QB_ASSIGN_OR_RETURN(const CompileConfig resolved, CompileConfig::Resolve(sources));
    CompileRequest request;
    request.parse.model_path = "examples/fashion/fashion.onnx";
    request.parse.target = request.quantize.target = "aries-rb";
    request.quantize.output_path = dir_.File(name);
    request.quantize.config_save_path = saved_config;
    request.quantize.calibration_paths = {kCalibration};
    NullProgressSink sink;
    return Compile(request, resolved, sink, CancelToken());
  }
  double SqnrWith(const std::string& config) {
    const absl::StatusOr<CompileResult> result = CompileWith("sqnr.mxq", config);
    QB_EXPECT_OK(result);
    return result.ok() ? result->report["check"]["outputs"].items()[0]["sqnr_db"].as_double()
                       : -100.0;
  }

  testing::TempDir dir_;
};

TEST_F(LayerBitsCompileTest, EveryCoreModeGivesTheSameBits) {
  QB_ASSERT_OK(CompileWith("a.mxq", R"(
inferenceScheme: all
bit: {layerOverrides: {activation16Bits: ["*Relu_output_0"], weight16Bits: ["*Relu_output_0"], weight4Bits: [logits]}}
)"));
  QB_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<MxqFile> file, MxqFile::Open(dir_.File("a.mxq")));
  NullProgressSink sink;
  std::vector<Tensor> first;
  for (const char* mode : {"single", "multi", "global4", "global8"}) {
    QB_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<SimulatedModel> model,
                            SimulatedModel::Create(*file, mode, 1));
    QB_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Dataset> data,
                            OpenDataset(kCalibration, model->inputs(), sink));
    for (int64_t sample = 0; sample < 4; ++sample) {
      QB_ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> inputs, data->Load(sample));
      QB_ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> outputs, model->Run(inputs, 0));
      if (first.size() <= static_cast<size_t>(sample)) {
        first.push_back(outputs[0]);
        continue;
      }
      const Tensor& want = first[static_cast<size_t>(sample)];
      EXPECT_EQ(std::memcmp(want.raw(), outputs[0].raw(), static_cast<size_t>(want.size_bytes())),
                0)
          << mode << ", sample " << sample;
    }
  }
}

TEST_F(LayerBitsCompileTest, MoreBitsComeNearerToFloat) {
  const double eight = SqnrWith("");
  const double four = SqnrWith("bit: {layerOverrides: {weight4Bits: ['*']}}");
  const double sixteen =
      SqnrWith("bit: {layerOverrides: {activation16Bits: ['*'], weight16Bits: ['*']}}");
  EXPECT_LT(four, eight - 6.0);
  EXPECT_GT(sixteen, eight + 6.0);
}

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TEST_F(LayerBitsCompileTest, WhatAutoTuneWritesDownMakesTheSameBytes) {
  const std::string saved = dir_.File("tuned.yaml");
  QB_ASSERT_OK_AND_ASSIGN(
      const CompileResult tuned,
      CompileWith("tuned.mxq",
                  "autoTune: {apply: true, metric: sqnr, target: 42, maxHighPrecisionShare: 0.5}",
                  saved));
  const Json& report = tuned.report["auto_tune"].items()[0];
  EXPECT_GT(report["after"].as_double(), report["before"].as_double());
  EXPECT_FALSE(report["steps"].items().empty());
  EXPECT_THAT(ReadAll(saved + ".origins.json"), HasSubstr("autoTune"));
  QB_ASSERT_OK_AND_ASSIGN(const CompileResult pinned, CompileWith("pinned.mxq", ReadAll(saved)));
  EXPECT_FALSE(pinned.report.contains("auto_tune"));
  EXPECT_EQ(tuned.outputs[0].sha256, pinned.outputs[0].sha256);
}

TEST_F(LayerBitsCompileTest, HessianSettingsReachTheWeights) {
  const double nearest = SqnrWith("bit: {layerOverrides: {weight4Bits: ['*']}}");
  const std::string config =
      "bit: {layerOverrides: {weight4Bits: ['*']}}\nhessianQuant: {apply: true, solver: ";
  EXPECT_GT(SqnrWith(config + "symmetric}"), nearest + 3.0);
  EXPECT_GT(SqnrWith(config + "asymmetric_causal, rescomp: true, hessianDtype: bf16}"),
            nearest + 3.0);
  EXPECT_GT(
      SqnrWith("bit: {layerOverrides: {weight4Bits: ['*']}}\nsearchWeightScale: {apply: true}"),
      nearest + 0.2);
}

TEST_F(LayerBitsCompileTest, TheReportSaysBitsAndWhatHadNoEffect) {
  EXPECT_FALSE(
      CompileWith("a.mxq", "bit: {layerOverrides: {activation16Bits: ['*MaxPool*', '*Relu*']}}")
          .ok());  // one glob has no effect at all
  QB_ASSERT_OK(CompileWith("a.mxq",
                           "bit: {layerOverrides: {activation16Bits: ['*Pool*'], "
                           "weight4Bits: [logits]}}"));
  QB_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<MxqFile> file, MxqFile::Open(dir_.File("a.mxq")));
  for (const Json& layer : file->report()["layers"].items()) {
    const std::string name = layer["name"].as_string();
    if (name == "logits") {
      EXPECT_EQ(layer["weight_bits"].as_int(), 4);
    } else if (name == "/layers/layers.1/MaxPool_output_0") {
      EXPECT_EQ(layer["activation_bits"].as_int(), 8);
      EXPECT_THAT(layer["note"].as_string(), HasSubstr("maxima are taken of 8 bits"));
    } else if (name == "/layers/layers.8/GlobalAveragePool_output_0") {
      EXPECT_EQ(layer["activation_bits"].as_int(), 16);
    }
  }
}

TEST_F(LayerBitsCompileTest, ALayerThatCannotIsRefusedByName) {
  const absl::Status status =
      CompileWith("a.mxq",
                  "bit: {layerOverrides: {activation16Bits: [/layers/layers.1/MaxPool_output_0]}}")
          .status();
  EXPECT_EQ(FailureCodeOf(status), FailureCode::kConfigError);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("layer '/layers/layers.1/MaxPool_output_0' (Pooling): maxima"));
}

TEST_F(LayerBitsCompileTest, MethodsWithZeroPointsAreNamedLayerByLayer) {
  QB_ASSERT_OK_AND_ASSIGN(
      const CompileResult result,
      CompileWith("a.mxq", "calibration: {layerOverrides: {method: {'*': 3}}}"));
  EXPECT_GT(result.report["check"]["outputs"].items()[0]["sqnr_db"].as_double(), 20);
}

}  // namespace
}  // namespace qb
