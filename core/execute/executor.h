// FloatExecutor: runs a graph on real tensors. It is the reference for accuracy, the source of
// calibration statistics and the judge of graph rewrites.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/ir/graph.h"
#include "core/ir/tensor.h"

namespace qb {

struct ExecutorOptions {
  // Nodes whose values the observer of Run wants to see. Values of other nodes may never exist (a
  // sum can be accumulated inside the convolution before it), so name all that are needed.
  // Constants cannot be observed; an observed output gives the value of its operand.
  std::vector<const Node*> observed;
  // A graph whose arena would be larger is refused.
  int64_t most_arena_bytes = int64_t{16} << 30;
};

// Called on the running thread with a plain row-major view of the node's value, right after the
// value was computed. The view's memory is reused by later nodes: it is valid during the call only.
using Observer = std::function<void(const Node& node, const Tensor& view)>;

struct RunOptions {
  Observer observer;  // empty: nobody watches
};

// An immutable plan for one graph (NCHW as imported, or NHWC after the layout pass, or mixed), with
// constant weights packed once. Thread-safe; each concurrent Run needs a Context of its own.
//
// Every run computes on the calling thread alone, so that the bits of a result do not depend on how
// many runs are in flight: callers get their parallelism from samples.
class FloatExecutor {
 public:
  // What one run in flight needs: the arena of activations. One thread at a time.
  class Context {
   public:
    virtual ~Context() = default;
  };

  virtual ~FloatExecutor() = default;

  virtual std::unique_ptr<Context> NewContext() const = 0;

  // Runs the graph once. `inputs` in the order of graph.inputs(), each of exactly the input's type.
  // `outputs` gets owned tensors in the order of graph.outputs(), of their types but for an output
  // below a Trim, which is cut to what the run found (core/ops/selection.h).
  // Errors: InvalidArgument when inputs differ in number or type from the graph's ("input 'x': got
  // float32[1x3], the model takes float32[1x4]"), or an index of Gather is out of range.
  absl::Status Run(Context& context, absl::Span<const Tensor> inputs, const RunOptions& options,
                   std::vector<Tensor>* outputs) const {
    return DoRun(context, inputs, options, outputs);
  }

  // What the run of `from` would give if `node` had the value `value`: runs the steps after it, in
  // `into`, and leaves `from` as it is. To be called from an observer of that run, with the node
  // that it is told of; so one run serves a question about each of its nodes, and none begins anew.
  // Errors: InvalidArgument for a node that is not observed or a value of another type.
  absl::Status RunOnFrom(const Context& from, Context& into, const Node& node, const Tensor& value,
                         std::vector<Tensor>* outputs) const {
    return DoRunOnFrom(from, into, {node, value}, outputs);
  }

  // Bytes of activations and scratch that one context holds (outputs are the caller's).
  virtual int64_t arena_bytes() const = 0;
  // The largest sum of values that are alive at one time: no plan without recomputation is smaller.
  virtual int64_t largest_live_bytes() const = 0;
  // Bytes of packed weights, held once for all contexts.
  virtual int64_t packed_weight_bytes() const = 0;

 protected:
  struct Replacement {
    const Node& node;
    const Tensor& value;
  };

 private:
  virtual absl::Status DoRun(Context& context, absl::Span<const Tensor> inputs,
                             const RunOptions& options, std::vector<Tensor>* outputs) const = 0;
  virtual absl::Status DoRunOnFrom(const Context& from, Context& into, const Replacement& change,
                                   std::vector<Tensor>* outputs) const = 0;
};

// Plans `graph` for this machine's CPU. The graph must outlive the executor and stay as it is.
// Errors: Unimplemented "node 'x' (Op): ..." for a case without a kernel; InvalidArgument for
// an observed constant; ResourceExhausted above most_arena_bytes.
absl::StatusOr<std::unique_ptr<FloatExecutor>> CreateCpuExecutor(
    const Graph& graph, const ExecutorOptions& options = {});

// Plans and runs `graph` once; for tests and small graphs. Errors: as above.
absl::StatusOr<std::vector<Tensor>> RunOnce(const Graph& graph, absl::Span<const Tensor> inputs);

}  // namespace qb
