#include "core/evaluate/boxes.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/failure.h"

namespace qb {
namespace {

constexpr double kSuppressedOverlap = 0.45, kSameBox = 0.5;
constexpr int64_t kCoordinates = 4;

bool IsList(const Shape& shape) { return shape.rank() == 3 && shape[0] == 1; }

// Scores that belong to `count` boxes; both orders are told apart by the count.
bool HoldsScores(const Shape& shape, int64_t count, bool& classes_first) {
  if (!IsList(shape)) {
    return false;
  }
  classes_first = shape[1] != count && shape[2] == count;
  return shape[1] == count || shape[2] == count;
}

Box FromCentre(double x, double y, double width, double height) {
  Box box;
  box.left = x - width / 2;
  box.top = y - height / 2;
  box.right = x + width / 2;
  box.bottom = y + height / 2;
  return box;
}

// Values of candidate i, field k: `stride` between candidates and between fields.
struct Fields {
  const float* data;
  int64_t candidate_stride, field_stride;
  double At(int64_t candidate, int64_t field) const {
    return data[candidate * candidate_stride + field * field_stride];
  }
};

// Everything the same in all forms: where coordinates and scores are found.
struct Candidates {
  int64_t count = 0, classes = 0;
  Fields boxes, scores;
  int64_t first_score = 0;  // field of the first class
  bool objectness = false;  // in the field before it
  bool centre = false;

  Box BoxOf(int64_t i) const {
    const double a = boxes.At(i, 0), b = boxes.At(i, 1), c = boxes.At(i, 2), d = boxes.At(i, 3);
    if (centre) {
      return FromCentre(a, b, c, d);
    }
    Box box;
    box.left = a;
    box.top = b;
    box.right = c;
    box.bottom = d;
    return box;
  }
};

Candidates CandidatesOf(absl::Span<const Tensor> outputs, const BoxLayout& layout) {
  const Tensor& boxes = outputs[layout.boxes];
  const Shape& shape = boxes.shape();
  const float* data = boxes.data<float>();
  Candidates candidates;
  if (layout.form == BoxForm::kColumns) {
    candidates = {shape[2],
                  shape[1] - kCoordinates,
                  {data, 1, shape[2]},
                  {data, 1, shape[2]},
                  kCoordinates,
                  false,
                  true};
    return candidates;
  }
  const Fields rows{data, shape[2], 1};
  if (layout.form == BoxForm::kRows) {
    candidates = {shape[1], shape[2] - kCoordinates - 1, rows, rows, kCoordinates + 1, true, true};
    return candidates;
  }
  const Tensor& scores = outputs[layout.scores];
  const Shape& score_shape = scores.shape();
  const Fields fields = layout.classes_first ? Fields{scores.data<float>(), 1, score_shape[2]}
                                             : Fields{scores.data<float>(), score_shape[2], 1};
  candidates = {shape[1], score_shape[layout.classes_first ? 1 : 2], rows, fields, 0, false, false};
  return candidates;
}

std::vector<Box> Suppressed(std::vector<Box> boxes) {
  std::stable_sort(boxes.begin(), boxes.end(),
                   [](const Box& a, const Box& b) { return a.score > b.score; });
  std::vector<Box> kept;
  for (const Box& box : boxes) {
    const bool covered = std::any_of(kept.begin(), kept.end(), [&](const Box& better) {
      return better.label == box.label && Overlap(better, box) > kSuppressedOverlap;
    });
    if (!covered) {
      kept.push_back(box);
    }
  }
  return kept;
}

}  // namespace

absl::StatusOr<BoxLayout> FindBoxes(absl::Span<const Shape> outputs) {
  BoxLayout layout;
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (size_t k = 0; k < outputs.size(); ++k) {
      if (i != k && IsList(outputs[i]) && outputs[i][2] == kCoordinates &&
          HoldsScores(outputs[k], outputs[i][1], layout.classes_first)) {
        layout.form = BoxForm::kCorners;
        layout.boxes = i;
        layout.scores = k;
        return layout;
      }
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Shape& shape = outputs[i];
    if (!IsList(shape)) {
      continue;
    }
    layout.boxes = i;
    if (shape[1] > shape[2] && shape[2] > kCoordinates + 1) {
      layout.form = BoxForm::kRows;
      return layout;
    }
    if (shape[2] > shape[1] && shape[1] > kCoordinates) {
      layout.form = BoxForm::kColumns;
      return layout;
    }
  }
  return Failure(
      FailureCode::kArgumentError,
      absl::StrCat("--metric boxes: no boxes are known in the outputs ",
                   absl::StrJoin(outputs, ", ",
                                 [](std::string* out, const Shape& shape) {
                                   absl::StrAppend(out, "[", shape.ToString(), "]");
                                 }),
                   "; [1xNx(5+C)], [1x(4+C)xN], or [1xNx4] with scores [1xNxC] or [1xCxN] are"));
}

std::vector<Box> ReadBoxes(absl::Span<const Tensor> outputs, const BoxLayout& layout,
                           double least_score) {
  const Candidates candidates = CandidatesOf(outputs, layout);
  std::vector<Box> boxes;
  for (int64_t i = 0; i < candidates.count; ++i) {
    const double objectness =
        candidates.objectness ? candidates.scores.At(i, candidates.first_score - 1) : 1.0;
    for (int64_t c = 0; c < candidates.classes; ++c) {
      const double score = objectness * candidates.scores.At(i, candidates.first_score + c);
      if (score >= least_score) {
        Box box = candidates.BoxOf(i);
        box.score = score;
        box.label = c;
        boxes.push_back(box);
      }
    }
  }
  return Suppressed(std::move(boxes));
}

double Overlap(const Box& a, const Box& b) {
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (!(width > 0) || !(height > 0)) {
    return 0;
  }
  const auto area = [](const Box& box) { return (box.right - box.left) * (box.bottom - box.top); };
  return width * height / (area(a) + area(b) - width * height);
}

int64_t CountFound(const std::vector<Box>& wanted, const std::vector<Box>& found) {
  std::vector<bool> taken(found.size(), false);
  int64_t count = 0;
  for (const Box& box : wanted) {
    size_t best = found.size();
    double most = kSameBox;
    for (size_t i = 0; i < found.size(); ++i) {
      const double overlap = taken[i] || found[i].label != box.label ? 0.0 : Overlap(box, found[i]);
      if (overlap >= most) {
        best = i;
        most = overlap;
      }
    }
    if (best < found.size()) {
      taken[best] = true;
      ++count;
    }
  }
  return count;
}

}  // namespace qb
