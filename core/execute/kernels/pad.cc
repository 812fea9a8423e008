// Pad: constant, reflect and edge, with cropping by negative amounts.
#include <algorithm>
#include <cstring>
#include <vector>

#include "core/execute/kernels/all_kernels.h"
#include "core/execute/kernels/clamp.h"
#include "core/execute/kernels/dtype_dispatch.h"
#include "core/execute/kernels/float16.h"
#include "core/ops/movement.h"

namespace qb::execute {
namespace {

constexpr int64_t kOutside = -1;

// For each position along one axis of the result: the operand's position, or kOutside.
std::vector<int64_t> SourceIndices(int64_t begin, int64_t result, int64_t dimension, PadMode mode) {
  std::vector<int64_t> source(static_cast<size_t>(result), kOutside);
  if (dimension == 0) {
    return source;
  }
  for (int64_t i = 0; i < result; ++i) {
    int64_t at = i - begin;
    if (mode == PadMode::kEdge) {
      at = std::clamp<int64_t>(at, 0, dimension - 1);
    } else if (mode == PadMode::kReflect) {
      // Mirror without repeating the border: a period of 2 (dimension - 1).
      const int64_t period = std::max<int64_t>(2 * (dimension - 1), 1);
      at = ((at % period) + period) % period;
      at = std::min(at, period - at);
      at = std::min(at, dimension - 1);
    }
    source[static_cast<size_t>(i)] = at >= 0 && at < dimension ? at : kOutside;
  }
  return source;
}

struct PadPlan {
  std::vector<std::vector<int64_t>> source;  // by axis
  std::vector<int64_t> strides;              // of the operand
  // The part of the last axis that is copied in one piece: result position, operand position,
  // count.
  int64_t run_at = 0, run_from = 0, run_count = 0;
};

PadPlan PlanOf(const KernelRequest& request) {
  const auto& attrs = request.node->attrs<PadAttrs>();
  const Shape& x = request.operand_shape(0);
  const Shape& y = request.node->shape();
  PadPlan plan;
  plan.strides = x.strides();
  for (int64_t d = 0; d < x.rank(); ++d) {
    plan.source.push_back(
        SourceIndices(attrs.padding_list[static_cast<size_t>(d)], y[d], x[d], attrs.pad_mode));
  }
  if (x.rank() > 0) {
    const int64_t last = x.rank() - 1;
    const int64_t begin = attrs.padding_list[static_cast<size_t>(last)];
    plan.run_at = std::clamp<int64_t>(begin, 0, y[last]);
    plan.run_from = plan.run_at - begin;
    plan.run_count = std::max<int64_t>(std::min(x[last] - plan.run_from, y[last] - plan.run_at), 0);
  }
  return plan;
}

template <typename T>
class PadKernel final : public Kernel {
 public:
  PadKernel(PadPlan plan, T fill) : plan_(std::move(plan)), fill_(fill) {}

  absl::Status Run(const KernelArgs& args) const override {
    T* out = args.output<T>();
    if (plan_.source.empty()) {
      *out = *args.operand<T>(0);
    } else {
      Walk(0, args.operand<T>(0), out);
    }
    return absl::OkStatus();
  }

 private:
  // Writes everything below axis `d`; `from` is null inside padding. Returns the end of what it
  // wrote.
  T* Walk(size_t d, const T* from, T* out) const {
    const std::vector<int64_t>& source = plan_.source[d];
    if (d + 1 == plan_.source.size()) {
      return WriteRow(source, from, out);
    }
    for (int64_t at : source) {
      const bool inside = from != nullptr && at != kOutside;
      out = Walk(d + 1, inside ? from + at * plan_.strides[d] : nullptr, out);
    }
    return out;
  }

  T* WriteRow(const std::vector<int64_t>& source, const T* from, T* out) const {
    const int64_t count = static_cast<int64_t>(source.size());
    if (from == nullptr) {
      return std::fill_n(out, count, fill_);
    }
    const auto element = [&](int64_t i) {
      const int64_t at = source[static_cast<size_t>(i)];
      return at == kOutside ? fill_ : from[at];
    };
    for (int64_t i = 0; i < plan_.run_at; ++i) {
      out[i] = element(i);
    }
    if (plan_.run_count > 0) {
      std::memcpy(out + plan_.run_at, from + plan_.run_from,
                  static_cast<size_t>(plan_.run_count) * sizeof(T));
    }
    for (int64_t i = plan_.run_at + plan_.run_count; i < count; ++i) {
      out[i] = element(i);
    }
    return out + count;
  }

  const PadPlan plan_;
  const T fill_;
};

// The fill value's bits in an unsigned type of the element's size.
template <typename T, typename Bits>
Bits BitsOf(T value) {
  static_assert(sizeof(T) == sizeof(Bits));
  Bits bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

template <typename Bits>
Bits FillBits(DType dtype, float value) {
  const double wide = static_cast<double>(value);
  if constexpr (sizeof(Bits) == 8) {
    return dtype == DType::kFloat64 ? BitsOf<double, Bits>(wide)
           : dtype == DType::kInt64 ? BitsOf<int64_t, Bits>(ClampCast<int64_t>(wide))
                                    : ClampCast<Bits>(wide);
  } else if constexpr (sizeof(Bits) == 4) {
    return dtype == DType::kFloat32 ? BitsOf<float, Bits>(value)
           : dtype == DType::kInt32 ? BitsOf<int32_t, Bits>(ClampCast<int32_t>(wide))
                                    : ClampCast<Bits>(wide);
  } else if constexpr (sizeof(Bits) == 2) {
    return dtype == DType::kFloat16 ? HalfFromFloat(value).bits
           : dtype == DType::kInt16 ? BitsOf<int16_t, Bits>(ClampCast<int16_t>(wide))
                                    : ClampCast<Bits>(wide);
  } else {
    return dtype == DType::kInt8   ? BitsOf<int8_t, Bits>(ClampCast<int8_t>(wide))
           : dtype == DType::kBool ? static_cast<Bits>(value != 0.0f)
                                   : ClampCast<Bits>(wide);
  }
}

}  // namespace

KernelOr MakePad(const KernelRequest& request) {
  const DType dtype = request.node->type().dtype;
  const float constant = request.node->attrs<PadAttrs>().constant;
  return DispatchSize(dtype, [&](auto tag) -> KernelOr {
    using T = typename decltype(tag)::type;
    return std::make_unique<PadKernel<T>>(PlanOf(request), FillBits<T>(dtype, constant));
  });
}

}  // namespace qb::execute
