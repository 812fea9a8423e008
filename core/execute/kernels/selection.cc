// NonZero, CountUsed, Unique: as many results as the values say, padded with -1.
#include "core/ops/selection.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/execute/kernels/all_kernels.h"
#include "core/execute/kernels/axis_view.h"
#include "core/execute/kernels/dtype_dispatch.h"

namespace qb::execute {
namespace {

// A bool is a byte here; every other type compares as itself.
template <typename Make>
KernelOr DispatchValues(DType dtype, Make make) {
  return dtype == DType::kBool ? make(TypeTag<uint8_t>{}) : DispatchArithmetic(dtype, make);
}

template <typename T>
void ListNonZero(const Shape& shape, const T* x, int64_t* out) {
  const int64_t count = shape.elements();
  const std::vector<int64_t> strides = shape.strides();
  const int64_t rows = std::max<int64_t>(shape.rank(), 1);
  std::fill_n(out, rows * count, int64_t{-1});
  int64_t column = 0;
  for (int64_t at = 0; at < count; ++at) {
    if (x[at] == T{}) {
      continue;
    }
    out[column] = 0;  // of a scalar
    for (int64_t d = 0; d < shape.rank(); ++d) {
      out[d * count + column] = at / strides[static_cast<size_t>(d)] % shape[d];
    }
    ++column;
  }
}

// A total order, as sorting needs: what is no number comes last and equals its like.
template <typename T>
bool Before(T a, T b) {
  return a < b || (a == a && b != b);
}

// Groups of equal slices along an axis.
template <typename T>
class SliceGroups {
 public:
  SliceGroups(const AxisView& view, const T* x) : view_(view), x_(x) {
    order_.resize(static_cast<size_t>(view.axis));
    std::iota(order_.begin(), order_.end(), 0);
    std::sort(order_.begin(), order_.end(), [&](int64_t a, int64_t b) {
      const int compared = Compare(a, b);
      return compared != 0 ? compared < 0 : a < b;
    });
  }

  void Write(const UniqueAttrs& attrs, int64_t* out) {
    std::vector<std::vector<int64_t>> groups;
    for (const int64_t slice : order_) {
      if (groups.empty() || Compare(groups.back().front(), slice) != 0) {
        groups.emplace_back();
      }
      groups.back().push_back(slice);  // rising: the sort is by index among equals
    }
    if (!attrs.sorted) {
      std::sort(groups.begin(), groups.end(),
                [](const auto& a, const auto& b) { return a.front() < b.front(); });
    }
    std::fill_n(out, view_.axis, int64_t{-1});
    for (size_t g = 0; g < groups.size(); ++g) {
      if (attrs.part == UniquePart::kInverse) {
        for (const int64_t slice : groups[g]) {
          out[slice] = static_cast<int64_t>(g);
        }
      } else {
        out[g] = attrs.part == UniquePart::kFirst ? groups[g].front()
                                                  : static_cast<int64_t>(groups[g].size());
      }
    }
  }

 private:
  int Compare(int64_t a, int64_t b) const {
    for (int64_t o = 0; o < view_.outer; ++o) {
      for (int64_t i = 0; i < view_.inner; ++i) {
        const T left = x_[(o * view_.axis + a) * view_.inner + i];
        const T right = x_[(o * view_.axis + b) * view_.inner + i];
        if (Before(left, right) || Before(right, left)) {
          return Before(left, right) ? -1 : 1;
        }
      }
    }
    return 0;
  }

  const AxisView view_;
  const T* x_;
  std::vector<int64_t> order_;
};

}  // namespace

KernelOr MakeNonZero(const KernelRequest& request) {
  return DispatchValues(request.operand_type(0).dtype, [&](auto tag) -> KernelOr {
    using T = typename decltype(tag)::type;
    return MakeBodyKernel([shape = request.operand_shape(0)](const KernelArgs& args) {
      ListNonZero(shape, args.operand<T>(0), args.output<int64_t>());
    });
  });
}

KernelOr MakeCountUsed(const KernelRequest& request) {
  const Shape& shape = request.operand_shape(0);
  const int64_t step = shape.rank() == 2 ? shape[1] : 1;
  const int64_t entries = shape[0];
  return MakeBodyKernel([=](const KernelArgs& args) {
    const int64_t* values = args.operand<int64_t>(0);
    int64_t used = 0;
    while (used < entries && values[used * step] >= 0) {
      ++used;
    }
    *args.output<int64_t>() = used;
  });
}

KernelOr MakeUnique(const KernelRequest& request) {
  const UniqueAttrs attrs = request.node->attrs<UniqueAttrs>();
  const AxisView view = ViewAlong(request.operand_shape(0), attrs.axis);
  return DispatchValues(request.operand_type(0).dtype, [&](auto tag) -> KernelOr {
    using T = typename decltype(tag)::type;
    return MakeBodyKernel([=](const KernelArgs& args) {
      SliceGroups<T>(view, args.operand<T>(0)).Write(attrs, args.output<int64_t>());
    });
  });
}

}  // namespace qb::execute
