#include "core/evaluate/boxes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/failure.h"
#include "core/base/testing/status_matchers.h"

namespace qb {
namespace {

using ::testing::HasSubstr;

Tensor Floats(const Shape& shape, const std::vector<float>& values) {
  return Tensor::Of<float>(DType::kFloat32, shape, values);
}

// Three candidates of two classes: a good box, one that it covers, and one elsewhere.
const std::vector<std::vector<float>> kCandidates = {{10, 10, 20, 20, 0.9f, 0.8f, 0.1f},
                                                     {11, 10, 20, 20, 0.9f, 0.6f, 0.5f},
                                                     {90, 90, 20, 20, 0.5f, 0.1f, 0.8f}};

void ExpectBoxes(const std::vector<Box>& boxes, double objectness) {
  ASSERT_EQ(boxes.size(), 3u);
  EXPECT_EQ(boxes[0].left, 0);
  EXPECT_EQ(boxes[0].bottom, 20);
  EXPECT_EQ(boxes[0].label, 0);
  EXPECT_NEAR(boxes[0].score, 0.8 * objectness, 1e-6);
  EXPECT_EQ(boxes[1].label, 1);
  EXPECT_EQ(boxes[2].label, 1);
}

TEST(Boxes, AreReadFromRows) {
  std::vector<float> values;
  for (int i = 0; i < 3; ++i) {
    for (const std::vector<float>& row : kCandidates) {
      std::vector<float> faint = row;
      faint[4] = i == 0 ? row[4] : 0.0f;
      values.insert(values.end(), faint.begin(), faint.end());
    }
  }
  const std::vector<Shape> shapes = {{1, 9, 7}};
  QB_ASSERT_OK_AND_ASSIGN(const BoxLayout layout, FindBoxes(shapes));
  EXPECT_EQ(layout.form, BoxForm::kRows);
  const std::vector<Tensor> outputs = {Floats({1, 9, 7}, values)};
  ExpectBoxes(ReadBoxes(outputs, layout, 0.3), 0.9);
  EXPECT_EQ(ReadBoxes(outputs, layout, 0.41).size(), 2u);
}

TEST(Boxes, AreReadFromColumns) {
  std::vector<float> values(42, 0.0f);  // 6 fields of 7 candidates
  for (size_t i = 0; i < 3; ++i) {
    for (size_t field = 0; field < 6; ++field) {
      values[field * 7 + i] = kCandidates[i][field < 4 ? field : field + 1];
    }
  }
  const std::vector<Shape> shapes = {{1, 6, 7}};
  QB_ASSERT_OK_AND_ASSIGN(const BoxLayout layout, FindBoxes(shapes));
  EXPECT_EQ(layout.form, BoxForm::kColumns);
  ExpectBoxes(ReadBoxes(std::vector<Tensor>{Floats({1, 6, 7}, values)}, layout, 0.3), 1.0);
}

TEST(Boxes, AreReadFromCornersWithScoresApart) {
  const Tensor boxes = Floats({1, 3, 4}, {0, 0, 20, 20, 1, 0, 21, 20, 80, 80, 100, 100});
  const Tensor scores = Floats({1, 3, 2}, {0.8f, 0.1f, 0.6f, 0.5f, 0.1f, 0.8f});
  const Tensor turned = Floats({1, 2, 3}, {0.8f, 0.6f, 0.1f, 0.1f, 0.5f, 0.8f});
  for (const Tensor& given : {scores, turned}) {
    const std::vector<Shape> shapes = {given.shape(), boxes.shape()};
    QB_ASSERT_OK_AND_ASSIGN(const BoxLayout layout, FindBoxes(shapes));
    EXPECT_EQ(layout.form, BoxForm::kCorners);
    EXPECT_EQ(layout.boxes, 1u);
    ExpectBoxes(ReadBoxes(std::vector<Tensor>{given, boxes}, layout, 0.3), 1.0);
  }
}

TEST(Boxes, OtherOutputsAreRefusedWithTheirShapes) {
  const std::vector<Shape> shapes = {{1, 1000}};
  const absl::Status status = FindBoxes(shapes).status();
  EXPECT_EQ(FailureCodeOf(status), FailureCode::kArgumentError);
  EXPECT_THAT(std::string(status.message()), HasSubstr("[1x1000]"));
}

Box At(double left, double top, int64_t label) {
  Box box;
  box.left = left;
  box.top = top;
  box.right = left + 10;
  box.bottom = top + 10;
  box.label = label;
  return box;
}

TEST(Boxes, OverlapByIntersectionOverUnion) {
  EXPECT_EQ(Overlap(At(0, 0, 0), At(0, 0, 0)), 1.0);
  EXPECT_NEAR(Overlap(At(0, 0, 0), At(5, 0, 0)), 50.0 / 150.0, 1e-12);
  EXPECT_EQ(Overlap(At(0, 0, 0), At(10, 0, 0)), 0.0);
}

TEST(Boxes, EachCountsForOneOnly) {
  const std::vector<Box> wanted = {At(0, 0, 1), At(1, 0, 1), At(50, 50, 1)};
  EXPECT_EQ(CountFound(wanted, {At(0, 0, 1)}), 1);
  EXPECT_EQ(CountFound(wanted, {At(0, 0, 1), At(1, 0, 1)}), 2);
  EXPECT_EQ(CountFound(wanted, {At(50, 50, 2)}), 0);               // another class
  EXPECT_EQ(CountFound(wanted, {At(54, 50, 1), At(2, 1, 1)}), 1);  // 60 / 140 is too little
  EXPECT_EQ(CountFound({}, wanted), 0);
}

}  // namespace
}  // namespace qb
