// What every pass test does: a graph as text, the pass, and results that stay equal.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/testing/status_matchers.h"
#include "core/execute/executor.h"
#include "core/ops/graph_text.h"
#include "core/ops/verifier.h"

namespace qb::testing {

// Parses the body of a graph; ends the test process on a typing mistake.
inline Graph ParseBody(absl::string_view body) {
  absl::StatusOr<Graph> graph = GraphFromText(absl::StrCat("graph \"test\" {\n", body, "\n}"));
  QB_CHECK_MSG(graph.ok(), graph.status().ToString());
  return *std::move(graph);
}

// Values in [-2, 2), a function of `seed` alone.
inline Tensor RandomTensor(const TensorType& type, uint64_t seed) {
  Tensor tensor = Tensor::Allocate(type);
  QB_CHECK(type.dtype == DType::kFloat32);
  uint64_t state = seed * 2654435761u + 88172645463325252u;
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    tensor.mutable_data<float>()[i] = static_cast<float>(state >> 40) * 0x1p-22f - 2.0f;
  }
  return tensor;
}

inline std::vector<Tensor> RandomInputs(const Graph& graph, uint64_t seed) {
  std::vector<Tensor> inputs;
  for (const Node* input : graph.inputs()) {
    inputs.push_back(RandomTensor(input->type(), seed++));
  }
  return inputs;
}

// |a - b| <= tolerance * max(1, max |a|) for every element of every output.
inline void ExpectClose(const std::vector<Tensor>& before, const std::vector<Tensor>& after,
                        float tolerance) {
  ASSERT_EQ(before.size(), after.size());
  for (size_t output = 0; output < before.size(); ++output) {
    ASSERT_EQ(before[output].type(), after[output].type());
    const absl::Span<const float> a = before[output].values<float>();
    const absl::Span<const float> b = after[output].values<float>();
    float largest = 1.0f;
    float error = 0.0f;
    for (size_t i = 0; i < a.size(); ++i) {
      largest = std::max(largest, std::abs(a[i]));
      error = std::max(error, std::abs(a[i] - b[i]));
      ASSERT_FALSE(std::isnan(b[i])) << "output " << output << " element " << i;
    }
    EXPECT_LE(error, tolerance * largest) << "output " << output;
  }
}

using Rewrite = std::function<absl::StatusOr<bool>(Graph&)>;

// Runs `rewrite` on the graph, expects that it says so when it changed something, that the graph
// stays valid and that the results for random inputs stay equal within `tolerance`. Returns what
// the pass returned.
inline bool ExpectPassPreservesResults(Graph& graph, const Rewrite& rewrite,
                                       float tolerance = 1e-5f) {
  graph.RemoveDeadNodes();  // operands that a test declares and this graph does not use
  const GraphTextOptions digests = {.most_values = 0};
  const std::string text_before = GraphToText(graph, digests);
  const std::vector<Tensor> inputs = RandomInputs(graph, 1);
  const absl::StatusOr<std::vector<Tensor>> before = RunOnce(graph, inputs);
  EXPECT_TRUE(before.ok()) << before.status();
  const absl::StatusOr<bool> changed = rewrite(graph);
  EXPECT_TRUE(changed.ok()) << changed.status();
  QB_EXPECT_OK(VerifyGraph(graph, "the pass"));
  if (!before.ok() || !changed.ok()) {
    return false;
  }
  EXPECT_EQ(GraphToText(graph, digests) != text_before, *changed);
  const absl::StatusOr<std::vector<Tensor>> after = RunOnce(graph, inputs);
  EXPECT_TRUE(after.ok()) << after.status() << "\n" << GraphToText(graph);
  if (after.ok()) {
    ExpectClose(*before, *after, tolerance);
  }
  return *changed;
}

// The graph is one that the pass must not touch.
inline void ExpectPassLeavesAlone(Graph graph, const Rewrite& rewrite) {
  EXPECT_FALSE(ExpectPassPreservesResults(graph, rewrite)) << GraphToText(graph);
}

// How many nodes of the kind the graph has.
inline int64_t CountOps(const Graph& graph, OpKind kind) {
  int64_t count = 0;
  for (const Node* node : graph.nodes()) {
    count += node->op() == kind ? 1 : 0;
  }
  return count;
}

// The node that computes output `index`.
inline const Node& ResultOf(const Graph& graph, size_t index = 0) {
  return *graph.outputs()[index]->operand(0);
}

}  // namespace qb::testing
