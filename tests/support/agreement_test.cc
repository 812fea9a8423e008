// What `validate` says is what a compile does: for operators in and out of the limits, the rules of
// core/target and the lowering of core/quantization (with the program builder behind it) agree.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/cancel_token.h"
#include "core/base/progress.h"
#include "core/base/status_macros.h"
#include "core/base/testing/status_matchers.h"
#include "core/dataset/dataset.h"
#include "core/npu/program.h"
#include "core/ops/graph_text.h"
#include "core/ops/op_def.h"
#include "core/ops/testing/op_samples.h"
#include "core/quantization/quantize.h"
#include "core/target/support.h"

namespace qb {
namespace {

constexpr char kInputs[] = R"(
    x = Input float32[1x6x6x4]
    z = Input float32[1x6x6x4]
    m = Input float32[1x5x8]
    n = Input float32[1x8x3]
    v = Input float32[8]
    w = InputConstant float32[4x3x3x4] random(1)
    wg = InputConstant float32[4x3x3x1] random(2)
    u = InputConstant float32[8x3] random(3)
    uu = InputConstant float32[2x8x3] random(4)
    left = InputConstant float32[2x5x8] random(6)
    b3 = InputConstant float32[3] [1, 2, 3]
    v8 = InputConstant float32[8] random(5)
    p8 = InputConstant float32[8] [1, 2, 3, 4, 5, 6, 7, 8]
    b4 = InputConstant float32[4] [1, 2, 3, 4]
    not_finite = InputConstant float32[8] [1, 2, 3, inf, 5, 6, 7, 8]
    long = Input float32[1x32769]
    long_scale = InputConstant float32[32769] random(7)
    p4 = InputConstant float32[4] [0.5, 1, 2, 3]
    zeros = InputConstant float32[4] [0, 1, 2, 3]
    two = InputConstant float32[scalar] [2]
    rows = InputConstant float32[1x6x1x1] [1, 2, 3, 4, 5, 6]
    even = InputConstant int64[2] [3, 1]
    uneven = InputConstant int64[3] [0, 1, 3]
    square = InputConstant int64[1x2] [0, 2]
)";

// Bodies; the last value becomes the output. Those that are out of limits are part of the list: the
// test asks for agreement, not for support.
const std::vector<std::string>& Cases() {
  static const std::vector<std::string> cases = {
      "y = Identity(x)",
      "y = Cast(x) {dtype=\"int64\"}",
      "a = Cast(x) {dtype=\"int64\"}\n y = Cast(a) {dtype=\"float32\"}",
      "y = Convolution(x, w) {h_kernel=3, w_kernel=3, channel_last=true}",
      "y = Convolution(x, w, b4) {h_kernel=3, w_kernel=3, h_stride=2, w_stride=2, "
      "channel_last=true}",
      "y = Convolution(x, wg) {h_kernel=3, w_kernel=3, group_number=4, north_padding=1, "
      "channel_last=true}",
      "a = Relu(w)\n y = Convolution(x, a) {h_kernel=3, w_kernel=3, channel_last=true}",
      "y = TransposeConvolution(x, w) {h_kernel=3, w_kernel=3, h_stride=2, w_stride=2, "
      "channel_last=true}",
      "y = TransposeConvolution(x, w) {h_kernel=3, w_kernel=3, north_padding=3, channel_last=true}",
      "y = MatMul(m, u)",
      "y = MatMul(m, u, b3)",
      "y = MatMul(m, n)",
      "y = MatMul(m, n, b3)",
      "y = MatMul(v, u)",
      "y = MatMul(v, n)",
      "y = MatMul(m, uu)",
      "y = MatMul(m, uu, b3)",
      "y = MatMul(left, n)",
      "y = Adding(x, z)",
      "y = Adding(x, b4)",
      "y = Adding(x, two)",
      "y = Sub(rows, x)",
      "y = Sub(two, x)",
      "y = Multiply(x, z)",
      "y = Multiply(x, x)",
      "y = Multiply(x, rows)",
      "y = Div(x, two)",
      "y = Div(x, p4)",
      "y = Div(x, zeros)",
      "y = Div(x, z)",
      "y = Div(two, x)",
      "y = Div(p4, x)",
      "y = Pow(x, two)",
      "y = Pow(x, z)",
      "y = Pow(two, x)",
      "y = Maximum(x, z)",
      "y = Maximum(x, two)",
      "y = Maximum(x, b4)",
      "y = Minimum(x, two)",
      "y = Minimum(x, z)",
      "y = PRelu(x, b4)",
      "y = PRelu(x, two)",
      "y = PRelu(x, rows)",
      "y = PRelu(x, z)",
      "y = Relu(x)",
      "y = LeakyRelu(x)",
      "y = Clip(x) {clip_min_value=-1.0, clip_max_value=2.0}",
      "y = Sigmoid(x)",
      "y = Tanh(x)",
      "y = HardSigmoid(x)",
      "y = HardSwish(x)",
      "y = Swish(x)",
      "y = Elu(x)",
      "y = Exp(x)",
      "a = Exp(x)\n y = Log(a)",
      "a = Abs(x)\n y = Sqrt(a)",
      "y = Abs(x)",
      "y = Neg(x)",
      "y = Erf(x)",
      "y = Ceil(x)",
      "y = Floor(x)",
      "y = Softplus(x)",
      "y = Batchnorm(x, b4, b4, b4, p4) {axis=3}",
      "y = Batchnorm(m, v8, v8, v8, p8) {axis=2}",
      "y = Softmax(x) {axis=3}",
      "y = Softmax(x) {axis=1}",
      "y = Softmax(x) {axis=3, beta=-1.0}",
      "y = LayerNormalization(m, p8, v8) {axis=2}",
      "y = LayerNormalization(x, p4) {axis=3}",
      "y = LayerNormalization(m, v, v8) {axis=2}",
      "y = LayerNormalization(m, not_finite, v8) {axis=2}",
      "y = LayerNormalization(long, long_scale) {axis=1}",
      "y = RmsNormalization(m, p8) {axis=2}",
      "y = RmsNormalization(m, v) {axis=2}",
      "y = Pooling(x) {h_kernel=2, w_kernel=2, channel_last=true}",
      "y = Pooling(x) {h_kernel=2, w_kernel=2, pool_type=\"average\", channel_last=true}",
      "y = Pooling(x) {h_kernel=2, w_kernel=2}",
      "y = GlobalAveragePooling(x) {channel_last=true}",
      "y = GlobalAveragePooling(x)",
      "y = ReduceMean(x) {reduce_axes=[3]}",
      "y = ReduceMean(x) {reduce_axes=[1, 2], keep_dims=false}",
      "y = ReduceSum(x) {reduce_axes=[1]}",
      "y = ReduceMax(x) {reduce_axes=[1, 2]}",
      "y = ReduceMax(x) {reduce_axes=[1, 2], keep_dims=false}",
      "y = ReduceMax(x) {reduce_axes=[3]}",
      "y = ReduceMax(x) {reduce_axes=[1, 3]}",
      "y = ReduceMin(x) {reduce_axes=[3]}",
      "y = Reshape(x) {new_shape=[1, 144]}",
      "y = Transpose(x) {transpose_axes=[0, 3, 1, 2]}",
      "y = Concatenate(x, z) {axis=3}",
      "y = Slice(x) {axis=[1], start=[1], end=[5], step=[2]}",
      "y = Slice(x) {axis=[1], start=[5], end=[-1], step=[-1]}",
      "y = Pad(x) {padding_list=[0, 1, 1, 0, 0, 1, 1, 0]}",
      "y = Pad(x) {padding_list=[0, 1, 1, 0, 0, 1, 1, 0], pad_mode=\"edge\"}",
      "y = Pad(x) {padding_list=[0, 1, 1, 0, 0, 1, 1, 0], pad_mode=\"reflect\"}",
      "y = Pad(x) {padding_list=[0, -1, 0, 0, 0, 0, 0, 0]}",
      "a = ReduceMean(x) {reduce_axes=[1]}\n y = Expand(a) {shape=[1, 6, 6, 4]}",
      "y = Gather(x, even) {axis=1}",
      "y = Gather(x, uneven) {axis=1}",
      "y = Gather(x, square) {axis=2}",
      "y = Resize(x) {mode=\"nearest\", sizes=[1, 12, 12, 4], scales=[1, 2, 2, 1]}",
      "y = Resize(x) {mode=\"linear\", sizes=[1, 12, 12, 4], scales=[1, 2, 2, 1]}",
      "y = Resize(x) {mode=\"cubic\", sizes=[1, 12, 12, 4], scales=[1, 2, 2, 1]}",
      "y = Resize(x) {mode=\"nearest\", sizes=[1, 6, 6, 8], scales=[1, 1, 1, 2]}",
      "y = DepthToSpace(x) {block_size=2, channel_last=true}",
      "y = SpaceToDepth(x) {block_size=2, channel_last=true}",
      // Functions of one value, spelled out.
      "a = Exp(x)\n b = Adding(a, two)\n y = Div(a, b)",
      "a = Clip(x) {clip_min_value=0.0, clip_max_value=6.0}\n y = Multiply(x, a)",
      "a = Multiply(x, two)\n b = Adding(a, two)\n y = Clip(b) {clip_min_value=0.0, "
      "clip_max_value=6.0}",
      "a = Neg(x)\n y = Maximum(x, a)",
  };
  return cases;
}

// Inputs that the body uses, the body, an output.
absl::StatusOr<Graph> GraphOf(const std::string& body) {
  QB_ASSIGN_OR_RETURN(Graph graph, GraphFromText(absl::StrCat("graph \"g\" {", kInputs, "\n ", body,
                                                              "\n out = Output(y)\n}")));
  // Unused inputs stay inputs; they are float32 and harmless.
  graph.RemoveDeadNodes();
  return graph;
}

absl::Status CompileGraph(const Graph& graph, const TargetSpec& target) {
  std::vector<InputSpec> inputs;
  for (const Node* input : graph.inputs()) {
    inputs.push_back({input->name(), input->type()});
  }
  NullProgressSink sink;
  QB_ASSIGN_OR_RETURN(const QuantizedModel model,
                      Quantize(graph, *MakeRandomDataset(inputs, 2, 5), QuantizationOptions{}, sink,
                               CancelToken()));
  return npu::BuildProgram(model.network, target, CoreMode::kSingle).status();
}

struct Case {
  std::string text;
  absl::StatusOr<Graph> graph;
};

// Those of this file, and the sample that core/ops has of every operator.
std::vector<Case> AllCases() {
  std::vector<Case> all;
  for (const std::string& body : Cases()) {
    all.push_back({body, GraphOf(body)});
  }
  for (const testing::OpSample& sample : testing::kOpSamples) {
    all.push_back({sample.expression, testing::GraphOfSample(sample.expression)});
  }
  return all;
}

TEST(SupportAgreement, OfRulesAndLowering) {
  const std::vector<Case> cases = AllCases();
  for (const char* name : {"aries-rb", "regulus-ra"}) {
    const TargetSpec& target = **FindTarget(name);
    for (const auto& [text, graph] : cases) {
      EXPECT_TRUE(graph.ok()) << text << ": " << graph.status();
      if (!graph.ok()) {
        continue;
      }
      const SupportReport support = CheckSupport(*graph, target);
      const absl::Status compiled = CompileGraph(*graph, target);
      const bool supported = support.unsupported_count() == 0;
      // Without the unit for tables a function is refused by its name, also where its table happens
      // to be a line over the codes that the data need.
      EXPECT_TRUE(supported == compiled.ok() || (!target.lut_unit && !supported))
          << name << ": " << text << "\n"
          << RequireFullSupport(support, target) << "\n"
          << compiled;
    }
  }
}

}  // namespace
}  // namespace qb
