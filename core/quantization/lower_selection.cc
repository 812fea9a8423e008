// Operators that take elements at constant places: Gather and Expand.
#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/ops/movement.h"
#include "core/quantization/lowering.h"

namespace qb {
namespace {

int64_t Product(const std::vector<int64_t>& dims, size_t begin, size_t end) {
  return std::accumulate(dims.begin() + static_cast<std::ptrdiff_t>(begin),
                         dims.begin() + static_cast<std::ptrdiff_t>(end), int64_t{1},
                         std::multiplies<>());
}

// Tensor `from` seen as [1, outer, extent, inner], of which `places` of the third axis are taken.
struct Pick {
  std::string name;
  int from = -1;
  int64_t outer = 1, extent = 1, inner = 1;
  std::vector<int32_t> places;
};

// Adds the layers of a pick; the resizing by nearest elements copies places of an image's axis. The
// last layer bears the pick's name and writes `result`, whatever its shape.
void AddPick(Lowering& lowering, const Pick& pick, int result, const ValueScale& scale) {
  const int64_t count = static_cast<int64_t>(pick.places.size());
  const std::string seen = absl::StrCat(pick.name, "/rows");
  const std::string taken = absl::StrCat(pick.name, "/taken");
  const int image = lowering.AddTensor(seen, Shape{1, pick.outer, pick.extent, pick.inner}, scale);
  const int picked = lowering.AddTensor(taken, Shape{1, pick.outer, count, pick.inner}, scale);
  integer::ResizeNearestParams params;
  params.row_index.resize(static_cast<size_t>(pick.outer));
  std::iota(params.row_index.begin(), params.row_index.end(), 0);
  params.column_index = pick.places;
  lowering.AddLayer(seen, {pick.from}, image, integer::ReshapeParams{});
  lowering.AddLayer(taken, {image}, picked, std::move(params));
  lowering.AddLayer(pick.name, {picked}, result, integer::ReshapeParams{});
}

bool AreEven(const std::vector<int64_t>& places) {
  const int64_t step = places.size() > 1 ? places[1] - places[0] : 1;
  for (size_t i = 1; i < places.size(); ++i) {
    if (places[i] - places[i - 1] != step) {
      return false;
    }
  }
  return step != 0;
}

// Evenly spaced places are a slice.
void AddEvenPick(Lowering& lowering, const Node* node, int from, int64_t axis,
                 const std::vector<int64_t>& places) {
  integer::SliceParams slice;
  slice.start.assign(static_cast<size_t>(node->operand(0)->shape().rank()), 0);
  slice.step.assign(slice.start.size(), 1);
  slice.start[static_cast<size_t>(axis)] = places[0];
  slice.step[static_cast<size_t>(axis)] = places.size() > 1 ? places[1] - places[0] : 1;
  Shape sliced = node->operand(0)->shape();
  sliced[axis] = static_cast<int64_t>(places.size());
  if (sliced == node->shape()) {
    lowering.AddLayer(node->name(), {from}, lowering.AddValue(node), std::move(slice));
    return;
  }
  // The indices' rank is not 1: their shape replaces the axis.
  const std::string name = absl::StrCat(node->name(), "/slice");
  const int part = lowering.AddTensor(name, sliced, lowering.scale(node));
  lowering.AddLayer(name, {from}, part, std::move(slice));
  lowering.AddLayer(node->name(), {part}, lowering.AddValue(node), integer::ReshapeParams{});
}

}  // namespace

absl::Status LowerGather(Lowering& lowering, const Node* node) {
  const Node* data = node->operand(0);
  const Node* indices = node->operand(1);
  const int64_t axis = node->attrs<GatherAttrs>().axis;
  if (data->is_constant() || !indices->is_constant() || indices->shape().elements() == 0) {
    return UnsupportedLayer(*node, "constant data or varying indices; the reverse is accepted");
  }
  const int64_t extent = data->shape()[axis];
  const std::vector<int64_t> places = IndexValues(indices->constant(), extent);
  for (const int64_t place : places) {
    if (place < 0 || place >= extent) {
      return UnsupportedLayer(*node, absl::StrCat("index ", place, " of ", extent));
    }
  }
  const int from = lowering.TensorAs(data, lowering.scale(node));
  if (AreEven(places)) {
    AddEvenPick(lowering, node, from, axis, places);
    return absl::OkStatus();
  }
  const std::vector<int64_t>& dims = data->shape().dims();
  const size_t at = static_cast<size_t>(axis);
  const Pick pick = {node->name(),
                     from,
                     Product(dims, 0, at),
                     extent,
                     Product(dims, at + 1, dims.size()),
                     std::vector<int32_t>(places.begin(), places.end())};
  AddPick(lowering, pick, lowering.AddValue(node), lowering.scale(node));
  return absl::OkStatus();
}

// From the last run of repeated axes to the first, each one pick.
absl::Status LowerExpand(Lowering& lowering, const Node* node) {
  const std::vector<int64_t>& to = node->shape().dims();
  std::vector<int64_t> dims = node->operand(0)->shape().dims();
  dims.insert(dims.begin(), to.size() - dims.size(), 1);
  const ValueScale& scale = lowering.scale(node);
  int from = lowering.TensorAs(node->operand(0), scale);
  std::vector<std::pair<size_t, size_t>> runs;  // [begin, end) of axes
  for (size_t end = to.size(); end > 0; --end) {
    if (dims[end - 1] == to[end - 1]) {
      continue;
    }
    if (!runs.empty() && runs.back().first == end) {
      runs.back().first = end - 1;
    } else {
      runs.emplace_back(end - 1, end);
    }
  }
  if (runs.empty()) {
    lowering.AddLayer(node->name(), {from}, lowering.AddValue(node), integer::ReshapeParams{});
    return absl::OkStatus();
  }
  for (size_t i = 0; i < runs.size(); ++i) {
    const auto [begin, end] = runs[i];
    const bool is_last = i + 1 == runs.size();
    const Pick pick = {is_last ? node->name() : absl::StrCat(node->name(), "/axes", i),
                       from,
                       Product(dims, 0, begin),
                       1,
                       Product(dims, end, dims.size()),
                       std::vector<int32_t>(static_cast<size_t>(Product(to, begin, end)), 0)};
    std::copy(to.begin() + static_cast<std::ptrdiff_t>(begin),
              to.begin() + static_cast<std::ptrdiff_t>(end),
              dims.begin() + static_cast<std::ptrdiff_t>(begin));
    const int result =
        is_last ? lowering.AddValue(node) : lowering.AddTensor(pick.name, Shape(dims), scale);
    AddPick(lowering, pick, result, scale);
    from = result;
  }
  return absl::OkStatus();
}

}  // namespace qb
