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
class Padder {
 public:
  Padder(PadPlan plan, T fill) : plan_(std::move(plan)), fill_(fill) {}

  void Run(const KernelArgs& args) const {
    T* out = args.output<T>();
    if (plan_.source.empty()) {
      *out = *args.operand<T>(0);
    } else {
      Walk(0, args.operand<T>(0), out);
    }
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

  PadPlan plan_;
  T fill_;
};

// The bits of `value` converted to T.
template <typename T>
uint64_t BitsAs(float value) {
  const T converted = ClampCast<T>(static_cast<double>(value));
  uint64_t bits = 0;
  std::memcpy(&bits, &converted, sizeof(converted));
  return bits;
}

// The bits of the fill value as an element of `dtype`, in the low bytes (of a little-endian
// machine).
uint64_t FillBits(DType dtype, float value) {
  switch (dtype) {
    case DType::kFloat32:
      return BitsAs<float>(value);
    case DType::kFloat64:
      return BitsAs<double>(value);
    case DType::kFloat16:
      return HalfFromFloat(value).bits;
    case DType::kInt8:
      return BitsAs<int8_t>(value);
    case DType::kInt16:
      return BitsAs<int16_t>(value);
    case DType::kInt32:
      return BitsAs<int32_t>(value);
    case DType::kInt64:
      return BitsAs<int64_t>(value);
    case DType::kUint8:
      return BitsAs<uint8_t>(value);
    case DType::kUint16:
      return BitsAs<uint16_t>(value);
    case DType::kUint32:
      return BitsAs<uint32_t>(value);
    case DType::kUint64:
      return BitsAs<uint64_t>(value);
    case DType::kBool:
      return value != 0.0f ? 1 : 0;
    case DType::kUndefined:
      break;
  }
  return 0;
}

}  // namespace

KernelOr MakePad(const KernelRequest& request) {
  const DType dtype = request.node->type().dtype;
  const float constant = request.node->attrs<PadAttrs>().constant;
  return DispatchSize(dtype, [&](auto tag) -> KernelOr {
    using T = typename decltype(tag)::type;
    Padder<T> padder(PlanOf(request), static_cast<T>(FillBits(dtype, constant)));
    return MakeBodyKernel(
        [padder = std::move(padder)](const KernelArgs& args) { padder.Run(args); });
  });
}

}  // namespace qb::execute
