// Functions of one code: lookup tables, with interpolation for int16, and rescaling as a table of its
// own making.
#include <cstring>
#include <vector>

#include "core/integer/kernels/kernel_call.h"
#include "core/integer/kernels/wide.h"
#include "core/integer/requant.h"
#include "core/integer/tables.h"

namespace qb::integer {
namespace {

void Look(const std::vector<int8_t>& table, const int8_t* x, int64_t elements, int8_t* y) {
  const uint8_t* codes = reinterpret_cast<const uint8_t*>(table.data());
  int64_t i = 0;
  // Eight codes a load and a store: single bytes would make each load wait for the store before it
  // when the layer works in place.
  for (; i + 8 <= elements; i += 8) {
    uint64_t eight;
    std::memcpy(&eight, x + i, 8);
    uint64_t result = 0;
    for (int shift = 0; shift < 64; shift += 8) {
      const uint64_t code = codes[(eight >> shift & 0xff) ^ 0x80];
      result |= code << shift;
    }
    std::memcpy(y + i, &result, 8);
  }
  for (; i < elements; ++i) {
    y[i] = table[static_cast<uint8_t>(x[i]) ^ 0x80];
  }
}

// Of int16 codes.
void LookBetween(const KernelCall& call, const LutParams& params) {
  const TensorInfo& y = call.output_tensor();
  const int64_t elements = y.shape.elements();
  const int32_t low = LeastCode(y.dtype), high = MostCode(y.dtype);
  const int16_t* codes = call.input<int16_t>(0);
  const size_t channels = params.requant.size();
  size_t channel = 0;
  for (int64_t i = 0; i < elements; ++i) {
    StoreCode(y.dtype, call.output, i,
              ApplyRequant(LookBetweenKnots(params.knots, codes[i]), params.requant[channel],
                           y.zero_point, low, high));
    channel = channel + 1 == channels ? 0 : channel + 1;
  }
}

}  // namespace

void RunLut(const KernelCall& call) {
  if (call.input_tensor(0).dtype == DType::kInt16) {
    LookBetween(call, call.params<LutParams>());
    return;
  }
  Look(call.params<LutParams>().table, call.input<int8_t>(0),
       call.output_tensor().shape.elements(), call.out<int8_t>());
}

void RunRescale(const KernelCall& call) {
  const Requant requant = call.params<RequantParams>().requant;
  const int32_t zero_x = call.input_tensor(0).zero_point;
  const int32_t zero_y = call.output_tensor().zero_point;
  const int64_t elements = call.output_tensor().shape.elements();
  if (HasInt16(call)) {
    const DType dtype = call.output_tensor().dtype;
    WithCodes(call, 0, [&](const auto* codes) {
      for (int64_t i = 0; i < elements; ++i) {
        StoreCode(dtype, call.output, i,
                  ApplyRequant(codes[i] - zero_x, requant, zero_y, LeastCode(dtype), MostCode(dtype)));
      }
    });
    return;
  }
  const int8_t* x = call.input<int8_t>(0);
  if (!call.reference()) {
    Look(RescaleTable(requant, zero_x, zero_y), x, elements, call.out<int8_t>());
    return;
  }
  for (int64_t i = 0; i < elements; ++i) {
    call.out<int8_t>()[i] =
        static_cast<int8_t>(ApplyRequant(x[i] - zero_x, requant, zero_y, -128, 127));
  }
}

}  // namespace qb::integer
