// Graphs that the bytes choose, divided between CPU and NPU: whatever the graph, each part reads
// only what exists before it, every output of the model exists in the end, and each NPU part passes
// the target's rules as a graph of its own.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/ops/build.h"
#include "core/ops/convolution.h"
#include "core/ops/movement.h"
#include "core/ops/pointwise.h"
#include "core/ops/reduce.h"
#include "core/partition/part_graph.h"
#include "core/partition/partition.h"
#include "core/target/support.h"

namespace {

using namespace qb;  // NOLINT(google-build-using-namespace): a file with one function

class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool empty() const { return at_ >= size_; }
  uint8_t Next() { return empty() ? 0 : data_[at_++]; }
  size_t Below(size_t limit) { return Next() % limit; }

 private:
  const uint8_t* data_;
  size_t size_;
  size_t at_ = 0;
};

// One more node over values that exist, when its operands fit.
absl::StatusOr<Node*> Grow(Graph& graph, Bytes& bytes, const std::vector<Node*>& values) {
  Node* a = values[bytes.Below(values.size())];
  Node* b = values[bytes.Below(values.size())];
  const std::string name = absl::StrCat("n", values.size());
  constexpr OpKind kUnary[] = {OpKind::kRelu, OpKind::kSigmoid, OpKind::kExp, OpKind::kNeg};
  constexpr OpKind kBinary[] = {OpKind::kAdding, OpKind::kMultiply, OpKind::kDiv, OpKind::kMaximum};
  switch (bytes.Below(6)) {
    case 0:
      return AddOp(graph, kUnary[bytes.Below(4)], name, {a});
    case 1:
      return AddOp(graph, kBinary[bytes.Below(4)], name, {a, b});
    case 2: {
      ReduceAttrs attrs;
      attrs.reduce_axes = {static_cast<int64_t>(bytes.Below(4))};
      return AddOp(graph, bytes.Below(2) == 0 ? OpKind::kReduceMin : OpKind::kReduceMean, name, {a},
                   attrs);
    }
    case 3: {
      if (a->shape().rank() != 4) {
        return a;
      }
      const int64_t out = 1 + static_cast<int64_t>(bytes.Below(8));
      Node* weights =
          graph.AddConstant(absl::StrCat(name, "_w"),
                            Tensor::Allocate({DType::kFloat32, Shape{out, 1, 1, a->shape()[3]}}));
      ConvolutionAttrs attrs;
      attrs.channel_last = true;
      return AddOp(graph, OpKind::kConvolution, name, {a, weights}, attrs);
    }
    case 4: {
      ConcatenateAttrs attrs;
      attrs.axis = 3;
      return AddOp(graph, OpKind::kConcatenate, name, {a, b}, attrs);
    }
    default: {
      CastAttrs attrs;
      attrs.dtype = bytes.Below(2) == 0 ? "int64" : "float32";
      return AddOp(graph, OpKind::kCast, name, {a}, attrs);
    }
  }
}

void CheckParts(const Graph& graph, const Partition& partition, const TargetSpec& target) {
  absl::flat_hash_set<const Node*> known(graph.inputs().begin(), graph.inputs().end());
  absl::flat_hash_set<const Node*> placed;
  for (const GraphPart& part : partition.parts) {
    for (const Node* input : part.inputs) {
      QB_CHECK_MSG(known.contains(input), "'", input->name(), "' is read before it exists");
    }
    for (const Node* node : part.nodes) {
      QB_CHECK(placed.insert(node).second);
    }
    known.insert(part.outputs.begin(), part.outputs.end());
    const Graph cut = CutOutGraph(graph, {part.name, part.inputs, part.outputs});
    if (part.npu) {
      QB_CHECK(CheckSupport(cut, target).unsupported_count() == 0);
    }
  }
  for (const Node* output : graph.outputs()) {
    QB_CHECK_MSG(known.contains(output->operand(0)), "output '", output->name(), "' is lost");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Bytes bytes(data, size);
  Graph graph("fuzz");
  std::vector<Node*> values = {
      graph.AddInput("x", {DType::kFloat32, Shape{1, 2, 2, 3}}),
      graph.AddInput("k", {DType::kInt64, Shape{1, 2, 2, 3}}),
      graph.AddConstant("c", Tensor::Allocate({DType::kFloat32, Shape{1}}))};
  while (!bytes.empty() && values.size() < 60) {
    const absl::StatusOr<Node*> grown = Grow(graph, bytes, values);
    if (grown.ok() && (*grown)->shape().elements() < 4096) {
      values.push_back(*grown);
    }
  }
  graph.AddOutput("y", values.back());
  graph.AddOutput("z", values[values.size() / 2]);
  const TargetSpec& target = AllTargets()[bytes.Below(4)];
  SupportReport support = CheckSupport(graph, target);
  const absl::StatusOr<Partition> partition = PartitionGraph(graph, target, {}, support);
  if (partition.ok()) {
    CheckParts(graph, *partition, target);
  }
  return 0;
}
