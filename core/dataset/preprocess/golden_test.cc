// Pixels against those of the real libraries: testdata/make_golden.py made the digests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include "core/base/atomic_file.h"
#include "core/base/testing/status_matchers.h"
#include "core/dataset/preprocess/pipeline.h"
#include "core/dataset/preprocess/resize.h"
#include "core/dataset/sample_file.h"
#include "core/dataset/testing/pictures.h"

namespace qb {
namespace {

using ::testing::SizeIs;

int64_t Number(const std::string& text) { return std::strtoll(text.c_str(), nullptr, 10); }

TEST(Resize, EqualsPillowAndOpencvToTheLastBit) {
  int64_t pixels = 0;
  for (const auto& line : testing::GoldenLines("core/dataset/testdata/resize.txt")) {
    ASSERT_THAT(line, SizeIs(10));
    const Tensor image =
        testing::Picture(static_cast<int>(Number(line[2])), static_cast<uint64_t>(Number(line[3])),
                         Number(line[4]), Number(line[5]), Number(line[6]));
    const ImageSize to{Number(line[7]), Number(line[8])};
    const Interpolation mode = *InterpolationFromName(line[1]);
    const Tensor result =
        line[0] == "pil" ? PilResize(image, to, mode) : OpencvResize(image, to, mode);
    EXPECT_EQ(testing::DigestOf(result), line[9]) << absl::StrJoin(line, " ");
    pixels += std::max(image.shape()[0] * image.shape()[1], to.height * to.width);
  }
  EXPECT_GE(pixels, 1000000);
}

// torch adds in an order of its own, which moves a value that lies between two steps to the other
// one.
TEST(Resize, EqualsTorchButForTies) {
  QB_ASSERT_OK_AND_ASSIGN(const std::vector<NamedArray> arrays,
                          ReadSampleFile("core/dataset/testdata/torch_resize.npz"));
  EXPECT_GE(arrays.size(), 20u);
  int64_t elements = 0, differing = 0;
  for (const NamedArray& array : arrays) {
    const std::vector<std::string> parts = absl::StrSplit(array.name, '_');
    ASSERT_THAT(parts, SizeIs(7)) << array.name;
    const Tensor image = testing::Picture(static_cast<int>(Number(parts[3])),
                                          static_cast<uint64_t>(Number(parts[4])), Number(parts[5]),
                                          Number(parts[6]), 3);
    const Tensor result =
        TorchResize(image, {array.value.shape()[0], array.value.shape()[1]},
                    {*InterpolationFromName(parts[0]), parts[1] == "1", parts[2] == "1"});
    ASSERT_EQ(result.type(), array.value.type()) << array.name;
    for (int64_t i = 0; i < result.elements(); ++i) {
      const int step = std::abs(result.data<uint8_t>()[i] - array.value.data<uint8_t>()[i]);
      ASSERT_LE(step, 1) << array.name << " element " << i;
      differing += step;
    }
    elements += result.elements();
  }
  EXPECT_LE(differing * 500, elements) << differing << " of " << elements;
}

Pipeline MakePipeline(const std::string& text) {
  const absl::StatusOr<Json> steps = Json::Parse(text);
  EXPECT_THAT(steps, testing::IsOk());
  absl::StatusOr<Pipeline> pipeline = Pipeline::Create(*steps);
  EXPECT_THAT(pipeline, testing::IsOk());
  return *pipeline;
}

TEST(Pipeline, EqualsTorchvisionAndTheYoloLetterboxToTheLastBit) {
  const Pipeline classification = MakePipeline(R"([
      {"op":"resize","size":256,"mode":"bilinear","backend":"pil"},
      {"op":"centerCrop","height":224,"width":224},
      {"op":"normalize","mean":[0.485,0.456,0.406],"std":[0.229,0.224,0.225],
       "scaleToUint8":true,"fuseIntoFirstLayer":true}])");
  const Pipeline yolo = MakePipeline(R"([
      {"op":"letterbox","height":640,"width":640,"padValue":114,"mode":"bilinear",
       "backend":"opencv","alignType":0}])");
  const auto lines = testing::GoldenLines("core/dataset/testdata/pipelines.txt");
  EXPECT_GE(lines.size(), 10u);
  for (const auto& line : lines) {
    ASSERT_THAT(line, SizeIs(5));
    const bool is_yolo = line[0] == "yolo_640";
    const Tensor image = testing::Picture(is_yolo ? 2 : 3, static_cast<uint64_t>(Number(line[1])),
                                          Number(line[2]), Number(line[3]), 3);
    QB_ASSERT_OK_AND_ASSIGN(const Tensor result, (is_yolo ? yolo : classification).Apply(image));
    EXPECT_EQ(testing::DigestOf(result), line[4]) << absl::StrJoin(line, " ");
  }
}

}  // namespace
}  // namespace qb
