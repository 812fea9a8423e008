#include "core/execute/kernels/widening.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/status_macros.h"
#include "core/execute/kernels/float16.h"
#include "core/ops/build.h"

namespace qb::execute {
namespace {

DType Widened(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:  // only for kernels that lack it
    case DType::kFloat16:
      return DType::kFloat32;
    case DType::kInt8:
    case DType::kUint8:
    case DType::kInt16:
    case DType::kUint16:
      return DType::kInt32;
    case DType::kUint32:
      return DType::kInt64;
    default:
      return dtype;
  }
}

template <typename From, typename To>
void ConvertValues(const void* from, void* to, int64_t count) {
  const From* in = static_cast<const From*>(from);
  To* out = static_cast<To*>(to);
  for (int64_t i = 0; i < count; ++i) {
    // NOLINTNEXTLINE(bugprone-signed-char-misuse): int8_t is a number
    out[i] = static_cast<To>(in[i]);
  }
}

void Widen(DType dtype, const void* from, void* to, int64_t count) {
  switch (dtype) {
    case DType::kFloat16:
      for (int64_t i = 0; i < count; ++i) {
        static_cast<float*>(to)[i] = FloatFromHalf(static_cast<const Float16*>(from)[i]);
      }
      break;
    case DType::kFloat64:
      ConvertValues<double, float>(from, to, count);
      break;
    case DType::kInt8:
      ConvertValues<int8_t, int32_t>(from, to, count);
      break;
    case DType::kUint8:
      ConvertValues<uint8_t, int32_t>(from, to, count);
      break;
    case DType::kInt16:
      ConvertValues<int16_t, int32_t>(from, to, count);
      break;
    case DType::kUint16:
      ConvertValues<uint16_t, int32_t>(from, to, count);
      break;
    default:
      QB_CHECK(dtype == DType::kUint32);
      ConvertValues<uint32_t, int64_t>(from, to, count);
      break;
  }
}

void Narrow(DType dtype, const void* from, void* to, int64_t count) {
  switch (dtype) {
    case DType::kFloat16:
      for (int64_t i = 0; i < count; ++i) {
        static_cast<Float16*>(to)[i] = HalfFromFloat(static_cast<const float*>(from)[i]);
      }
      break;
    case DType::kFloat64:
      ConvertValues<float, double>(from, to, count);
      break;
    case DType::kInt8:
      ConvertValues<int32_t, int8_t>(from, to, count);
      break;
    case DType::kUint8:
      ConvertValues<int32_t, uint8_t>(from, to, count);
      break;
    case DType::kInt16:
      ConvertValues<int32_t, int16_t>(from, to, count);
      break;
    case DType::kUint16:
      ConvertValues<int32_t, uint16_t>(from, to, count);
      break;
    default:
      QB_CHECK(dtype == DType::kUint32);
      ConvertValues<int64_t, uint32_t>(from, to, count);
      break;
  }
}

template <typename Predicate>
bool AnyOperand(const KernelRequest& request, Predicate predicate) {
  return std::any_of(request.node->operands().begin(), request.node->operands().end(),
                     [&](const Node* operand) { return predicate(operand->type().dtype); });
}

constexpr int64_t kAlignment = 64;

class WidenedKernel final : public Kernel {
 public:
  // Where a converted operand or result lies in the scratch memory.
  struct Conversion {
    DType dtype = DType::kUndefined;  // of the narrow side
    int64_t count = 0;
    int64_t offset = -1;  // -1: not converted
  };

  WidenedKernel(std::unique_ptr<Graph> graph, std::vector<Tensor> constants)
      : graph_(std::move(graph)), constants_(std::move(constants)) {}

  Conversion Reserve(const TensorType& type) {
    const DType wide = Widened(type.dtype);
    if (wide == type.dtype) {
      return {};
    }
    const int64_t count = type.shape.elements();
    const int64_t offset = scratch_bytes_;
    scratch_bytes_ += (count * SizeBytes(wide) + kAlignment - 1) / kAlignment * kAlignment;
    return {type.dtype, count, offset};
  }

  const Tensor& constant(int64_t index) const { return constants_[static_cast<size_t>(index)]; }

  void Set(std::unique_ptr<Kernel> inner, std::vector<Conversion> operands, Conversion result) {
    inner_ = std::move(inner);
    operands_ = std::move(operands);
    result_ = result;
    inner_scratch_at_ = scratch_bytes_;
    scratch_bytes_ += inner_->scratch_bytes();
  }

  absl::Status Run(const KernelArgs& args) const override {
    char* scratch = static_cast<char*>(args.scratch);
    std::vector<const void*> operands(args.operands.begin(), args.operands.end());
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands_[i].offset >= 0) {
        Widen(operands_[i].dtype, operands[i], scratch + operands_[i].offset, operands_[i].count);
        operands[i] = scratch + operands_[i].offset;
      }
    }
    KernelArgs wide = args;
    wide.operands = operands;
    wide.result = result_.offset >= 0 ? scratch + result_.offset : args.result;
    wide.scratch = scratch + inner_scratch_at_;
    QB_RETURN_IF_ERROR(inner_->Run(wide));
    if (result_.offset >= 0) {
      Narrow(result_.dtype, wide.result, args.result, result_.count);
    }
    return absl::OkStatus();
  }

  int64_t scratch_bytes() const override { return scratch_bytes_; }
  int64_t packed_weight_bytes() const override { return inner_->packed_weight_bytes(); }

 private:
  const std::unique_ptr<Graph> graph_;  // the wide node, which the inner kernel may point to
  const std::vector<Tensor> constants_;
  std::unique_ptr<Kernel> inner_;
  std::vector<Conversion> operands_;
  Conversion result_;
  int64_t scratch_bytes_ = 0;
  int64_t inner_scratch_at_ = 0;
};

}  // namespace

bool NeedsWidening(const KernelRequest& request) {
  const auto is_narrow = [](DType dtype) {
    return dtype != DType::kFloat64 && Widened(dtype) != dtype;
  };
  return is_narrow(request.node->type().dtype) || AnyOperand(request, is_narrow);
}

bool IsInDoublePrecision(const KernelRequest& request) {
  const auto is_double = [](DType dtype) { return dtype == DType::kFloat64; };
  return is_double(request.node->type().dtype) || AnyOperand(request, is_double);
}

KernelOr MakeWidened(const KernelRequest& request, KernelOr (*make)(const KernelRequest&)) {
  auto graph = std::make_unique<Graph>("widened");
  std::vector<Node*> operands;
  std::vector<Tensor> wide_constants(request.constants.size());
  for (int64_t i = 0; i < request.node->operand_count(); ++i) {
    const TensorType& type = request.operand_type(i);
    const TensorType wide = {Widened(type.dtype), type.shape};
    operands.push_back(graph->AddInput("", wide));
    const Tensor* constant = request.constant(i);
    if (constant != nullptr && wide.dtype != type.dtype) {
      Tensor values = Tensor::Allocate(wide);
      Widen(type.dtype, constant->raw(), values.mutable_raw(), values.elements());
      wide_constants[static_cast<size_t>(i)] = std::move(values);
    } else if (constant != nullptr) {
      wide_constants[static_cast<size_t>(i)] = *constant;
    }
  }
  QB_ASSIGN_OR_RETURN(const Node* node, AddOp(*graph, request.node->op(), request.node->name(),
                                              operands, request.node->attributes().Clone()));
  auto kernel = std::make_unique<WidenedKernel>(std::move(graph), std::move(wide_constants));
  std::vector<const Tensor*> constants;
  std::vector<WidenedKernel::Conversion> conversions;
  for (int64_t i = 0; i < node->operand_count(); ++i) {
    constants.push_back(request.constant(i) == nullptr ? nullptr : &kernel->constant(i));
    conversions.push_back(kernel->Reserve(request.operand_type(i)));
  }
  const WidenedKernel::Conversion result = kernel->Reserve(request.node->type());
  QB_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> inner,
                      make({.node = node, .constants = constants, .engine = request.engine}));
  kernel->Set(std::move(inner), std::move(conversions), result);
  return kernel;
}

}  // namespace qb::execute
