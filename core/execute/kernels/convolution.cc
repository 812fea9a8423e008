// Convolution through oneDNN.
//
// The primitive always works on channel-last activations: measured on AVX2 and AVX-512 they cost
// the same as oneDNN's blocked layouts, while NCHW costs twice (20 times for depthwise). An NCHW
// node reorders its operand and its result in scratch memory.
#include "core/ops/convolution.h"

#include <algorithm>
#include <optional>

#include "core/execute/kernels/all_kernels.h"
#include "core/execute/kernels/onednn.h"
#include "core/execute/kernels/onednn_activation.h"
#include "core/execute/kernels/permute.h"
#include "core/execute/kernels/plain_convolution.h"
#include "core/execute/kernels/weight_pack.h"
#include "core/execute/kernels/window_reach.h"

namespace qb::execute {
namespace {

struct ConvolutionShape {
  int64_t batch, channels, rows, columns;
  int64_t results, result_rows, result_columns;  // `results`: channels of the result

  int64_t operand_bytes() const { return batch * channels * rows * columns * 4; }
  int64_t result_bytes() const { return batch * results * result_rows * result_columns * 4; }
};

ConvolutionShape ShapeOf(const Shape& x, const Shape& y, bool channel_last) {
  const int64_t h = channel_last ? 1 : 2;
  const int64_t c = channel_last ? 3 : 1;
  return {x[0], x[c], x[h], x[h + 1], y[c], y[h], y[h + 1]};
}

// The weights as they lie in the graph: OIHW, or OHWI with channel_last; groups split M.
memory::desc WeightsInGraph(const ConvolutionAttrs& attrs, int64_t results, int64_t depth) {
  const int64_t h = attrs.h_kernel;
  const int64_t w = attrs.w_kernel;
  const int64_t filter = depth * h * w;
  memory::dims dims = {results / attrs.group_number, depth, h, w};
  memory::dims strides = attrs.channel_last ? memory::dims{filter, 1, w * depth, depth}
                                            : memory::dims{filter, h * w, w, 1};
  if (attrs.group_number > 1) {
    dims.insert(dims.begin(), attrs.group_number);
    strides.insert(strides.begin(), filter * (results / attrs.group_number));
  }
  return memory::desc(dims, memory::data_type::f32, strides);
}

dnnl::convolution_forward::primitive_desc Describe(const KernelRequest& request,
                                                   const ConvolutionShape& shape,
                                                   const memory::desc& weights) {
  const auto& attrs = request.node->attrs<ConvolutionAttrs>();
  const auto nhwc = memory::format_tag::nhwc;
  const auto f32 = memory::data_type::f32;
  const memory::desc source({shape.batch, shape.channels, shape.rows, shape.columns}, f32, nhwc);
  const memory::desc result({shape.batch, shape.results, shape.result_rows, shape.result_columns},
                            f32, nhwc);
  const memory::desc packed(weights.dims(), f32, memory::format_tag::any);
  const bool has_bias = request.node->operand_count() > ConvolutionAttrs::kBias;
  const memory::desc bias =
      has_bias ? memory::desc({shape.results}, f32, memory::format_tag::x) : memory::desc();
  const memory::dims before = {attrs.north_padding, attrs.west_padding};
  // The padding after the operand that makes the result's size come out exactly.
  const memory::dims after = {ReachAfter({shape.rows, attrs.h_kernel, attrs.h_stride,
                                          attrs.h_dilation, attrs.north_padding},
                                         shape.result_rows),
                              ReachAfter({shape.columns, attrs.w_kernel, attrs.w_stride,
                                          attrs.w_dilation, attrs.west_padding},
                                         shape.result_columns)};
  const dnnl::convolution_forward::desc operation(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, source, packed, bias,
      result, {attrs.h_stride, attrs.w_stride}, {attrs.h_dilation - 1, attrs.w_dilation - 1},
      before, after);
  dnnl::primitive_attr attr = UserScratch();
  dnnl::post_ops post_ops;
  AppendActivation(attrs.activation, post_ops);
  attr.set_post_ops(post_ops);
  return dnnl::convolution_forward::primitive_desc(operation, attr, *request.engine);
}

class ConvolutionKernel final : public Kernel {
 public:
  // Throws dnnl::error.
  explicit ConvolutionKernel(const KernelRequest& request)
      : engine_(*request.engine),
        reorders_(!request.node->attrs<ConvolutionAttrs>().channel_last),
        shape_(ShapeOf(request.operand_shape(0), request.node->shape(), !reorders_)) {
    const auto& attrs = request.node->attrs<ConvolutionAttrs>();
    const memory::desc in_graph =
        WeightsInGraph(attrs, shape_.results, shape_.channels / attrs.group_number);
    const auto description = Describe(request, shape_, in_graph);
    primitive_ = dnnl::convolution_forward(description);
    source_ = description.src_desc();
    result_ = description.dst_desc();
    bias_ = description.bias_desc();
    has_bias_ = request.node->operand_count() > ConvolutionAttrs::kBias;
    weights_.emplace(in_graph, description.weights_desc(),
                     request.constant(ConvolutionAttrs::kWeights), engine_);
    onednn_scratch_ = description.scratchpad_desc();
    scratch_.Add(static_cast<int64_t>(onednn_scratch_.get_size()), onednn_at_);
    scratch_.Add(weights_->scratch_bytes(), weights_at_);
    scratch_.Add(reorders_ ? shape_.operand_bytes() : 0, source_at_);
    scratch_.Add(reorders_ ? shape_.result_bytes() : 0, result_at_);
  }

  absl::Status Run(const KernelArgs& args) const override {
    char* scratch = static_cast<char*>(args.scratch);
    const void* source = args.operands[ConvolutionAttrs::kInput];
    void* result = args.result;
    if (reorders_) {
      TransposeMatrices(source, scratch + source_at_, shape_.batch, shape_.channels,
                        shape_.rows * shape_.columns);
      source = scratch + source_at_;
      result = scratch + result_at_;
    }
    const memory weights = weights_->Get(args.operands[ConvolutionAttrs::kWeights],
                                         scratch + weights_at_, *args.stream);
    std::unordered_map<int, memory> bound = {
        {DNNL_ARG_SRC, Bind(source_, engine_, source)},
        {DNNL_ARG_WEIGHTS, weights},
        {DNNL_ARG_DST, Bind(result_, engine_, result)},
        {DNNL_ARG_SCRATCHPAD, Bind(onednn_scratch_, engine_, scratch + onednn_at_)}};
    if (has_bias_) {
      bound.emplace(DNNL_ARG_BIAS, Bind(bias_, engine_, args.operands[ConvolutionAttrs::kBias]));
    }
    primitive_.execute(*args.stream, bound);
    if (reorders_) {
      TransposeMatrices(result, args.result, shape_.batch,
                        shape_.result_rows * shape_.result_columns, shape_.results);
    }
    return absl::OkStatus();
  }

  int64_t scratch_bytes() const override { return scratch_.bytes(); }
  int64_t packed_weight_bytes() const override { return weights_->packed_bytes(); }

 private:
  const dnnl::engine engine_;
  const bool reorders_;  // the node is NCHW
  const ConvolutionShape shape_;
  dnnl::convolution_forward primitive_;
  memory::desc source_, result_, bias_, onednn_scratch_;
  bool has_bias_ = false;
  std::optional<WeightPack> weights_;
  ScratchLayout scratch_;
  int64_t onednn_at_ = 0, weights_at_ = 0, source_at_ = 0, result_at_ = 0;
};

}  // namespace

KernelOr MakeConvolution(const KernelRequest& request) {
  if (request.operand_shape(0).elements() == 0) {
    return absl::InvalidArgumentError("the operand has no elements");
  }
  if (request.node->type().dtype != DType::kFloat32) {
    return MakePlainConvolution(request);
  }
  return MakeGuarded([&]() -> KernelOr { return std::make_unique<ConvolutionKernel>(request); });
}

}  // namespace qb::execute
