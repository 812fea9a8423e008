// Models that the CPU and the NPU share, from .mblt to a run of the .mxq.
#include <cmath>
#include <string>
#include <vector>

#include "core/base/atomic_file.h"
#include "core/base/failure.h"
#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"
#include "core/compiler/compile.h"
#include "core/compiler/extract_body.h"
#include "core/dataset/dataset.h"
#include "core/evaluate/staged_model.h"
#include "core/execute/executor.h"
#include "core/ops/graph_text.h"
#include "core/package/mblt.h"
#include "core/package/mxq.h"

namespace qb {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Head: int64 pixels become numbers. Body: convolutions. Tail: a minimum over the channels. The
// second output comes from the head, the first from the tail.
constexpr char kShared[] = R"(graph "shared" {
    x = Input int64[1x8x8x3]
    f = Cast(x) {dtype="float32"}
    w = InputConstant float32[8x3x3x3] random(7)
    v = InputConstant float32[4x3x3x8] random(8)
    a = Convolution(f, w) {h_kernel=3, w_kernel=3, channel_last=true, activation="relu"}
    b = Convolution(a, v) {h_kernel=3, w_kernel=3, channel_last=true}
    m = ReduceMin(b) {reduce_axes=[3]}
    lowest = Output(m)
    numbers = Output(f)
})";

// Two NPU parts with an island of the CPU between them.
constexpr char kIsland[] = R"(graph "island" {
    x = Input float32[1x8x8x4]
    w = InputConstant float32[4x3x3x4] random(7)
    v = InputConstant float32[40x1x1x4] random(8)
    a = Convolution(x, w) {h_kernel=3, w_kernel=3, north_padding=1, south_padding=1, west_padding=1, east_padding=1, channel_last=true}
    m = ReduceMin(a) {reduce_axes=[3]}
    s = Adding(a, m)
    b = Convolution(s, v) {channel_last=true}
    y = Output(b)
})";

constexpr char kTail[] = R"(graph "tail" {
    x = Input float32[1x8x8x3]
    w = InputConstant float32[8x3x3x3] random(7)
    a = Convolution(x, w) {h_kernel=3, w_kernel=3, channel_last=true}
    m = ReduceMin(a) {reduce_axes=[3]}
    lowest = Output(m)
})";

// The CPU reads the input too.
constexpr char kBothRead[] = R"(graph "both" {
    x = Input float32[1x8x8x3]
    w = InputConstant float32[8x1x1x3] random(7)
    a = Convolution(x, w) {channel_last=true, activation="relu"}
    m = ReduceMin(x) {reduce_axes=[3]}
    y = Output(a)
    lowest = Output(m)
})";

CompileConfig Config(const std::string& text) {
  ConfigSources sources;
  sources.file_text = text;
  sources.file_name = "test";
  absl::StatusOr<CompileConfig> config = CompileConfig::Resolve(sources);
  QB_EXPECT_OK(config);
  return *std::move(config);
}

constexpr char kOffload[] = "cpuOffload: true\nuseRandomCalib: true";

class OffloadTest : public ::testing::Test {
 protected:
  Graph Write(const char* text) {
    absl::StatusOr<Graph> graph = GraphFromText(text);
    EXPECT_TRUE(graph.ok()) << graph.status();
    QB_EXPECT_OK(WriteMblt(dir_.File("m.mblt"), *graph, Json::Object().Set("target", "aries-rb")));
    return *std::move(graph);
  }

  absl::StatusOr<CompileResult> Run(const std::string& config, int threads = 2,
                                    const std::string& output = "m.mxq") {
    QuantizeRequest request;
    request.mblt_path = dir_.File("m.mblt");
    request.output_path = dir_.File(output);
    request.target = "aries-rb";
    request.threads = threads;
    return Quantize(request, Config(config), sink_, cancel_);
  }

  std::vector<std::string> Stages() {
    std::vector<std::string> names;
    for (const Json& stage : file_->manifest()["stages"].items()) {
      names.push_back(stage["name"].as_string());
    }
    return names;
  }

  void Open() {
    absl::StatusOr<std::unique_ptr<MxqFile>> file = MxqFile::Open(dir_.File("m.mxq"));
    ASSERT_TRUE(file.ok()) << file.status();
    file_ = *std::move(file);
  }

  // 10 log10 of signal to noise of each output over some samples.
  std::vector<double> SqnrOf(const Graph& graph, const std::string& mode) {
    absl::StatusOr<Executable> executable = OpenExecutable(*file_, mode, 1);
    EXPECT_TRUE(executable.ok()) << executable.status();
    const std::unique_ptr<Dataset> samples = MakeRandomDataset(executable->inputs, 4, 99);
    std::vector<double> signal(graph.outputs().size(), 0.0), noise(graph.outputs().size(), 1e-12);
    for (int64_t i = 0; i < samples->size(); ++i) {
      const std::vector<Tensor> inputs = *samples->Load(i);
      const std::vector<Tensor> expected = *RunOnce(graph, inputs);
      const absl::StatusOr<std::vector<Tensor>> found = executable->model->Run(inputs, 0);
      EXPECT_TRUE(found.ok()) << found.status();
      for (size_t o = 0; o < expected.size(); ++o) {
        for (int64_t k = 0; k < expected[o].elements(); ++k) {
          const double y = expected[o].data<float>()[k];
          const double e = y - static_cast<double>((*found)[o].data<float>()[k]);
          signal[o] += y * y;
          noise[o] += e * e;
        }
      }
    }
    std::vector<double> sqnr;
    sqnr.reserve(signal.size());
    for (size_t o = 0; o < signal.size(); ++o) {
      sqnr.push_back(10 * std::log10(signal[o] / noise[o]));
    }
    return sqnr;
  }

  testing::TempDir dir_;
  NullProgressSink sink_;
  CancelToken cancel_;
  std::unique_ptr<MxqFile> file_;
};

TEST_F(OffloadTest, HeadBodyAndTailComputeTheModel) {
  const Graph graph = Write(kShared);
  QB_ASSERT_OK(Run(kOffload));
  Open();
  EXPECT_THAT(Stages(), ElementsAre("cpu_head", "npu_body", "cpu_tail"));
  const std::vector<double> sqnr = SqnrOf(graph, "");
  EXPECT_GT(sqnr[0], 25.0);
  EXPECT_GT(sqnr[1], 100.0);  // never left the CPU
  // Inputs and outputs are those of the model, in its order.
  EXPECT_EQ(file_->manifest()["inputs"].items()[0]["dtype"].as_string(), "int64");
  EXPECT_EQ(file_->manifest()["outputs"].items()[0]["name"].as_string(), "lowest");
  EXPECT_EQ(file_->manifest()["outputs"].items()[1]["name"].as_string(), "numbers");
  EXPECT_EQ(file_->report()["support"].items()[0]["device"].as_string(), "cpu");
}

TEST_F(OffloadTest, WithoutItTheLayersAndTheAdviceAreNamed) {
  Write(kShared);
  const absl::Status status = Run("useRandomCalib: true").status();
  EXPECT_EQ(FailureCodeOf(status), FailureCode::kUnsupportedOperator);
  EXPECT_THAT(std::string(status.message()), HasSubstr("'f' (Cast): The NPU has no instruction"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("'m' (ReduceMin)"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("`cpuOffload: true`"));
}

TEST_F(OffloadTest, EqualInputsGiveEqualBytes) {
  Write(kShared);
  QB_ASSERT_OK(Run(kOffload, 1, "a.mxq"));
  QB_ASSERT_OK(Run(kOffload, 3, "b.mxq"));
  EXPECT_TRUE(*ReadFile(dir_.File("a.mxq")) == *ReadFile(dir_.File("b.mxq")));
}

TEST_F(OffloadTest, IslandsStandBetweenNpuParts) {
  const Graph graph = Write(kIsland);
  QB_ASSERT_OK(Run("cpuOffload: true\nuseRandomCalib: true\ninferenceScheme: all"));
  Open();
  EXPECT_THAT(Stages(), ElementsAre("npu_body_1", "cpu_island_1", "npu_body_2"));
  for (const char* mode : {"single", "multi", "global4", "global8"}) {
    EXPECT_GT(SqnrOf(graph, mode)[0], 25.0) << mode;
  }
}

TEST_F(OffloadTest, BytesGoIntoTheNpuPartThatReadsThem) {
  const Graph graph = Write(kTail);
  QB_ASSERT_OK(Run("cpuOffload: true\nuseRandomCalib: true\nuint8Input: {apply: true}"));
  Open();
  EXPECT_THAT(Stages(), ElementsAre("npu_body", "cpu_tail"));
  const Json& input = file_->manifest()["inputs"].items()[0];
  EXPECT_EQ(input["dtype"].as_string(), "uint8");
  EXPECT_EQ(input["range"].as_string(), "0..255");
  EXPECT_EQ(input["codes"]["scale"].items()[0].as_double(), 1.0 / 255.0);
  EXPECT_EQ(input["fused"].items()[0]["op"].as_string(), "divide");
  absl::StatusOr<Executable> executable = OpenExecutable(*file_, "", 1);
  ASSERT_TRUE(executable.ok()) << executable.status();
  Tensor bytes = Tensor::Allocate(graph.inputs()[0]->type());
  for (int64_t i = 0; i < bytes.elements(); ++i) {
    bytes.mutable_data<float>()[i] = static_cast<float>(i * 37 % 256) / 255.0f;
  }
  const std::vector<Tensor> expected = *RunOnce(graph, {bytes});
  const absl::StatusOr<std::vector<Tensor>> found = executable->model->Run({&bytes, 1}, 0);
  ASSERT_TRUE(found.ok()) << found.status();
  double signal = 0, noise = 1e-12;
  for (int64_t i = 0; i < expected[0].elements(); ++i) {
    const double y = expected[0].data<float>()[i];
    const double e = y - static_cast<double>((*found)[0].data<float>()[i]);
    signal += y * y;
    noise += e * e;
  }
  EXPECT_GT(10 * std::log10(signal / noise), 25.0);
}

TEST_F(OffloadTest, ALetterboxGoesIntoTheNpuPartThatReadsItsInput) {
  Write(kTail);
  const std::string config =
      "cpuOffload: true\nuseRandomCalib: true\nuint8Input: {apply: true}\n"
      "preprocessing: {apply: true, pipeline: [{op: letterbox, height: 8, width: 8, "
      "backend: opencv, fuseIntoFirstLayer: true, sourceHeight: 12, sourceWidth: 16}]}";
  QB_ASSERT_OK(Run(config));
  Open();
  EXPECT_THAT(Stages(), ElementsAre("npu_body", "cpu_tail"));
  const Json& input = file_->manifest()["inputs"].items()[0];
  EXPECT_EQ(input["dtype"].as_string(), "uint8");
  EXPECT_EQ(input["shape"].Dump(), "[1,12,16,3]");
  EXPECT_EQ(input["letterbox"]["top"].as_int(), 1);
  absl::StatusOr<Executable> executable = OpenExecutable(*file_, "", 1);
  ASSERT_TRUE(executable.ok()) << executable.status();
  ASSERT_EQ(executable->inputs[0].type, (TensorType{DType::kUint8, Shape{1, 12, 16, 3}}));
  const std::unique_ptr<Dataset> samples = MakeRandomDataset(executable->inputs, 1, 9);
  const std::vector<Tensor> taken = *samples->Load(0);
  const absl::StatusOr<std::vector<Tensor>> found = executable->model->Run(taken, 0);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ((*found)[0].shape(), (Shape{1, 6, 6, 1}));
  EXPECT_GT(file_->report()["check"]["outputs"].items()[0]["sqnr_db"].as_double(), 25.0);
}

TEST_F(OffloadTest, BytesThatTheCpuReadsAreRefusedWithTheReaders) {
  Write(kBothRead);
  const absl::Status status =
      Run("cpuOffload: true\nuseRandomCalib: true\nuint8Input: {apply: true}").status();
  EXPECT_EQ(FailureCodeOf(status), FailureCode::kConfigError);
  EXPECT_THAT(std::string(status.message()), HasSubstr("input 'x' is read by "));
  EXPECT_THAT(std::string(status.message()), HasSubstr("'cpu_"));
}

TEST_F(OffloadTest, LayerNamesMayConcernOnePartOnly) {
  Write(kIsland);
  QB_EXPECT_OK(
      Run("cpuOffload: true\nuseRandomCalib: true\n"
          "biasCorrection: {attributes: {applyLayers: [a]}}"));
}

TEST_F(OffloadTest, TheBodyIsAModelOfItsOwn) {
  const Graph graph = Write(kShared);
  // `parse` writes the list of parts; here a minimal one.
  const Json part = *Json::Parse(
      R"([{"name": "cpu_head", "device": "cpu", "macs": 9, "layers": ["f"]},
          {"name": "npu_body", "device": "npu", "macs": 5, "layers": ["a", "b"]}])");
  QB_ASSERT_OK(WriteMblt(dir_.File("m.mblt"), graph,
                         Json::Object().Set("target", "aries-rb").Set("subgraphs", part)));
  QB_ASSERT_OK(ExtractBody(dir_.File("m.mblt"), dir_.File("body.mblt")));
  QB_ASSERT_OK_AND_ASSIGN(const MbltFile body, ReadMblt(dir_.File("body.mblt")));
  ASSERT_EQ(body.graph.inputs().size(), 1u);
  EXPECT_EQ(body.graph.inputs()[0]->name(), "f");
  ASSERT_EQ(body.graph.outputs().size(), 1u);
  EXPECT_EQ(body.graph.outputs()[0]->name(), "b");
  QuantizeRequest request;
  request.mblt_path = dir_.File("body.mblt");
  request.output_path = dir_.File("body.mxq");
  request.target = "aries-rb";
  QB_EXPECT_OK(Quantize(request, Config("useRandomCalib: true"), sink_, cancel_));
}

TEST_F(OffloadTest, ADamagedListOfPartsIsRefused) {
  const Graph graph = Write(kShared);
  for (const char* layers : {R"(["nowhere"])", R"(["x"])", R"([])", R"([7])"}) {
    const Json part = *Json::Parse(std::string(R"([{"device": "npu", "layers": )") + layers + "}]");
    QB_ASSERT_OK(WriteMblt(dir_.File("m.mblt"), graph, Json::Object().Set("subgraphs", part)));
    EXPECT_EQ(FailureCodeOf(ExtractBody(dir_.File("m.mblt"), dir_.File("b.mblt")).status()),
              FailureCode::kModelParseError)
        << layers;
  }
}

TEST_F(OffloadTest, ExtraOutputsComeAfterTheModelsOwn) {
  Graph graph = Write(kShared);
  QB_ASSERT_OK(
      Run("cpuOffload: true\nuseRandomCalib: true\n"
          "extraOutput: {apply: true, layers: [a, lowest]}"));
  Open();
  graph.AddOutput("a", graph.FindNode("a"));
  const std::vector<double> sqnr = SqnrOf(graph, "");
  ASSERT_EQ(sqnr.size(), 3u);
  EXPECT_GT(sqnr[2], 25.0);
  EXPECT_EQ(file_->manifest()["outputs"].items()[2]["name"].as_string(), "a");
}

TEST_F(OffloadTest, AnExtraOutputThatIsNoLayerIsNamed) {
  Write(kShared);
  const absl::Status status = Run("cpuOffload: true\nuseRandomCalib: true\n"
                                  "extraOutput: {apply: true, layers: [lowets]}")
                                  .status();
  EXPECT_EQ(FailureCodeOf(status), FailureCode::kConfigError);
  EXPECT_THAT(std::string(status.message()), HasSubstr("'lowets' matches no layer; nearest: "));
}

}  // namespace
}  // namespace qb
