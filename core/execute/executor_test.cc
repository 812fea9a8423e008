#include "core/execute/executor.h"

#include <gmock/gmock.h>

#include <map>
#include <string>
#include <thread>

#include "core/base/testing/status_matchers.h"
#include "core/execute/evaluate.h"
#include "core/ops/graph_text.h"
#include "core/ops/testing/op_samples.h"

namespace qb {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Le;
using testing::StatusIs;

// Residual blocks, aliases and pointwise chains: everything that shares buffers.
constexpr char kNetwork[] = R"(
graph "residual" {
  x = Input float32[1x16x16x8]
  w1 = InputConstant float32[16x3x3x8] random(1)
  b1 = InputConstant float32[16] random(2)
  c1 = Convolution(x, w1, b1) {h_kernel=3, w_kernel=3, north_padding=1, south_padding=1,
       west_padding=1, east_padding=1, channel_last=true, activation="relu"}
  s1 = Sigmoid(c1)
  m1 = Multiply(c1, s1)
  w2 = InputConstant float32[16x1x1x16] random(3)
  c2 = Convolution(m1, w2) {channel_last=true}
  a1 = Adding(c2, m1) {activation="relu"}
  n1 = Neg(a1)
  f1 = Reshape(n1) {new_shape=[1, 4096]}
  e1 = Exp(f1)
  g1 = Reshape(e1) {new_shape=[1, 16, 16, 16]}
  a2 = Adding(g1, a1)
  p1 = Pooling(a2) {h_kernel=2, w_kernel=2, h_stride=2, w_stride=2, channel_last=true}
  q1 = Relu(p1)
  k = Concatenate(p1, q1) {axis=3}
  g2 = GlobalAveragePooling(k) {channel_last=true}
  y = Output(g2)
  early = Output(c1)
  twin = Output(f1)
  again = Output(g2)
  echo = Output(x)
}
)";

Graph Parse(const char* text) {
  absl::StatusOr<Graph> graph = GraphFromText(text);
  QB_CHECK_MSG(graph.ok(), graph.status().ToString());
  return *std::move(graph);
}

Tensor RandomTensor(const TensorType& type, uint32_t seed) {
  Tensor tensor = Tensor::Allocate(type);
  uint32_t state = seed * 2654435761u + 12345u;
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    state = state * 1664525u + 1013904223u;
    tensor.mutable_data<float>()[i] = static_cast<float>(state >> 8) * 0x1p-23f - 1.0f;
  }
  return tensor;
}

std::vector<Tensor> RandomInputs(const Graph& graph, uint32_t seed) {
  std::vector<Tensor> inputs;
  for (const Node* input : graph.inputs()) {
    inputs.push_back(RandomTensor(input->type(), seed++));
  }
  return inputs;
}

// Every node's value in a buffer of its own: what no planning mistake can touch.
std::map<const Node*, Tensor> ValuesWithoutPlan(const Graph& graph,
                                                absl::Span<const Tensor> inputs) {
  std::map<const Node*, Tensor> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    values[graph.inputs()[i]] = inputs[i];
  }
  for (const Node* node : graph.TopologicalOrder()) {
    if (node->op() == OpKind::kInput) {
      continue;
    }
    std::vector<Tensor> operands;
    for (const Node* operand : node->operands()) {
      operands.push_back(values.at(operand));
    }
    absl::StatusOr<Tensor> value = EvaluateNode(*node, operands);
    QB_CHECK_MSG(value.ok(), value.status().ToString());
    values[node] = *value;
  }
  return values;
}

std::vector<const Node*> AllButConstants(const Graph& graph) {
  std::vector<const Node*> nodes;
  for (const Node* node : graph.nodes()) {
    if (!node->is_constant()) {
      nodes.push_back(node);
    }
  }
  return nodes;
}

TEST(FloatExecutor, OutputsEqualAnEvaluationWithoutSharedBuffers) {
  const Graph graph = Parse(kNetwork);
  const std::vector<Tensor> inputs = RandomInputs(graph, 1);
  const auto expected = ValuesWithoutPlan(graph, inputs);
  QB_ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> outputs, RunOnce(graph, inputs));
  ASSERT_EQ(outputs.size(), 5u);
  for (size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_TRUE(outputs[i].Equals(expected.at(graph.outputs()[i]))) << i;
  }
}

TEST(FloatExecutor, ObserverSeesEveryValueBeforeItsBufferIsReused) {
  const Graph graph = Parse(kNetwork);
  const std::vector<Tensor> inputs = RandomInputs(graph, 2);
  const auto expected = ValuesWithoutPlan(graph, inputs);
  QB_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<FloatExecutor> executor,
                          CreateCpuExecutor(graph, {.observed = AllButConstants(graph)}));
  const std::unique_ptr<FloatExecutor::Context> context = executor->NewContext();
  std::vector<std::string> seen;
  RunOptions options;
  options.observer = [&](const Node& node, const Tensor& view) {
    seen.push_back(node.name());
    EXPECT_TRUE(view.Equals(expected.at(&node))) << node.name();
  };
  std::vector<Tensor> outputs;
  ASSERT_THAT(executor->Run(*context, inputs, options, &outputs), testing::IsOk());
  EXPECT_EQ(seen.size(), AllButConstants(graph).size());
}

// The value of every node where that of `changed` is another.
std::map<const Node*, Tensor> ValuesWithChange(const Graph& graph, absl::Span<const Tensor> inputs,
                                               const Node* changed, const Tensor& value) {
  std::map<const Node*, Tensor> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    values[graph.inputs()[i]] = graph.inputs()[i] == changed ? value : inputs[i];
  }
  for (const Node* node : graph.TopologicalOrder()) {
    if (node->op() == OpKind::kInput) {
      continue;
    }
    std::vector<Tensor> operands;
    for (const Node* operand : node->operands()) {
      operands.push_back(values.at(operand));
    }
    values[node] = node == changed ? value : *EvaluateNode(*node, operands);
  }
  return values;
}

TEST(FloatExecutor, RunsOnFromAnyNodeWithAnotherValue) {
  const Graph graph = Parse(kNetwork);
  const std::vector<Tensor> inputs = RandomInputs(graph, 2);
  std::vector<const Node*> nodes;
  for (const char* name : {"x", "c1", "s1", "m1", "c2", "a1", "n1", "e1", "a2", "p1", "q1", "k"}) {
    nodes.push_back(graph.FindNode(name));
  }
  QB_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<FloatExecutor> executor,
                          CreateCpuExecutor(graph, {.observed = nodes}));
  const std::unique_ptr<FloatExecutor::Context> context = executor->NewContext();
  const std::unique_ptr<FloatExecutor::Context> rest = executor->NewContext();
  size_t seen = 0;
  RunOptions options;
  options.observer = [&](const Node& node, const Tensor& view) {
    const Tensor value = RandomTensor(view.type(), 77);
    const auto expected = ValuesWithChange(graph, inputs, &node, value);
    std::vector<Tensor> outputs;
    QB_ASSERT_OK(executor->RunOnFrom(*context, *rest, node, value, &outputs));
    for (size_t i = 0; i < outputs.size(); ++i) {
      EXPECT_TRUE(outputs[i].Equals(expected.at(graph.outputs()[i]))) << node.name() << " " << i;
    }
    EXPECT_THAT(executor->RunOnFrom(*context, *rest, node, Tensor::OfFloats({1}, {1}), &outputs),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("its type is")));
    ++seen;
  };
  std::vector<Tensor> outputs;
  ASSERT_THAT(executor->Run(*context, inputs, options, &outputs), testing::IsOk());
  EXPECT_EQ(seen, nodes.size());
  const auto unchanged = ValuesWithoutPlan(graph, inputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_TRUE(outputs[i].Equals(unchanged.at(graph.outputs()[i]))) << i;
  }
}

TEST(FloatExecutor, ObserverSeesOnlyWhatWasAskedFor) {
  const Graph graph = Parse(kNetwork);
  QB_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<FloatExecutor> executor,
                          CreateCpuExecutor(graph, {.observed = {graph.FindNode("a1")}}));
  const std::unique_ptr<FloatExecutor::Context> context = executor->NewContext();
  std::vector<std::string> seen;
  RunOptions options;
  options.observer = [&](const Node& node, const Tensor&) { seen.push_back(node.name()); };
  std::vector<Tensor> outputs;
  ASSERT_THAT(executor->Run(*context, RandomInputs(graph, 2), options, &outputs), testing::IsOk());
  EXPECT_THAT(seen, ElementsAre("a1"));
}

TEST(FloatExecutor, OneContextServesManyRuns) {
  const Graph graph = Parse(kNetwork);
  QB_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<FloatExecutor> executor, CreateCpuExecutor(graph));
  const std::unique_ptr<FloatExecutor::Context> context = executor->NewContext();
  for (uint32_t seed : {3u, 4u, 3u}) {
    const std::vector<Tensor> inputs = RandomInputs(graph, seed);
    std::vector<Tensor> outputs;
    ASSERT_THAT(executor->Run(*context, inputs, {}, &outputs), testing::IsOk());
    EXPECT_TRUE(outputs[0].Equals(ValuesWithoutPlan(graph, inputs).at(graph.outputs()[0])));
  }
}

TEST(FloatExecutor, ContextsRunConcurrentlyWithEqualBits) {
  const Graph graph = Parse(kNetwork);
  QB_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<FloatExecutor> executor, CreateCpuExecutor(graph));
  constexpr uint32_t kSamples = 40;
  std::vector<Tensor> expected;
  for (uint32_t i = 0; i < kSamples; ++i) {
    expected.push_back(ValuesWithoutPlan(graph, RandomInputs(graph, i)).at(graph.outputs()[0]));
  }
  std::vector<Tensor> got(kSamples);
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const std::unique_ptr<FloatExecutor::Context> context = executor->NewContext();
      for (uint32_t i = t; i < kSamples; i += 4) {
        std::vector<Tensor> outputs;
        QB_CHECK(executor->Run(*context, RandomInputs(graph, i), {}, &outputs).ok());
        got[i] = outputs[0];
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (uint32_t i = 0; i < kSamples; ++i) {
    EXPECT_TRUE(got[i].Equals(expected[i])) << i;
  }
}

TEST(FloatExecutor, ReusesBuffers) {
  std::string text = "graph \"chain\" {\n  x = Input float32[1x64x64x16]\n";
  std::string last = "x";
  for (int i = 0; i < 30; ++i) {
    const std::string name = absl::StrCat("t", i);
    absl::StrAppend(&text, "  ", name, " = Pooling(", last,
                    ") {h_kernel=3, w_kernel=3, north_padding=1, south_padding=1, west_padding=1, "
                    "east_padding=1, channel_last=true}\n");
    last = name;
  }
  absl::StrAppend(&text, "  y = Output(", last, ")\n}");
  const Graph graph = Parse(text.c_str());
  QB_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<FloatExecutor> executor, CreateCpuExecutor(graph));
  const int64_t value_bytes = int64_t{64} * 64 * 16 * 4;
  EXPECT_THAT(executor->largest_live_bytes(), Le(3 * value_bytes));
  EXPECT_EQ(executor->arena_bytes(), executor->largest_live_bytes());
}

TEST(FloatExecutor, PointwiseChainsRunInPlace) {
  const Graph graph = Parse(R"(graph "chain" {
    x = Input float32[1x1000]
    a = Relu(x)
    b = Neg(a)
    c = Sigmoid(b)
    d = Adding(c, x)
    y = Output(d)
  })");
  QB_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<FloatExecutor> executor, CreateCpuExecutor(graph));
  EXPECT_EQ(executor->arena_bytes(), 0);  // the one buffer is the output's
}

TEST(FloatExecutor, PacksConstantWeightsOnce) {
  const Graph graph = Parse(kNetwork);
  QB_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<FloatExecutor> executor, CreateCpuExecutor(graph));
  EXPECT_THAT(executor->packed_weight_bytes(), Le(2 * 4 * (16 * 9 * 8 + 16 * 16)));
}

TEST(FloatExecutor, RefusesInputsOfAnotherType) {
  const Graph graph = Parse(kNetwork);
  EXPECT_THAT(RunOnce(graph, {}), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("got 0 inputs, the model has 1")));
  const std::vector<Tensor> inputs = {Tensor::OfFloats({1, 2}, {1, 2})};
  EXPECT_THAT(
      RunOnce(graph, inputs),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("input 'x': got float32[1x2], the model takes float32[1x16x16x8]")));
}

TEST(FloatExecutor, RefusesToObserveAConstant) {
  const Graph graph = Parse(kNetwork);
  EXPECT_THAT(CreateCpuExecutor(graph, {.observed = {graph.FindNode("w1")}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("node 'w1'")));
}

TEST(FloatExecutor, RefusesAnArenaAboveTheLimit) {
  const Graph graph = Parse(kNetwork);
  EXPECT_THAT(CreateCpuExecutor(graph, {.most_arena_bytes = 1000}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("at most 1000")));
}

TEST(FloatExecutor, HasAKernelForEveryOperator) {
  for (const testing::OpSample& sample : testing::kOpSamples) {
    QB_ASSERT_OK_AND_ASSIGN(const Graph graph, testing::GraphOfSample(sample.expression));
    const std::vector<Tensor> inputs = RandomInputs(graph, 5);
    QB_ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> outputs, RunOnce(graph, inputs));
    EXPECT_TRUE(outputs[0].Equals(ValuesWithoutPlan(graph, inputs).at(graph.outputs()[0])))
        << sample.expression;
  }
}

}  // namespace
}  // namespace qb
