// How long the passes take on generated graphs of 1000, 3000 and 10 000 nodes. Fails when the
// largest takes more than 2 s or when time grows faster than n log n (with a third to spare).
//
//   build/release/bin/qb_pass_scale
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <vector>

#include "core/base/check.h"
#include "core/ir/graph.h"
#include "core/ops/build.h"
#include "core/ops/movement.h"
#include "core/passes/pipeline.h"

namespace qb {
namespace {

constexpr int64_t kChannels = 8;
constexpr int64_t kSide = 4;

Node* Checked(absl::StatusOr<Node*> node) {
  QB_CHECK_MSG(node.ok(), node.status().message());
  return *node;
}

Node* Parameter(Graph& graph, Shape shape, float value) {
  Tensor tensor = Tensor::Allocate({DType::kFloat32, std::move(shape)});
  float* out = tensor.mutable_data<float>();
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    out[i] = value + 0.01f * static_cast<float>(i % 7);
  }
  return graph.AddConstant("", std::move(tensor));
}

Node* Block(Graph& graph, Node* x) {
  Node* weights = Parameter(graph, {kChannels, kChannels, 1, 1}, 0.1f);
  Node* y = Checked(AddOp(graph, OpKind::kConvolution, "", {x, weights}));
  std::vector<Node*> operands = {y};
  for (const float value : {1.0f, 0.5f, 0.1f, 1.0f}) {
    operands.push_back(Parameter(graph, {kChannels}, value));
  }
  y = Checked(AddOp(graph, OpKind::kBatchnorm, "", operands));
  // Swish as exporters spell it.
  Node* gate = Checked(AddOp(graph, OpKind::kSigmoid, "", {y}));
  y = Checked(AddOp(graph, OpKind::kMultiply, "", {y, gate}));
  TransposeAttrs there;
  there.transpose_axes = {0, 2, 3, 1};
  TransposeAttrs back;
  back.transpose_axes = {0, 3, 1, 2};
  y = Checked(AddOp(graph, OpKind::kTranspose, "", {y}, there));
  y = Checked(AddOp(graph, OpKind::kMultiply, "", {y, Parameter(graph, {kChannels}, 0.7f)}));
  y = Checked(AddOp(graph, OpKind::kTranspose, "", {y}, back));
  ReshapeAttrs flat;
  flat.new_shape = {1, kChannels, kSide * kSide};
  ReshapeAttrs image;
  image.new_shape = {1, kChannels, kSide, kSide};
  y = Checked(AddOp(graph, OpKind::kReshape, "", {y}, flat));
  y = Checked(AddOp(graph, OpKind::kReshape, "", {y}, image));
  y = Checked(AddOp(graph, OpKind::kAdding, "", {x, y}));
  return Checked(AddOp(graph, OpKind::kRelu, "", {y}));
}

Graph GraphOf(int64_t nodes) {
  Graph graph("scale");
  Node* x = graph.AddInput("x", {DType::kFloat32, Shape{1, kChannels, kSide, kSide}});
  while (graph.node_count() < nodes) {
    x = Block(graph, x);
  }
  graph.AddOutput("y", x);
  return graph;
}

// CPU seconds, the least of three runs: other work on the machine does not count.
double SecondsOfPasses(int64_t nodes) {
  constexpr int kRuns = 3;
  double least = 0.0;
  for (int run = 0; run < kRuns; ++run) {
    Graph graph = GraphOf(nodes);
    const std::clock_t start = std::clock();
    const absl::Status status = RunPasses(graph, {.layout = GraphLayout::kChannelLast});
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    QB_CHECK_MSG(status.ok(), status.message());
    least = run == 0 ? seconds : std::min(least, seconds);
  }
  return least;
}

int Main() {
  constexpr double kMostSeconds = 2.0;
  constexpr double kSlack = 4.0 / 3.0;
  constexpr int64_t kSizes[] = {1000, 3000, 10000};
  double seconds = 0.0;
  double first_rate = 0.0;
  bool linear = true;
  for (const int64_t size : kSizes) {
    seconds = SecondsOfPasses(size);
    const double rate =
        seconds / (static_cast<double>(size) * std::log2(static_cast<double>(size)));
    first_rate = size == kSizes[0] ? rate : first_rate;
    linear = linear && rate <= first_rate * kSlack;
    std::printf("%6lld nodes: %.3f s, %.1f ns a node and log2(n)\n", static_cast<long long>(size),
                seconds, rate * 1e9);
  }
  std::printf("10 000 nodes within %.0f s: %s; grows no faster than n log n: %s\n", kMostSeconds,
              seconds <= kMostSeconds ? "yes" : "NO", linear ? "yes" : "NO");
  return seconds <= kMostSeconds && linear ? 0 : 1;
}

}  // namespace
}  // namespace qb

int main() { return qb::Main(); }
