#include "core/execute/evaluate.h"

#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/execute/cut_axis.h"
#include "core/execute/kernels/all_kernels.h"
#include "core/execute/single_thread.h"
#include "core/ops/op_def.h"
#include "core/ops/selection.h"
#include <dnnl.hpp>

namespace qb {
namespace {

absl::StatusOr<Tensor> Compute(const Node& node, absl::Span<const Tensor> operands) {
  const execute::SingleThreadScope one_thread;
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  std::vector<const Tensor*> constants;
  std::vector<const void*> addresses;
  for (const Tensor& operand : operands) {
    constants.push_back(&operand);
    addresses.push_back(operand.raw());
  }
  QB_ASSIGN_OR_RETURN(
      std::unique_ptr<execute::Kernel> kernel,
      execute::MakeKernel({.node = &node, .constants = constants, .engine = &engine}));
  Tensor result = Tensor::Allocate(node.type());
  Tensor scratch = Tensor::Allocate({DType::kUint8, Shape{kernel->scratch_bytes()}});
  execute::KernelArgs args;
  args.operands = addresses;
  args.result = result.mutable_raw();
  args.scratch = scratch.mutable_raw();
  args.stream = &stream;
  if (absl::Status status = kernel->Run(args); !status.ok()) {
    return absl::Status(status.code(),
                        absl::StrCat("node '", node.name(), "' (", OpDefOf(node.op()).name,
                                     "): ", status.message()));
  }
  return result;
}

}  // namespace

absl::StatusOr<Tensor> EvaluateNode(const Node& node, absl::Span<const Tensor> operands) {
  QB_CHECK(static_cast<int64_t>(operands.size()) == node.operand_count());
  for (size_t i = 0; i < operands.size(); ++i) {
    const Node& operand = *node.operand(static_cast<int64_t>(i));
    QB_CHECK(operands[i].type() == operand.type() || operand.op() == OpKind::kTrim);
  }
  switch (execute::KernelRowOf(node.op()).role) {
    case execute::NodeRole::kConstant:
      return node.constant();
    case execute::NodeRole::kAlias:
      if (node.op() == OpKind::kTrim) {
        return execute::CutAxis(operands[0], node.attrs<TrimAttrs>().axis,
                                operands[1].data<int64_t>()[0]);
      }
      if (operands[0].elements() != node.shape().elements()) {
        return operands[0];  // below a Trim
      }
      return operands[0].Reshaped(node.shape());
    case execute::NodeRole::kInput:
      return absl::UnimplementedError(
          absl::StrCat("node '", node.name(), "' (Input): has no value of its own"));
    case execute::NodeRole::kComputed:
      break;
  }
  return Compute(node, operands);
}

}  // namespace qb
