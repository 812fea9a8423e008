// FloatExecutor on the CPU.
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/execute/cut_axis.h"
#include "core/execute/execution_plan.h"
#include "core/execute/executor.h"
#include "core/execute/single_thread.h"
#include "core/ops/op_def.h"
#include <dnnl.hpp>

namespace qb {
namespace execute {
namespace {

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};

class CpuContext final : public FloatExecutor::Context {
 public:
  CpuContext(const ExecutionPlan& plan, const dnnl::engine& engine) : stream_(engine) {
    const size_t bytes = static_cast<size_t>(plan.arena_bytes + kSlack) / kSlack * kSlack;
    arena_.reset(std::aligned_alloc(kSlack, bytes));
    QB_CHECK_MSG(arena_ != nullptr, "out of memory for an arena of ", bytes, " bytes");
    for (const Place& place : plan.places) {
      // Constants are only read.
      addresses_.push_back(place.kind == Place::Kind::kArena ? At(place.offset)
                                                             : const_cast<void*>(place.constant));
    }
  }

  void* At(int64_t offset) { return static_cast<char*>(arena_.get()) + offset; }
  const void* arena() const { return arena_.get(); }
  // By index of value; those of inputs and outputs are set by each run.
  std::vector<void*>& addresses() { return addresses_; }
  const std::vector<void*>& addresses() const { return addresses_; }
  dnnl::stream& stream() { return stream_; }

 private:
  static constexpr int64_t kSlack = 4096;

  dnnl::stream stream_;
  std::unique_ptr<void, FreeMemory> arena_;
  std::vector<void*> addresses_;
};

class CpuExecutor final : public FloatExecutor {
 public:
  CpuExecutor(const Graph& graph, dnnl::engine engine, ExecutionPlan plan)
      : graph_(graph), engine_(std::move(engine)), plan_(std::move(plan)) {}

  std::unique_ptr<Context> NewContext() const override {
    return std::make_unique<CpuContext>(plan_, engine_);
  }
  int64_t arena_bytes() const override { return plan_.arena_bytes; }
  int64_t largest_live_bytes() const override { return plan_.largest_live_bytes; }
  int64_t packed_weight_bytes() const override { return plan_.packed_weight_bytes; }

 private:
  absl::Status DoRun(Context& context, absl::Span<const Tensor> inputs, const RunOptions& options,
                     std::vector<Tensor>* outputs) const override {
    QB_RETURN_IF_ERROR(CheckInputs(inputs));
    const SingleThreadScope one_thread;
    CpuContext& own = static_cast<CpuContext&>(context);
    std::vector<Tensor> results = NewResults();
    BindRun(inputs, results, own.addresses());
    QB_RETURN_IF_ERROR(RunSteps(0, own, options));
    TakeResults(own, results);
    *outputs = std::move(results);
    return absl::OkStatus();
  }

  absl::Status DoRunOnFrom(const Context& from, Context& into, const Replacement& change,
                           std::vector<Tensor>* outputs) const override {
    QB_ASSIGN_OR_RETURN(const size_t at, ObservedStep(change));
    const SingleThreadScope one_thread;
    const CpuContext& old = static_cast<const CpuContext&>(from);
    CpuContext& own = static_cast<CpuContext&>(into);
    std::vector<Tensor> results = NewResults();
    CopyState(old, own, results);
    const size_t value = plan_.steps[at].value;
    if (plan_.places[value].kind == Place::Kind::kInput) {
      Rebind(plan_.places[value].index, change.value.raw(), own);
    } else {
      std::memcpy(own.addresses()[value], change.value.raw(),
                  static_cast<size_t>(change.value.size_bytes()));
    }
    QB_RETURN_IF_ERROR(RunSteps(at + 1, own, {}));
    TakeResults(own, results);
    *outputs = std::move(results);
    return absl::OkStatus();
  }

  absl::StatusOr<size_t> ObservedStep(const Replacement& change) const {
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const PlannedStep& step = plan_.steps[i];
      if (step.node == &change.node && step.observed) {
        if (change.value.type() == change.node.type()) {
          return i;
        }
        return absl::InvalidArgumentError(
            absl::StrCat("node '", change.node.name(), "': got ", change.value.type().ToString(),
                         ", its type is ", change.node.type().ToString()));
      }
    }
    return absl::InvalidArgumentError(
        absl::StrCat("node '", change.node.name(), "' is not observed by this executor"));
  }

  // Everything that `from` has computed so far; outputs go to `results`.
  void CopyState(const CpuContext& from, CpuContext& into, std::vector<Tensor>& results) const {
    std::memcpy(into.At(0), from.arena(), static_cast<size_t>(plan_.arena_bytes));
    for (size_t i = 0; i < plan_.places.size(); ++i) {
      const Place& place = plan_.places[i];
      if (place.kind == Place::Kind::kInput) {
        into.addresses()[i] = from.addresses()[i];
      } else if (place.kind == Place::Kind::kOutput) {
        Tensor& result = results[place.index];
        std::memcpy(result.mutable_raw(), from.addresses()[i],
                    static_cast<size_t>(result.size_bytes()));
        into.addresses()[i] = result.mutable_raw();
      }
    }
  }

  // Another tensor takes the place of input number `index`, under every name that it has.
  void Rebind(size_t index, const void* input, CpuContext& context) const {
    for (size_t i = 0; i < plan_.places.size(); ++i) {
      const Place& place = plan_.places[i];
      if (place.kind == Place::Kind::kInput && place.index == index) {
        context.addresses()[i] = const_cast<void*>(input);  // only read
      }
    }
  }

  absl::Status RunSteps(size_t first, CpuContext& context, const RunOptions& options) const {
    for (size_t i = first; i < plan_.steps.size(); ++i) {
      QB_RETURN_IF_ERROR(RunStep(plan_.steps[i], context, options));
    }
    return absl::OkStatus();
  }

  std::vector<Tensor> NewResults() const {
    std::vector<Tensor> results;
    for (const Node* output : graph_.outputs()) {
      results.push_back(Tensor::Allocate(output->type()));
    }
    return results;
  }

  void TakeResults(CpuContext& own, std::vector<Tensor>& results) const {
    for (size_t i = 0; i < results.size(); ++i) {
      const void* value = own.addresses()[plan_.outputs[i]];
      if (value != results[i].raw() && results[i].size_bytes() > 0) {
        std::memcpy(results[i].mutable_raw(), value, static_cast<size_t>(results[i].size_bytes()));
      }
    }
    for (const OutputTrim& trim : plan_.trims) {
      const auto* count = static_cast<const int64_t*>(own.addresses()[trim.count]);
      results[trim.output] = CutAxis(results[trim.output], trim.axis, *count);
    }
  }

  void BindRun(absl::Span<const Tensor> inputs, std::vector<Tensor>& results,
               std::vector<void*>& addresses) const {
    for (size_t i = 0; i < plan_.places.size(); ++i) {
      const Place& place = plan_.places[i];
      if (place.kind == Place::Kind::kInput) {
        addresses[i] = const_cast<void*>(inputs[place.index].raw());  // only read
      } else if (place.kind == Place::Kind::kOutput) {
        addresses[i] = results[place.index].mutable_raw();
      }
    }
  }

  absl::Status CheckInputs(absl::Span<const Tensor> inputs) const {
    if (inputs.size() != graph_.inputs().size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("got ", inputs.size(), " inputs, the model has ", graph_.inputs().size()));
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Node& input = *graph_.inputs()[i];
      if (inputs[i].type() != input.type()) {
        return absl::InvalidArgumentError(
            absl::StrCat("input '", input.name(), "': got ", inputs[i].type().ToString(),
                         ", the model takes ", input.type().ToString()));
      }
    }
    return absl::OkStatus();
  }

  absl::Status RunStep(const PlannedStep& step, CpuContext& context,
                       const RunOptions& options) const {
    const std::vector<void*>& addresses = context.addresses();
    if (step.kernel != nullptr) {
      absl::InlinedVector<const void*, 8> operands;
      for (size_t operand : step.operands) {
        operands.push_back(addresses[operand]);
      }
      KernelArgs args;
      args.operands = operands;
      args.result = addresses[step.value];
      args.scratch = context.At(step.scratch_offset);
      args.stream = &context.stream();
      if (absl::Status status = step.kernel->Run(args); !status.ok()) {
        return absl::Status(status.code(),
                            absl::StrCat("node '", step.node->name(), "' (",
                                         OpDefOf(step.node->op()).name, "): ", status.message()));
      }
    }
    if (step.observed && options.observer) {
      options.observer(*step.node,
                       Tensor::Borrow(step.node->type(), addresses[step.value], nullptr));
    }
    return absl::OkStatus();
  }

  const Graph& graph_;
  const dnnl::engine engine_;
  const ExecutionPlan plan_;
};

}  // namespace
}  // namespace execute

absl::StatusOr<std::unique_ptr<FloatExecutor>> CreateCpuExecutor(const Graph& graph,
                                                                 const ExecutorOptions& options) {
  const execute::SingleThreadScope one_thread;
  dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  QB_ASSIGN_OR_RETURN(execute::ExecutionPlan plan, execute::MakePlan(graph, options, engine));
  std::unique_ptr<FloatExecutor> executor =
      std::make_unique<execute::CpuExecutor>(graph, std::move(engine), std::move(plan));
  return executor;
}

absl::StatusOr<std::vector<Tensor>> RunOnce(const Graph& graph, absl::Span<const Tensor> inputs) {
  QB_ASSIGN_OR_RETURN(std::unique_ptr<FloatExecutor> executor, CreateCpuExecutor(graph));
  const std::unique_ptr<FloatExecutor::Context> context = executor->NewContext();
  std::vector<Tensor> outputs;
  QB_RETURN_IF_ERROR(executor->Run(*context, inputs, {}, &outputs));
  return outputs;
}

}  // namespace qb
