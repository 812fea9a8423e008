// Matrix products: oneDNN for float32, plain loops for other types.
#include "core/ops/matmul.h"

#include <optional>
#include <unordered_map>

#include "core/execute/kernels/all_kernels.h"
#include "core/execute/kernels/clamp.h"
#include "core/execute/kernels/dtype_dispatch.h"
#include "core/execute/kernels/onednn.h"
#include "core/execute/kernels/onednn_activation.h"
#include "core/execute/kernels/weight_pack.h"
#include "core/execute/strided_loop.h"

namespace qb::execute {
namespace {

// Products of [m, k] and [k, n] matrices: `joint` of them in one call, and `batches` such calls
// whose operands lie where the loop says (in elements).
struct Product {
  int64_t joint = 1, m = 1, k = 1, n = 1;
  StridedLoop<2> batches;  // inner() runs along the last joined batch dimension
};

Shape WithoutMatrix(const Shape& shape) {
  return Shape(absl::MakeConstSpan(shape.dims()).first(static_cast<size_t>(shape.rank() - 2)));
}

std::vector<int64_t> Scaled(std::vector<int64_t> strides, int64_t factor) {
  for (int64_t& stride : strides) {
    stride *= factor;
  }
  return strides;
}

Product ProductOf(const KernelRequest& request) {
  Shape a = request.operand_shape(MatMulAttrs::kA);
  Shape b = request.operand_shape(MatMulAttrs::kB);
  if (a.rank() == 1) {
    a = Shape{1, a[0]};
  }
  if (b.rank() == 1) {
    b = Shape{b[0], 1};
  }
  Product product;
  product.m = a[a.rank() - 2];
  product.k = a[a.rank() - 1];
  product.n = b[b.rank() - 1];
  const Shape a_batch = WithoutMatrix(a);
  const Shape b_batch = WithoutMatrix(b);
  product.batches = JoinLoops<2>({}, {});
  if (b_batch.elements() == 1 && b_batch.rank() <= a_batch.rank()) {
    product.m *= a_batch.elements();  // rows of all batches meet the same matrix
  } else if (a_batch == b_batch) {
    product.joint = a_batch.elements();
  } else {
    const Shape batch = BroadcastShapes(a_batch, b_batch).value();
    product.batches = JoinLoops<2>(
        batch.dims(), {Scaled(BroadcastStrides(a_batch, batch), product.m * product.k),
                       Scaled(BroadcastStrides(b_batch, batch), product.k * product.n)});
  }
  return product;
}

// Calls body(a_offset, b_offset, result_offset) for each call of the product, offsets in elements.
template <typename Body>
void ForEachBatch(const Product& product, Body&& body) {
  const StridedLoop<2>& loop = product.batches;
  const int64_t result_elements = product.joint * product.m * product.n;
  loop.ForEachRow([&](int64_t at, const std::array<int64_t, 2>& offsets) {
    for (int64_t i = 0; i < loop.inner(); ++i) {
      body(offsets[0] + i * loop.strides[0].back(), offsets[1] + i * loop.strides[1].back(),
           (at + i) * result_elements);
    }
  });
}

class MatMulKernel final : public Kernel {
 public:
  // Throws dnnl::error.
  MatMulKernel(const KernelRequest& request, Product product)
      : engine_(*request.engine), product_(std::move(product)) {
    const int64_t rank = product_.joint > 1 ? 3 : 2;
    const auto dims = [&](int64_t rows, int64_t columns, int64_t joint) {
      return rank == 3 ? memory::dims{joint, rows, columns} : memory::dims{rows, columns};
    };
    a_ = PlainDesc(dims(product_.m, product_.k, product_.joint));
    result_ = PlainDesc(dims(product_.m, product_.n, product_.joint));
    has_bias_ = request.node->operand_count() > MatMulAttrs::kBias;
    bias_ = has_bias_ ? PlainDesc(dims(1, product_.n, 1)) : memory::desc();
    const memory::desc b = PlainDesc(dims(product_.k, product_.n, product_.joint));
    const Tensor* constant = request.constant(MatMulAttrs::kB);
    const bool packs = constant != nullptr && rank == 2 && product_.batches.dims.size() == 1 &&
                       product_.batches.inner() == 1;
    const memory::desc wanted =
        packs ? memory::desc(b.dims(), memory::data_type::f32, memory::format_tag::any) : b;
    dnnl::primitive_attr attr = UserScratch();
    dnnl::post_ops post_ops;
    AppendActivation(request.node->attrs<MatMulAttrs>().activation, post_ops);
    attr.set_post_ops(post_ops);
    const dnnl::matmul::desc operation = has_bias_ ? dnnl::matmul::desc(a_, wanted, bias_, result_)
                                                   : dnnl::matmul::desc(a_, wanted, result_);
    const dnnl::matmul::primitive_desc description(operation, attr, engine_);
    primitive_ = dnnl::matmul(description);
    scratch_ = description.scratchpad_desc();
    b_.emplace(b, description.weights_desc(), packs ? constant : nullptr, engine_);
    layout_.Add(static_cast<int64_t>(scratch_.get_size()), scratch_at_);
    layout_.Add(b_->scratch_bytes(), b_at_);
  }

  absl::Status Run(const KernelArgs& args) const override {
    char* scratch = static_cast<char*>(args.scratch);
    ForEachBatch(product_, [&](int64_t a_at, int64_t b_at, int64_t result_at) {
      const float* b = args.operand<float>(MatMulAttrs::kB) + b_at;
      std::unordered_map<int, memory> bound = {
          {DNNL_ARG_SRC, Bind(a_, engine_, args.operand<float>(MatMulAttrs::kA) + a_at)},
          {DNNL_ARG_WEIGHTS, b_->Get(b, scratch + b_at_, *args.stream)},
          {DNNL_ARG_DST, Bind(result_, engine_, args.output<float>() + result_at)},
          {DNNL_ARG_SCRATCHPAD, Bind(scratch_, engine_, scratch + scratch_at_)}};
      if (has_bias_) {
        bound.emplace(DNNL_ARG_BIAS, Bind(bias_, engine_, args.operands[MatMulAttrs::kBias]));
      }
      primitive_.execute(*args.stream, bound);
    });
    return absl::OkStatus();
  }

  int64_t scratch_bytes() const override { return layout_.bytes(); }
  int64_t packed_weight_bytes() const override { return b_->packed_bytes(); }

 private:
  const dnnl::engine engine_;
  const Product product_;
  dnnl::matmul primitive_;
  memory::desc a_, result_, bias_, scratch_;
  bool has_bias_ = false;
  std::optional<WeightPack> b_;
  ScratchLayout layout_;
  int64_t scratch_at_ = 0, b_at_ = 0;
};

template <typename T>
T Dot(const T* row, const T* column, int64_t count, int64_t column_stride) {
  // Unsigned arithmetic wraps where signed overflow would be undefined.
  using U = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>,
                                        std::type_identity<T>>::type;
  U sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    sum += static_cast<U>(row[i]) * static_cast<U>(column[i * column_stride]);
  }
  return static_cast<T>(sum);
}

// For other types, and for products over nothing (k = 0).
template <typename T>
KernelOr MakeLoops(const KernelRequest& request, Product product) {
  const bool has_bias = request.node->operand_count() > MatMulAttrs::kBias;
  const Clamp<T> clamp = ClampOf<T>(request.node->attrs<MatMulAttrs>().activation);
  return MakeBodyKernel([product = std::move(product), has_bias, clamp](const KernelArgs& args) {
    const T* bias = has_bias ? args.operand<T>(MatMulAttrs::kBias) : nullptr;
    ForEachBatch(product, [&](int64_t a_at, int64_t b_at, int64_t result_at) {
      const T* a = args.operand<T>(MatMulAttrs::kA) + a_at;
      T* out = args.output<T>() + result_at;
      for (int64_t row = 0; row < product.joint * product.m; ++row, a += product.k) {
        const T* b =
            args.operand<T>(MatMulAttrs::kB) + b_at + row / product.m * product.k * product.n;
        for (int64_t j = 0; j < product.n; ++j) {
          const T sum = Dot(a, b + j, product.k, product.n);
          *out++ = clamp(bias == nullptr ? sum : static_cast<T>(sum + bias[j]));
        }
      }
    });
  });
}

}  // namespace

KernelOr MakeMatMul(const KernelRequest& request) {
  const Product product = ProductOf(request);
  const DType dtype = request.node->type().dtype;
  if (dtype == DType::kFloat32 && product.k > 0) {
    return MakeGuarded(
        [&]() -> KernelOr { return std::make_unique<MatMulKernel>(request, product); });
  }
  return DispatchArithmetic(dtype, [&](auto tag) -> KernelOr {
    return MakeLoops<typename decltype(tag)::type>(request, product);
  });
}

}  // namespace qb::execute
