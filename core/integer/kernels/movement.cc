// Kernels that move elements of one, two or four bytes: concat, slice, pad, reshape, nearest resize, depth
// to space.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "core/integer/kernels/kernel_call.h"
#include "core/integer/tables.h"

namespace qb::integer {
namespace {

size_t Bytes(int64_t count) { return static_cast<size_t>(count); }

int64_t ElementsBefore(const Shape& shape, int64_t axis) {
  int64_t elements = 1;
  for (int64_t i = 0; i < axis; ++i) {
    elements *= shape[i];
  }
  return elements;
}

void CopyCodes(const std::vector<int8_t>* table, const uint8_t* from, int64_t bytes, uint8_t* to) {
  if (table == nullptr) {
    std::memcpy(to, from, Bytes(bytes));
    return;
  }
  for (int64_t i = 0; i < bytes; ++i) {
    to[i] = static_cast<uint8_t>((*table)[from[i] ^ 0x80]);
  }
}

// Copies a box of elements; both sides walk with strides in bytes.
struct BoxCopy {
  std::vector<int64_t> from_strides, to_strides;
  Shape extent;
  int64_t element_bytes = 1;

  void Run(const uint8_t* from, uint8_t* to, int64_t axis = 0) const {
    if (extent.rank() == 0) {
      std::memcpy(to, from, Bytes(element_bytes));
      return;
    }
    if (axis == extent.rank() - 1) {
      CopyLine(from, to);
      return;
    }
    const size_t at = static_cast<size_t>(axis);
    for (int64_t i = 0; i < extent[axis]; ++i) {
      Run(from + i * from_strides[at], to + i * to_strides[at], axis + 1);
    }
  }

  // The innermost axis.
  void CopyLine(const uint8_t* from, uint8_t* to) const {
    const int64_t from_stride = from_strides.back();
    const int64_t to_stride = to_strides.back();
    const int64_t count = extent.dims().back();
    if (from_stride == element_bytes && to_stride == element_bytes) {
      std::memcpy(to, from, Bytes(count * element_bytes));
    } else if (element_bytes == 1) {
      for (int64_t i = 0; i < count; ++i) {
        to[i * to_stride] = from[i * from_stride];
      }
    } else {
      for (int64_t i = 0; i < count; ++i) {
        std::memcpy(to + i * to_stride, from + i * from_stride, Bytes(element_bytes));
      }
    }
  }
};

std::vector<int64_t> ByteStrides(const TensorInfo& tensor) {
  std::vector<int64_t> strides = tensor.shape.strides();
  for (int64_t& stride : strides) {
    stride *= SizeBytes(tensor.dtype);
  }
  return strides;
}

}  // namespace

void RunConcat(const KernelCall& call) {
  const ConcatParams& p = call.params<ConcatParams>();
  const TensorInfo& y = call.output_tensor();
  const int64_t element_bytes = SizeBytes(y.dtype);
  const int64_t outer = ElementsBefore(y.shape, p.axis);
  const int64_t y_run = y.shape.elements() / outer * element_bytes;
  int64_t at = 0;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const TensorInfo& x = call.input_tensor(i);
    const int64_t run = x.shape.elements() / outer * element_bytes;
    std::vector<int8_t> table;
    if (p.same_scale[i] == 0) {
      table = RescaleTable(p.requant[i], x.zero_point, y.zero_point);
    }
    for (int64_t o = 0; o < outer; ++o) {
      CopyCodes(table.empty() ? nullptr : &table, call.input<uint8_t>(i) + o * run, run,
                call.out<uint8_t>() + o * y_run + at);
    }
    at += run;
  }
}

void RunSlice(const KernelCall& call) {
  const SliceParams& p = call.params<SliceParams>();
  const TensorInfo& y = call.output_tensor();
  std::vector<int64_t> from_strides = ByteStrides(call.input_tensor(0));
  const uint8_t* from = call.input<uint8_t>(0);
  for (size_t axis = 0; axis < from_strides.size(); ++axis) {
    from += p.start[axis] * from_strides[axis];
    from_strides[axis] *= p.step[axis];
  }
  const BoxCopy copy{std::move(from_strides), ByteStrides(y), y.shape, SizeBytes(y.dtype)};
  copy.Run(from, call.out<uint8_t>());
}

void RunPad(const KernelCall& call) {
  const PadParams& p = call.params<PadParams>();
  const TensorInfo& x = call.input_tensor(0);
  const TensorInfo& y = call.output_tensor();
  // Of a float tensor the padding is 0.0, whose bytes are 0.
  const int code = y.dtype == DType::kInt8 ? static_cast<uint8_t>(p.code) : 0;
  if (y.dtype == DType::kInt16) {
    std::fill_n(call.out<int16_t>(), y.shape.elements(), static_cast<int16_t>(p.code));
  } else {
    std::memset(call.output, code, Bytes(y.size_bytes()));
  }
  const std::vector<int64_t> strides = ByteStrides(y);
  uint8_t* to = call.out<uint8_t>();
  for (size_t axis = 0; axis < strides.size(); ++axis) {
    to += p.begin[axis] * strides[axis];
  }
  const BoxCopy copy{ByteStrides(x), strides, x.shape, SizeBytes(x.dtype)};
  copy.Run(call.input<uint8_t>(0), to);
}

void RunReshape(const KernelCall& call) {
  if (call.output != call.inputs[0]) {
    std::memcpy(call.output, call.inputs[0], Bytes(call.output_tensor().size_bytes()));
  }
}

void RunResizeNearest(const KernelCall& call) {
  const ResizeNearestParams& p = call.params<ResizeNearestParams>();
  const TensorInfo& x = call.input_tensor(0);
  const int64_t pixel = x.shape[3] * SizeBytes(x.dtype);
  uint8_t* out = call.out<uint8_t>();
  for (size_t row = 0; row < p.row_index.size(); ++row) {
    const int64_t row_bytes = static_cast<int64_t>(p.column_index.size()) * pixel;
    if (row > 0 && p.row_index[row] == p.row_index[row - 1]) {
      std::memcpy(out, out - row_bytes, Bytes(row_bytes));
      out += row_bytes;
      continue;
    }
    const uint8_t* from = call.input<uint8_t>(0) + p.row_index[row] * x.shape[2] * pixel;
    for (const int32_t column : p.column_index) {
      std::memcpy(out, from + column * pixel, Bytes(pixel));
      out += pixel;
    }
  }
}

namespace {

// One row of the result after the other: block x block channels of a pixel become places.
template <typename T>
void SpreadDepth(const KernelCall& call) {
  const DepthToSpaceParams& p = call.params<DepthToSpaceParams>();
  const Shape& x = call.input_tensor(0).shape;
  const int64_t channels = x[3] / (p.block * p.block);
  T* out = call.out<T>();
  for (int64_t oy = 0; oy < x[1] * p.block; ++oy) {
    const T* pixel = call.input<T>(0) + oy / p.block * x[2] * x[3];
    for (int64_t ix = 0; ix < x[2]; ++ix, pixel += x[3]) {
      for (int64_t dx = 0; dx < p.block; ++dx, out += channels) {
        const int64_t place = oy % p.block * p.block + dx;
        const T* from = pixel + (p.crd ? place : place * channels);
        const int64_t stride = p.crd ? p.block * p.block : 1;
        for (int64_t c = 0; c < channels; ++c) {
          out[c] = from[c * stride];
        }
      }
    }
  }
}

}  // namespace

void RunDepthToSpace(const KernelCall& call) {
  if (SizeBytes(call.input_tensor(0).dtype) == 1) {
    SpreadDepth<uint8_t>(call);
  } else if (SizeBytes(call.input_tensor(0).dtype) == 2) {
    SpreadDepth<uint16_t>(call);
  } else {
    SpreadDepth<uint32_t>(call);
  }
}

}  // namespace qb::integer
