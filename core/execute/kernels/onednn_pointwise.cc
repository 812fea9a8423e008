#include "core/execute/kernels/onednn_pointwise.h"

#include <optional>

#include "core/execute/kernels/onednn.h"
#include "core/ops/pointwise.h"

namespace qb::execute {
namespace {

struct Function {
  dnnl::algorithm algorithm;
  float alpha = 0.0f;
  float beta = 0.0f;
};

std::optional<Function> FunctionOf(const Node& node) {
  switch (node.op()) {
    case OpKind::kSigmoid:
      if (node.attrs<SigmoidAttrs>().alpha != 1.0f) {
        return std::nullopt;
      }
      return Function{dnnl::algorithm::eltwise_logistic};
    case OpKind::kTanh:
      return Function{dnnl::algorithm::eltwise_tanh};
    case OpKind::kSwish:
      return Function{dnnl::algorithm::eltwise_swish, 1.0f};
    case OpKind::kElu:
      return Function{dnnl::algorithm::eltwise_elu, node.attrs<EluAttrs>().leaky_alpha};
    case OpKind::kExp:
      return Function{dnnl::algorithm::eltwise_exp};
    default:
      return std::nullopt;
  }
}

class PointwisePrimitive final : public Kernel {
 public:
  PointwisePrimitive(const Function& function, int64_t elements, const dnnl::engine& engine)
      : engine_(engine), desc_(PlainDesc({elements})) {
    const dnnl::eltwise_forward::desc operation(dnnl::prop_kind::forward_inference,
                                                function.algorithm, desc_, function.alpha,
                                                function.beta);
    primitive_ = dnnl::eltwise_forward(
        dnnl::eltwise_forward::primitive_desc(operation, UserScratch(), engine_));
  }

  absl::Status Run(const KernelArgs& args) const override {
    primitive_.execute(*args.stream, {{DNNL_ARG_SRC, Bind(desc_, engine_, args.operands[0])},
                                      {DNNL_ARG_DST, Bind(desc_, engine_, args.result)}});
    return absl::OkStatus();
  }
  bool MayShareBuffer(int64_t /*index*/) const override { return true; }

 private:
  const dnnl::engine engine_;
  const memory::desc desc_;
  dnnl::eltwise_forward primitive_;
};

}  // namespace

bool HasOnednnPointwise(const Node& node) { return FunctionOf(node).has_value(); }

KernelOr MakeOnednnPointwise(const KernelRequest& request) {
  return MakeGuarded([&]() -> KernelOr {
    return std::make_unique<PointwisePrimitive>(*FunctionOf(*request.node),
                                                request.node->shape().elements(), *request.engine);
  });
}

}  // namespace qb::execute
