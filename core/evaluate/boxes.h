// The boxes that a detector finds, and how many of them another one finds again.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/ir/shape.h"
#include "core/ir/tensor.h"

namespace qb {

struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;
  double score = 0;
  int64_t label = 0;
};

// How outputs hold candidates for boxes. N is their number, C that of the classes.
enum class BoxForm {
  kRows,     // [1, N, 5 + C]: centre x, centre y, width, height, objectness, scores (YOLOv5, YOLOX)
  kColumns,  // [1, 4 + C, N]: centre x, centre y, width, height, scores (YOLOv8 and later)
  kCorners,  // [1, N, 4]: left, top, right, bottom, and scores in an output [1, N, C] or [1, C, N]
};
struct BoxLayout {
  BoxForm form = BoxForm::kRows;
  size_t boxes = 0, scores = 0;  // which outputs
  bool classes_first = false;    // of kCorners: scores are [1, C, N]
};

// Which of the forms `outputs` (shapes of the float outputs) have. Errors: ARGUMENT_ERROR with the
// shapes when it is none.
absl::StatusOr<BoxLayout> FindBoxes(absl::Span<const Shape> outputs);

// The candidates with a score (times objectness) of at least `least_score`, after suppressing of
// each class those that overlap a better one by more than 0.45; best first. Preconditions:
// FindBoxes gave the layout for these shapes; float32.
std::vector<Box> ReadBoxes(absl::Span<const Tensor> outputs, const BoxLayout& layout,
                           double least_score);

// Intersection over union, 0 to 1.
double Overlap(const Box& a, const Box& b);

// How many of `wanted` have a box of their own among `found`, of the same class and with an overlap
// of at least 0.5.
int64_t CountFound(const std::vector<Box>& wanted, const std::vector<Box>& found);

}  // namespace qb
