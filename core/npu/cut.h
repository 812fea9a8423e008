// Cutting a layer over cores: along rows or channels of its result.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/integer/network.h"
#include "core/npu/cost.h"

namespace qb::npu {

enum class CutAxis : uint8_t {
  kNone,      // one part
  kRows,      // the outermost axis of an extent above 1: each part is one run of bytes
  kChannels,  // the last axis: a part is strided
};

// Elements [begin, begin + extent) of the result along the cut's axis.
struct PartRange {
  int64_t begin = 0, extent = 0;
  bool operator==(const PartRange&) const = default;
};

// Bytes of a tensor: `count` runs of `run` bytes, `pitch` apart, the first at `offset`.
struct ByteRuns {
  int64_t offset = 0, run = 0, pitch = 0, count = 1;

  bool contiguous() const { return count == 1; }
  int64_t bytes() const { return run * count; }
  int64_t end() const { return offset + (count - 1) * pitch + run; }
};
// False only when no byte is in both.
bool MayMeet(const ByteRuns& a, const ByteRuns& b);

// A part as a layer of its own: of the pieces of the operands that it reads and of the result.
struct PartLayer {
  integer::Network network;  // tensors: a piece for each operand, then that of the result
  integer::Layer layer;
  std::vector<ByteRuns> reads;    // by operand, in the operand's bytes
  std::vector<bool> reads_whole;  // by operand: every part reads all of it
  ByteRuns write;
};

// How many places the layer's result has along the axis, and in which steps it may be cut there; a
// layer that cannot be cut so has 1 place. Precondition: the layer is valid.
struct CutPlaces {
  int64_t places = 1, step = 1;
};
CutPlaces PlacesOf(const integer::Layer& layer, const integer::Network& network, CutAxis axis);

// The places in `parts` shares as even as the steps allow; fewer shares where there are fewer steps.
std::vector<PartRange> Shares(CutPlaces places, int64_t parts);

// Whether a part runs as rows of the whole layer's kernel (LayerKernel::RunRows).
bool RunsAsRows(const integer::Layer& layer, CutAxis axis);

// Weights are copied only `with_weights`; they are empty where a part RunsAsRows in any case.
// Precondition: the layer is valid, `range` lies within PlacesOf on its steps.
PartLayer MakePart(const integer::Layer& layer, const integer::Network& network, CutAxis axis,
                   PartRange range, bool with_weights);

}  // namespace qb::npu
