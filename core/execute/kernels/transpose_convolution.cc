// Transposed convolution through oneDNN's deconvolution, which like the convolution always works on
// channel-last activations; an NCHW node reorders its operand and its result in scratch memory.
// Bias and activation are applied to the result afterwards: one cheap pass, the same for every
// primitive.
#include "core/ops/transpose_convolution.h"

#include <algorithm>
#include <optional>

#include "core/execute/kernels/all_kernels.h"
#include "core/execute/kernels/clamp.h"
#include "core/execute/kernels/onednn.h"
#include "core/execute/kernels/permute.h"
#include "core/execute/kernels/weight_pack.h"

namespace qb::execute {
namespace {

struct SpreadShape {
  int64_t batch, channels, rows, columns;
  int64_t results, result_rows, result_columns;  // `results`: channels of the result

  int64_t operand_bytes() const { return batch * channels * rows * columns * 4; }
  int64_t result_elements() const { return batch * results * result_rows * result_columns; }
};

SpreadShape ShapeOf(const Shape& x, const Shape& y, bool channel_last) {
  const int64_t h = channel_last ? 1 : 2;
  const int64_t c = channel_last ? 3 : 1;
  return {x[0], x[c], x[h], x[h + 1], y[c], y[h], y[h + 1]};
}

// The weights as they lie in the graph: [M, C / groups, Kh, Kw] or channels last; groups split M.
memory::desc WeightsInGraph(const TransposeConvolutionAttrs& attrs, int64_t results,
                            int64_t depth) {
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

// What the full result has beyond the last row or column that is kept; negative where rows follow
// that no tap reaches.
int64_t CutAfter(int64_t size, int64_t stride, int64_t extent, int64_t cut_before, int64_t result) {
  return (size - 1) * stride + extent - cut_before - result;
}

dnnl::deconvolution_forward::primitive_desc Describe(const KernelRequest& request,
                                                     const SpreadShape& shape,
                                                     const memory::desc& weights) {
  const auto& attrs = request.node->attrs<TransposeConvolutionAttrs>();
  const auto nhwc = memory::format_tag::nhwc;
  const auto f32 = memory::data_type::f32;
  const memory::desc source({shape.batch, shape.channels, shape.rows, shape.columns}, f32, nhwc);
  const memory::desc result({shape.batch, shape.results, shape.result_rows, shape.result_columns},
                            f32, nhwc);
  const memory::desc packed(weights.dims(), f32, memory::format_tag::any);
  const memory::dims before = {attrs.north_padding, attrs.west_padding};
  const memory::dims after = {
      CutAfter(shape.rows, attrs.h_stride, (attrs.h_kernel - 1) * attrs.h_dilation + 1,
               attrs.north_padding, shape.result_rows),
      CutAfter(shape.columns, attrs.w_stride, (attrs.w_kernel - 1) * attrs.w_dilation + 1,
               attrs.west_padding, shape.result_columns)};
  const dnnl::deconvolution_forward::desc operation(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::deconvolution_direct, source, packed,
      result, {attrs.h_stride, attrs.w_stride}, {attrs.h_dilation - 1, attrs.w_dilation - 1},
      before, after);
  return dnnl::deconvolution_forward::primitive_desc(operation, UserScratch(), *request.engine);
}

class TransposeConvolutionKernel final : public Kernel {
 public:
  // Throws dnnl::error.
  explicit TransposeConvolutionKernel(const KernelRequest& request)
      : engine_(*request.engine),
        reorders_(!request.node->attrs<TransposeConvolutionAttrs>().channel_last),
        has_bias_(request.node->operand_count() > TransposeConvolutionAttrs::kBias),
        clamp_(ClampOf<float>(request.node->attrs<TransposeConvolutionAttrs>().activation)),
        shape_(ShapeOf(request.operand_shape(0), request.node->shape(), !reorders_)) {
    const auto& attrs = request.node->attrs<TransposeConvolutionAttrs>();
    const memory::desc in_graph =
        WeightsInGraph(attrs, shape_.results, shape_.channels / attrs.group_number);
    const auto description = Describe(request, shape_, in_graph);
    primitive_ = dnnl::deconvolution_forward(description);
    source_ = description.src_desc();
    result_ = description.dst_desc();
    weights_.emplace(in_graph, description.weights_desc(),
                     request.constant(TransposeConvolutionAttrs::kWeights), engine_);
    onednn_scratch_ = description.scratchpad_desc();
    scratch_.Add(static_cast<int64_t>(onednn_scratch_.get_size()), onednn_at_);
    scratch_.Add(weights_->scratch_bytes(), weights_at_);
    scratch_.Add(reorders_ ? shape_.operand_bytes() : 0, source_at_);
    scratch_.Add(reorders_ ? shape_.result_elements() * 4 : 0, result_at_);
  }

  absl::Status Run(const KernelArgs& args) const override {
    char* scratch = static_cast<char*>(args.scratch);
    const void* source = args.operands[TransposeConvolutionAttrs::kInput];
    void* result = args.result;
    if (reorders_) {
      TransposeMatrices(source, scratch + source_at_, shape_.batch, shape_.channels,
                        shape_.rows * shape_.columns);
      source = scratch + source_at_;
      result = scratch + result_at_;
    }
    const memory weights = weights_->Get(args.operands[TransposeConvolutionAttrs::kWeights],
                                         scratch + weights_at_, *args.stream);
    primitive_.execute(*args.stream, {{DNNL_ARG_SRC, Bind(source_, engine_, source)},
                                      {DNNL_ARG_WEIGHTS, weights},
                                      {DNNL_ARG_DST, Bind(result_, engine_, result)},
                                      {DNNL_ARG_SCRATCHPAD,
                                       Bind(onednn_scratch_, engine_, scratch + onednn_at_)}});
    FinishResult(has_bias_ ? args.operand<float>(TransposeConvolutionAttrs::kBias) : nullptr,
                 static_cast<float*>(result));
    if (reorders_) {
      TransposeMatrices(result, args.result, shape_.batch,
                        shape_.result_rows * shape_.result_columns, shape_.results);
    }
    return absl::OkStatus();
  }

  int64_t scratch_bytes() const override { return scratch_.bytes(); }
  int64_t packed_weight_bytes() const override { return weights_->packed_bytes(); }

 private:
  // Bias and activation, in place; channels last.
  void FinishResult(const float* bias, float* result) const {
    const int64_t pixels = shape_.result_elements() / shape_.results;
    for (int64_t p = 0; p < pixels; ++p, result += shape_.results) {
      for (int64_t m = 0; m < shape_.results; ++m) {
        result[m] = clamp_(bias == nullptr ? result[m] : result[m] + bias[m]);
      }
    }
  }

  const dnnl::engine engine_;
  const bool reorders_;  // the node is NCHW
  const bool has_bias_;
  const Clamp<float> clamp_;
  const SpreadShape shape_;
  dnnl::deconvolution_forward primitive_;
  memory::desc source_, result_, onednn_scratch_;
  std::optional<WeightPack> weights_;
  ScratchLayout scratch_;
  int64_t onednn_at_ = 0, weights_at_ = 0, source_at_ = 0, result_at_ = 0;
};

// One axis: which results a tap reaches.
struct TapReach {
  int64_t first, step, results;  // input i meets result first + i * step if that is in [0, results)

  int64_t At(int64_t i) const {
    const int64_t at = first + i * step;
    return at >= 0 && at < results ? at : -1;
  }
};

// By the definition, for what oneDNN has no primitive for (rows beyond all taps by a stride or
// more). Element (n, c, y, x) of an image of either layout.
struct ImageStrides {
  int64_t batch, channel, row, column;
};
ImageStrides StridesOf(const Shape& shape, bool channel_last) {
  const std::vector<int64_t> s = shape.strides();
  return channel_last ? ImageStrides{s[0], s[3], s[1], s[2]} : ImageStrides{s[0], s[1], s[2], s[3]};
}

struct LoopPlan {
  TransposeConvolutionAttrs attrs;
  SpreadShape shape;
  ImageStrides x, w, y;
  bool has_bias;
  Clamp<float> clamp;
};

// Adds what one tap makes of one input row to the row of the result, for one result channel.
void SpreadRow(const LoopPlan& plan, const TapReach& columns, const float* x, const float* w,
               float* y) {
  const int64_t depth = plan.shape.channels / plan.attrs.group_number;
  for (int64_t i = 0; i < plan.shape.columns; ++i) {
    const int64_t at = columns.At(i);
    if (at < 0) {
      continue;
    }
    float sum = 0.0f;
    for (int64_t c = 0; c < depth; ++c) {
      sum += x[i * plan.x.column + c * plan.x.channel] * w[c * plan.w.channel];
    }
    y[at * plan.y.column] += sum;
  }
}

// One result channel `m` of one image.
void SpreadChannel(const LoopPlan& plan, int64_t m, const float* x, const float* w, float* y) {
  const TransposeConvolutionAttrs& a = plan.attrs;
  const int64_t filters = plan.shape.results / a.group_number;
  const int64_t depth = plan.shape.channels / a.group_number;
  x += m / filters * depth * plan.x.channel;
  for (int64_t kh = 0; kh < a.h_kernel; ++kh) {
    const TapReach rows{kh * a.h_dilation - a.north_padding, a.h_stride, plan.shape.result_rows};
    for (int64_t kw = 0; kw < a.w_kernel; ++kw) {
      const TapReach columns{kw * a.w_dilation - a.west_padding, a.w_stride,
                             plan.shape.result_columns};
      const float* tap = w + m * plan.w.batch + kh * plan.w.row + kw * plan.w.column;
      for (int64_t i = 0; i < plan.shape.rows; ++i) {
        if (const int64_t at = rows.At(i); at >= 0) {
          SpreadRow(plan, columns, x + i * plan.x.row, tap, y + at * plan.y.row);
        }
      }
    }
  }
}

void RunLoops(const LoopPlan& plan, const KernelArgs& args) {
  const float* x = args.operand<float>(TransposeConvolutionAttrs::kInput);
  const float* w = args.operand<float>(TransposeConvolutionAttrs::kWeights);
  const float* bias =
      plan.has_bias ? args.operand<float>(TransposeConvolutionAttrs::kBias) : nullptr;
  float* y = args.output<float>();
  std::fill_n(y, plan.shape.result_elements(), 0.0f);
  for (int64_t n = 0; n < plan.shape.batch; ++n) {
    for (int64_t m = 0; m < plan.shape.results; ++m) {
      float* channel = y + n * plan.y.batch + m * plan.y.channel;
      SpreadChannel(plan, m, x + n * plan.x.batch, w, channel);
      for (int64_t r = 0; r < plan.shape.result_rows; ++r) {
        for (int64_t c = 0; c < plan.shape.result_columns; ++c) {
          float& value = channel[r * plan.y.row + c * plan.y.column];
          value = plan.clamp(bias == nullptr ? value : value + bias[m]);
        }
      }
    }
  }
}

KernelOr MakeLoops(const KernelRequest& request) {
  const auto& attrs = request.node->attrs<TransposeConvolutionAttrs>();
  const bool last = attrs.channel_last;
  LoopPlan plan{attrs,
                ShapeOf(request.operand_shape(0), request.node->shape(), last),
                StridesOf(request.operand_shape(0), last),
                StridesOf(request.operand_shape(TransposeConvolutionAttrs::kWeights), last),
                StridesOf(request.node->shape(), last),
                request.node->operand_count() > TransposeConvolutionAttrs::kBias,
                ClampOf<float>(attrs.activation)};
  return MakeBodyKernel([plan](const KernelArgs& args) { RunLoops(plan, args); });
}

}  // namespace

KernelOr MakeTransposeConvolution(const KernelRequest& request) {
  if (request.node->type().dtype != DType::kFloat32) {
    return absl::UnimplementedError(absl::StrCat(
        "no kernel for ", DTypeName(request.node->type().dtype), "; there is float32"));
  }
  if (request.operand_shape(0).elements() == 0) {
    return absl::InvalidArgumentError("the operand has no elements");
  }
  KernelOr primitive = MakeGuarded(
      [&]() -> KernelOr { return std::make_unique<TransposeConvolutionKernel>(request); });
  return primitive.ok() ? std::move(primitive) : MakeLoops(request);
}

}  // namespace qb::execute
