#include "core/partition/partition.h"

#include "core/base/failure.h"
#include "core/base/testing/status_matchers.h"
#include "core/execute/executor.h"
#include "core/ops/graph_text.h"
#include "core/partition/part_graph.h"
#include "core/partition/work.h"

namespace qb {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Parted {
  std::unique_ptr<Graph> graph;
  SupportReport support;
  absl::StatusOr<Partition> partition = absl::InternalError("not run");
};

Parted Divide(const std::string& body, const PartitionOptions& options = {},
              const char* target = "aries-rb") {
  Parted result;
  absl::StatusOr<Graph> graph = GraphFromText("graph \"g\" {\n" + body + "\n}");
  EXPECT_TRUE(graph.ok()) << graph.status();
  result.graph = std::make_unique<Graph>(*std::move(graph));
  const TargetSpec& spec = **FindTarget(target);
  result.support = CheckSupport(*result.graph, spec);
  result.partition = PartitionGraph(*result.graph, spec, options, result.support);
  return result;
}

std::vector<std::string> Names(const std::vector<const Node*>& nodes) {
  std::vector<std::string> names;
  names.reserve(nodes.size());
  for (const Node* node : nodes) {
    names.push_back(node->name());
  }
  return names;
}

std::vector<std::string> PartNames(const Partition& partition) {
  std::vector<std::string> names;
  for (const GraphPart& part : partition.parts) {
    names.push_back(part.name);
  }
  return names;
}

std::string ReasonOf(const SupportReport& support, const std::string& name) {
  for (const NodeSupport& row : support.nodes) {
    if (row.node->name() == name) {
      return row.npu() ? "" : row.reasons.back();
    }
  }
  return "?";
}

// A convolution between work that the NPU has no instruction for.
constexpr char kSandwich[] = R"(
    x = Input int64[1x8x8x4]
    f = Cast(x) {dtype="float32"}
    w = InputConstant float32[6x3x3x4] random(7)
    c = Convolution(f, w) {h_kernel=3, w_kernel=3, channel_last=true}
    s = Sigmoid(c)
    m = ReduceMin(s) {reduce_axes=[3]}
    y = Output(m)
    z = Output(f))";

TEST(PartitionGraph, HasHeadBodyAndTail) {
  const Parted parted = Divide(kSandwich);
  QB_ASSERT_OK(parted.partition);
  const Partition& partition = *parted.partition;
  ASSERT_THAT(PartNames(partition), ElementsAre("cpu_head", "npu_body", "cpu_tail"));
  EXPECT_THAT(Names(partition.parts[0].nodes), ElementsAre("f"));
  EXPECT_THAT(Names(partition.parts[1].nodes), ElementsAre("c"));
  EXPECT_THAT(Names(partition.parts[1].inputs), ElementsAre("f"));
  EXPECT_THAT(Names(partition.parts[1].outputs), ElementsAre("c"));
  // The sigmoid has no products and moves no more bytes on the CPU.
  EXPECT_THAT(Names(partition.parts[2].nodes), ElementsAre("s", "m"));
  EXPECT_EQ(partition.parts[1].macs, 6 * 6 * 6 * 9 * 4);
  EXPECT_EQ(partition.parts[1].input_bytes(), 8 * 8 * 4 * 4);
  EXPECT_EQ(partition.parts[1].output_bytes(), 6 * 6 * 6 * 4);
  EXPECT_EQ(&partition.body(), &partition.parts[1]);
  EXPECT_TRUE(partition.needs_cpu());
  EXPECT_THAT(ReasonOf(parted.support, "s"), HasSubstr("moves no more bytes"));
  EXPECT_THAT(ReasonOf(parted.support, "f"), HasSubstr("float32"));
  EXPECT_EQ(ReasonOf(parted.support, "c"), "");
}

TEST(PartitionGraph, AModelThatTheNpuRunsHasOnePart) {
  const Parted parted = Divide(R"(
    x = Input float32[1x4x8x8]
    t = Transpose(x) {transpose_axes=[0, 2, 3, 1]}
    w = InputConstant float32[6x3x3x4] random(7)
    c = Convolution(t, w) {h_kernel=3, w_kernel=3, channel_last=true}
    u = Transpose(c) {transpose_axes=[0, 3, 1, 2]}
    y = Output(u))");
  QB_ASSERT_OK(parted.partition);
  EXPECT_THAT(PartNames(*parted.partition), ElementsAre("npu_body"));
  EXPECT_THAT(Names(parted.partition->parts[0].nodes), ElementsAre("t", "c", "u"));
  EXPECT_FALSE(parted.partition->needs_cpu());
}

// Two convolutions with a minimum over the channels in between, added back by broadcasting.
std::string TwoBodies(int second_channels) {
  return R"(
    x = Input float32[1x8x8x4]
    w = InputConstant float32[4x3x3x4] random(7)
    v = InputConstant float32[)" +
         std::to_string(second_channels) + R"(x1x1x4] random(8)
    a = Convolution(x, w) {h_kernel=3, w_kernel=3, north_padding=1, south_padding=1, west_padding=1, east_padding=1, channel_last=true}
    m = ReduceMin(a) {reduce_axes=[3]}
    s = Adding(a, m)
    b = Convolution(s, v) {channel_last=true}
    y = Output(b))";
}

TEST(PartitionGraph, KeepsLargeIslandsAndTheCpuBetweenThem) {
  const Parted parted = Divide(TwoBodies(40));
  QB_ASSERT_OK(parted.partition);
  ASSERT_THAT(PartNames(*parted.partition),
              ElementsAre("npu_body_1", "cpu_island_1", "npu_body_2"));
  EXPECT_THAT(Names(parted.partition->parts[1].inputs), ElementsAre("a"));
}

TEST(PartitionGraph, SmallIslandsGoToTheCpu) {
  PartitionOptions options;
  options.smallest_island_share = 0.2;
  const Parted parted = Divide(TwoBodies(1), options);  // 4 of 148 products for each place
  QB_ASSERT_OK(parted.partition);
  ASSERT_THAT(PartNames(*parted.partition), ElementsAre("npu_body", "cpu_tail"));
  EXPECT_THAT(Names(parted.partition->parts[0].nodes), ElementsAre("a"));
  EXPECT_THAT(ReasonOf(parted.support, "b"), HasSubstr("too small"));
  EXPECT_THAT(ReasonOf(parted.support, "b"), HasSubstr("256 products, 2.703 %"));
}

TEST(PartitionGraph, RefusesAnIslandThatMovesTooMuch) {
  PartitionOptions options;
  options.most_island_bytes = 1000;
  const Parted parted = Divide(TwoBodies(40), options);
  EXPECT_EQ(FailureCodeOf(parted.partition.status()), FailureCode::kUnsupportedOperator);
  const std::string message(parted.partition.status().message());
  EXPECT_THAT(message, HasSubstr("'m' (ReduceMin): The NPU has no instruction"));
  EXPECT_THAT(message, HasSubstr("'a' float32[1x8x8x4], 1024 bytes"));
  EXPECT_THAT(message, HasSubstr("offload.mostIslandBytes"));
}

TEST(PartitionGraph, RefusesWhenNothingIsLeft) {
  const Parted parted = Divide(R"(
    x = Input float32[1x4]
    m = ReduceMin(x) {reduce_axes=[1]}
    y = Output(m))");
  EXPECT_EQ(FailureCodeOf(parted.partition.status()), FailureCode::kUnsupportedOperator);
  EXPECT_THAT(std::string(parted.partition.status().message()), HasSubstr("nothing is left"));
}

TEST(PartitionGraph, AFunctionThatTheBorderCutsIsAskedAgain) {
  // The quotient is a table of m's user as long as both operands are functions of one value; the
  // CPU takes that value's owner, so the border would cut between.
  const Parted parted = Divide(R"(
    x = Input float32[1x6x6x4]
    w = InputConstant float32[4x1x1x4] random(7)
    m = ReduceMin(x) {reduce_axes=[3]}
    e = Exp(m)
    d = Div(e, m)
    s = Adding(x, d)
    c = Convolution(s, w) {channel_last=true}
    y = Output(c))");
  QB_ASSERT_OK(parted.partition);
  for (const GraphPart* part : parted.partition->npu_parts()) {
    const Graph cut = CutOutGraph(*parted.graph, {part->name, part->inputs, part->outputs});
    QB_EXPECT_OK(
        RequireFullSupport(CheckSupport(cut, **FindTarget("aries-rb")), **FindTarget("aries-rb")));
  }
}

TEST(PartitionGraph, AConstantOutputIsHandedOutByTheCpu) {
  const Parted parted = Divide(R"(
    x = Input float32[1x8x8x4]
    w = InputConstant float32[6x3x3x4] random(7)
    k = InputConstant float32[2] [1, 2]
    c = Convolution(x, w) {h_kernel=3, w_kernel=3, channel_last=true}
    y = Output(c)
    z = Output(k))");
  QB_ASSERT_OK(parted.partition);
  ASSERT_THAT(PartNames(*parted.partition), ElementsAre("npu_body", "cpu_tail"));
  EXPECT_THAT(Names(parted.partition->parts[1].outputs), ElementsAre("k"));
}

// Runs the parts one after the other, handing values on by name.
std::vector<Tensor> RunParts(const Graph& graph, const Partition& partition,
                             const std::vector<Tensor>& inputs) {
  std::map<std::string, Tensor> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    values[graph.inputs()[i]->name()] = inputs[i];
  }
  for (const GraphPart& part : partition.parts) {
    const Graph cut = CutOutGraph(graph, {part.name, part.inputs, part.outputs});
    std::vector<Tensor> taken;
    for (const Node* input : cut.inputs()) {
      taken.push_back(values.at(input->name()));
    }
    const absl::StatusOr<std::vector<Tensor>> given = RunOnce(cut, taken);
    EXPECT_TRUE(given.ok()) << given.status();
    for (size_t i = 0; given.ok() && i < given->size(); ++i) {
      values[cut.outputs()[i]->name()] = (*given)[i];
    }
  }
  std::vector<Tensor> results;
  for (const Node* output : graph.outputs()) {
    results.push_back(values.at(output->operand(0)->name()));
  }
  return results;
}

TEST(CutOutGraph, PartsComputeWhatTheWholeComputes) {
  Tensor input = Tensor::Allocate({DType::kInt64, {1, 8, 8, 4}});
  for (int64_t i = 0; i < input.elements(); ++i) {
    input.mutable_data<int64_t>()[i] = i % 7 - 3;
  }
  const Parted parted = Divide(kSandwich);
  QB_ASSERT_OK(parted.partition);
  QB_ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> whole, RunOnce(*parted.graph, {input}));
  const std::vector<Tensor> joined = RunParts(*parted.graph, *parted.partition, {input});
  ASSERT_EQ(joined.size(), whole.size());
  for (size_t i = 0; i < whole.size(); ++i) {
    EXPECT_TRUE(joined[i].Equals(whole[i])) << i;
  }
}

TEST(MacsOf, CountsProducts) {
  absl::StatusOr<Graph> graph = GraphFromText(R"(graph "g" {
    x = Input float32[1x4x4x2]
    w = InputConstant float32[6x2x2x1] random(7)
    c = TransposeConvolution(x, w) {h_kernel=2, w_kernel=2, h_stride=2, w_stride=2, group_number=2, channel_last=true}
    v = InputConstant float32[6x5] random(7)
    p = MatMul(c, v)
    y = Output(p)
  })");
  QB_ASSERT_OK(graph);
  EXPECT_EQ(MacsOf(*graph->FindNode("c")), 4 * 4 * 2 * 4 * 3);
  EXPECT_EQ(MacsOf(*graph->FindNode("p")), 8 * 8 * 6 * 5);
  EXPECT_EQ(MacsOf(*graph->FindNode("x")), 0);
}

}  // namespace
}  // namespace qb
