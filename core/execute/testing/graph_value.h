// The value of an expression over constants, for tests of kernels.
#pragma once

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

#include "core/execute/evaluate.h"
#include "core/execute/executor.h"
#include "core/ops/graph_text.h"

namespace qb::testing {

// A graph, and the value of each of its nodes by EvaluateNode.
struct Evaluated {
  Graph graph;
  std::map<std::string, Tensor> values;

  const Tensor& operator[](const std::string& name) const { return values.at(name); }
  const Node& node(absl::string_view name) const { return *graph.FindNode(name); }
};

// Evaluates a graph without inputs: `declarations` (lines of the text form), then r = `expression`.
// The executor must give the same bits as the evaluation node by node.
inline absl::StatusOr<Evaluated> EvaluateText(absl::string_view declarations,
                                              absl::string_view expression) {
  absl::StatusOr<Graph> graph = GraphFromText(
      absl::StrCat("graph \"t\" {\n", declarations, "\nr = ", expression, "\ny = Output(r)\n}"));
  if (!graph.ok()) {
    return graph.status();
  }
  Evaluated evaluated{*std::move(graph), {}};
  for (const Node* node : evaluated.graph.TopologicalOrder()) {
    std::vector<Tensor> operands;
    for (const Node* operand : node->operands()) {
      operands.push_back(evaluated.values.at(operand->name()));
    }
    absl::StatusOr<Tensor> value = EvaluateNode(*node, operands);
    if (!value.ok()) {
      return value.status();
    }
    evaluated.values[node->name()] = *value;
  }
  absl::StatusOr<std::vector<Tensor>> run = RunOnce(evaluated.graph, {});
  if (!run.ok()) {
    return run.status();
  }
  if (!run->at(0).Equals(evaluated["r"])) {
    return absl::InternalError("the executor and EvaluateNode differ");
  }
  return evaluated;
}

// The value of `expression` as floats (or int64s, ...); empty after a failed evaluation.
template <typename T = float>
std::vector<T> ValuesOf(absl::string_view declarations, absl::string_view expression) {
  absl::StatusOr<Evaluated> evaluated = EvaluateText(declarations, expression);
  EXPECT_TRUE(evaluated.ok()) << evaluated.status();
  if (!evaluated.ok()) {
    return {};
  }
  const absl::Span<const T> values = (*evaluated)["r"].values<T>();
  return std::vector<T>(values.begin(), values.end());
}

// max|a - b| / max|b|; infinity when sizes differ or a value is not a number.
inline double RelativeError(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) {
    return INFINITY;
  }
  double difference = 0.0;
  double largest = 1e-30;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) || std::isnan(b[i])) {
      return INFINITY;
    }
    difference =
        std::max(difference, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
    largest = std::max(largest, std::abs(static_cast<double>(b[i])));
  }
  return difference / largest;
}

}  // namespace qb::testing
