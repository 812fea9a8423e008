#include "core/package/mblt.h"

#include <cstdlib>
#include <memory>
#include <random>

#include "core/base/atomic_file.h"
#include "core/base/failure.h"
#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"
#include "core/ops/graph_text.h"
#include "core/ops/verifier.h"

namespace qb {
namespace {

using ::testing::HasSubstr;

// An output that bears the name of an inner node ("c"), and a depthwise convolution.
constexpr char kGraph[] = R"(
graph "sample" {
  x = Input float32[1x4x8x8]
  w = InputConstant float32[4x4x3x3] random(7)
  b = InputConstant float32[4] [0.5, 1, 2, 3]
  d = InputConstant float32[4x1x1x1] splat(0.5)
  c = Convolution(x, w, b) {h_kernel=3, w_kernel=3, north_padding=1, activation="clip", activation_max=6}
  e = Convolution(c, d) {group_number=4}
  t = Transpose(e) {transpose_axes=[0, 2, 3, 1]}
  c = Output(t)
}
)";

Graph Sample() {
  absl::StatusOr<Graph> graph = GraphFromText(kGraph);
  QB_EXPECT_OK(graph);
  return *std::move(graph);
}

std::string WriteSample(const testing::TempDir& dir) {
  QB_EXPECT_OK(WriteMblt(dir.File("m.mblt"), Sample(), Json::Object().Set("provenance", Json())));
  return dir.File("m.mblt");
}

TEST(Mblt, RoundTripKeepsTheGraph) {
  testing::TempDir dir;
  QB_ASSERT_OK_AND_ASSIGN(const MbltFile file, ReadMblt(WriteSample(dir)));
  QB_EXPECT_OK(VerifyGraph(file.graph, "read"));
  const GraphTextOptions all{.most_values = 1 << 20};
  EXPECT_EQ(GraphToText(file.graph, all), GraphToText(Sample(), all));
  EXPECT_TRUE(file.manifest.contains("provenance"));
  EXPECT_EQ(file.manifest["format"].as_string(), "qbc-mblt");
}

TEST(Mblt, WrittenAgainItHasTheSameBytes) {
  testing::TempDir dir;
  const std::string path = WriteSample(dir);
  QB_ASSERT_OK_AND_ASSIGN(const MbltFile file, ReadMblt(path));
  QB_ASSERT_OK(
      WriteMblt(dir.File("again.mblt"), file.graph, Json::Object().Set("provenance", Json())));
  EXPECT_EQ(ReadFile(path).value(), ReadFile(dir.File("again.mblt")).value());
}

TEST(Mblt, OutputsKeepTheirDeclaredOrder) {
  // The second output is computed from less: any order of the layers has it first.
  absl::StatusOr<Graph> graph = GraphFromText(R"(graph "g" {
    x = Input float32[1x4]
    a = Relu(x)
    b = Relu(a)
    z = Output(b)
    y = Output(a)
  })");
  QB_ASSERT_OK(graph);
  testing::TempDir dir;
  for (const char* first : {"z", "y"}) {
    QB_ASSERT_OK(WriteMblt(dir.File("m.mblt"), *graph, Json::Object()));
    QB_ASSERT_OK_AND_ASSIGN(const MbltFile file, ReadMblt(dir.File("m.mblt")));
    EXPECT_EQ(file.graph.outputs()[0]->name(), first);
    QB_ASSERT_OK_AND_ASSIGN(graph, GraphFromText(R"(graph "g" {
      x = Input float32[1x4]
      a = Relu(x)
      b = Relu(a)
      y = Output(a)
      z = Output(b)
    })"));
  }
}

TEST(Mblt, TheOnnxPackageOpensTheUnpackedGraph) {
  testing::TempDir dir;
  const std::string path = WriteSample(dir);
  const std::string script =
      "import zipfile, sys\n"
      "zipfile.ZipFile('" +
      path + "').extractall('" + dir.path() +
      "')\n"
      "try:\n  import onnx\nexcept ImportError:\n  sys.exit(77)\n"
      "m = onnx.load('" +
      dir.File("graph.onnx") +
      "')\n"
      "ops = [n.op_type for n in m.graph.node]\n"
      "assert ops == ['Convolution', 'DepthwiseConvolution', 'Transpose', 'Output'], ops\n"
      "from onnx import numpy_helper\n"
      "b = [t for t in m.graph.initializer if t.name == 'b'][0]\n"
      "assert list(numpy_helper.to_array(b)) == [0.5, 1, 2, 3]\n";
  QB_ASSERT_OK(WriteFileAtomically(dir.File("check.py"), script));
  const int status = std::system(("/usr/bin/python3 " + dir.File("check.py")).c_str());
  if (WEXITSTATUS(status) == 77) {
    GTEST_SKIP() << "python3-onnx is not installed";
  }
  EXPECT_EQ(status, 0);
}

TEST(Mblt, ForeignAndNewerFilesAreRefused) {
  testing::TempDir dir;
  QB_ASSERT_OK(WriteFileAtomically(dir.File("x"), "hello, this is no package at all......"));
  EXPECT_THAT(ReadMblt(dir.File("x")),
              testing::StatusIs(absl::StatusCode::kInvalidArgument,
                                HasSubstr("not a package of this compiler")));
  EXPECT_EQ(FailureCodeOf(ReadMblt(dir.File("none")).status()), FailureCode::kModelParseError);
  QB_ASSERT_OK_AND_ASSIGN(std::string bytes, ReadFile(WriteSample(dir)));
  const size_t at = bytes.find("\"1.0\"");
  ASSERT_NE(at, std::string::npos);
  // The checksum catches an edited manifest before its version is even read.
  bytes[at + 1] = '9';
  EXPECT_FALSE(ReadMbltBytes(bytes, nullptr).ok());
}

TEST(Mblt, MutatedFilesNeverCrash) {
  testing::TempDir dir;
  QB_ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadFile(WriteSample(dir)));
  std::mt19937 random(11);
  for (int round = 0; round < 3000; ++round) {
    std::string mutated = bytes;
    mutated[random() % mutated.size()] = static_cast<char>(random());
    // A change in the alignment padding or a date is harmless; anything else is an error.
    static_cast<void>(ReadMbltBytes(mutated, nullptr));
  }
}

TEST(Mblt, TransposeConvolutionAndPReluComeBack) {
  testing::TempDir dir;
  QB_ASSERT_OK_AND_ASSIGN(const Graph graph, GraphFromText(R"(
graph "spread" {
  x = Input float32[1x4x8x8]
  w = InputConstant float32[6x2x3x3] random(7)
  s = InputConstant float32[6x1x1] random(8)
  c = TransposeConvolution(x, w) {h_kernel=3, w_kernel=3, h_stride=2, south_out_padding=1, group_number=2}
  p = PRelu(c, s)
  y = Output(p)
})"));
  QB_ASSERT_OK(WriteMblt(dir.File("m.mblt"), graph, Json::Object().Set("provenance", Json())));
  QB_ASSERT_OK_AND_ASSIGN(const MbltFile file, ReadMblt(dir.File("m.mblt")));
  const GraphTextOptions all{.most_values = 1 << 20};
  EXPECT_EQ(GraphToText(file.graph, all), GraphToText(graph, all));
}

}  // namespace
}  // namespace qb
