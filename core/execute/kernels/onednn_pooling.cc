#include "core/execute/kernels/onednn_pooling.h"

#include <algorithm>

#include "core/execute/kernels/onednn.h"
#include "core/execute/kernels/window_reach.h"
#include "core/ops/pooling.h"

namespace qb::execute {
namespace {

struct Reach {
  int64_t h, w;
};

Reach ReachOf(const PoolingAttrs& attrs, const Shape& x, const Shape& y) {
  return {ReachAfter({x[1], attrs.h_kernel, attrs.h_stride, attrs.h_dilation, attrs.north_padding},
                     y[1]),
          ReachAfter({x[2], attrs.w_kernel, attrs.w_stride, attrs.w_dilation, attrs.west_padding},
                     y[2])};
}

class PoolingPrimitive final : public Kernel {
 public:
  explicit PoolingPrimitive(const KernelRequest& request) : engine_(*request.engine) {
    const auto& attrs = request.node->attrs<PoolingAttrs>();
    const Shape& x = request.operand_shape(0);
    const Shape& y = request.node->shape();
    const auto tag = memory::format_tag::nhwc;
    source_ = memory::desc({x[0], x[3], x[1], x[2]}, memory::data_type::f32, tag);
    result_ = memory::desc({y[0], y[3], y[1], y[2]}, memory::data_type::f32, tag);
    const auto algorithm = attrs.pool_type == PoolType::kMax ? dnnl::algorithm::pooling_max
                           : attrs.is_include_pad ? dnnl::algorithm::pooling_avg_include_padding
                                                  : dnnl::algorithm::pooling_avg_exclude_padding;
    const Reach reach = ReachOf(attrs, x, y);
    const memory::dims after = {std::max<int64_t>(reach.h, 0), std::max<int64_t>(reach.w, 0)};
    const dnnl::pooling_v2_forward::desc operation(
        dnnl::prop_kind::forward_inference, algorithm, source_, result_,
        {attrs.h_stride, attrs.w_stride}, {attrs.h_kernel, attrs.w_kernel},
        {attrs.h_dilation - 1, attrs.w_dilation - 1}, {attrs.north_padding, attrs.west_padding},
        after);
    const dnnl::pooling_v2_forward::primitive_desc description(operation, UserScratch(), engine_);
    scratch_ = description.scratchpad_desc();
    primitive_ = dnnl::pooling_v2_forward(description);
  }

  absl::Status Run(const KernelArgs& args) const override {
    primitive_.execute(*args.stream,
                       {{DNNL_ARG_SRC, Bind(source_, engine_, args.operands[0])},
                        {DNNL_ARG_DST, Bind(result_, engine_, args.result)},
                        {DNNL_ARG_SCRATCHPAD, Bind(scratch_, engine_, args.scratch)}});
    return absl::OkStatus();
  }
  int64_t scratch_bytes() const override { return static_cast<int64_t>(scratch_.get_size()); }

 private:
  const dnnl::engine engine_;
  memory::desc source_, result_, scratch_;
  dnnl::pooling_v2_forward primitive_;
};

}  // namespace

bool OnednnPoolingMatches(const Node& node) {
  const auto& attrs = node.attrs<PoolingAttrs>();
  if (!attrs.channel_last) {
    return false;
  }
  const Reach reach = ReachOf(attrs, node.operand(0)->shape(), node.shape());
  // With dilation a window can step over the operand; with wide padding it can miss it.
  const bool dilated = attrs.h_dilation > 1 || attrs.w_dilation > 1;
  if (dilated || attrs.north_padding >= attrs.h_kernel || attrs.west_padding >= attrs.w_kernel ||
      reach.h >= attrs.h_kernel || reach.w >= attrs.w_kernel) {
    return false;
  }
  const bool counts_padding = attrs.pool_type == PoolType::kAverage && attrs.is_include_pad;
  return !counts_padding || (reach.h <= attrs.south_padding && reach.w <= attrs.east_padding);
}

KernelOr MakeOnednnPooling(const KernelRequest& request) {
  return MakeGuarded([&]() -> KernelOr { return std::make_unique<PoolingPrimitive>(request); });
}

}  // namespace qb::execute
