#include "core/dataset/preprocess/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/testing/status_matchers.h"

namespace qb {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;

absl::StatusOr<Tensor> Apply(const std::string& steps, const Tensor& image) {
  const absl::StatusOr<Json> json = Json::Parse(steps);
  EXPECT_THAT(json, testing::IsOk());
  absl::StatusOr<Pipeline> pipeline = Pipeline::Create(*json);
  if (!pipeline.ok()) {
    return pipeline.status();
  }
  return pipeline->Apply(image);
}

Tensor Bytes(const Shape& shape, const std::vector<uint8_t>& values) {
  return Tensor::Of<uint8_t>(DType::kUint8, shape, values);
}

TEST(Pipeline, CropsAndPads) {
  const Tensor image = Bytes({2, 3, 1}, {1, 2, 3, 4, 5, 6});
  QB_ASSERT_OK_AND_ASSIGN(const Tensor crop,
                          Apply(R"([{"op":"crop","top":1,"left":1,"height":1,"width":2}])", image));
  EXPECT_THAT(crop.values<uint8_t>(), ElementsAre(5, 6));
  QB_ASSERT_OK_AND_ASSIGN(
      const Tensor pad,
      Apply(R"([{"op":"pad","top":1,"bottom":0,"left":0,"right":1,"padValue":9}])", image));
  EXPECT_THAT(pad.values<uint8_t>(), ElementsAre(9, 9, 9, 9, 1, 2, 3, 9, 4, 5, 6, 9));
  EXPECT_THAT(Apply(R"([{"op":"crop","top":1,"left":2,"height":1,"width":2}])", image),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("pipeline[0] (crop): rows 1 to 2 and columns 2 to 4")));
  EXPECT_THAT(Apply(R"([{"op":"pad","padValue":0.5}])", image),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("padValue 0.5")));
}

// torchvision rounds half a pixel to the even side, and pads what is too small.
TEST(Pipeline, CentreCropsAsTorchvision) {
  QB_ASSERT_OK_AND_ASSIGN(const Tensor odd, Apply(R"([{"op":"centerCrop","height":1,"width":2}])",
                                                  Bytes({1, 5, 1}, {1, 2, 3, 4, 5})));
  EXPECT_THAT(odd.values<uint8_t>(), ElementsAre(3, 4));  // 1.5 rounds to 2
  QB_ASSERT_OK_AND_ASSIGN(const Tensor small, Apply(R"([{"op":"centerCrop","height":1,"width":4}])",
                                                    Bytes({1, 1, 1}, {7})));
  EXPECT_THAT(small.values<uint8_t>(), ElementsAre(0, 7, 0, 0));
}

TEST(Pipeline, LetterboxesToTheCorner) {
  QB_ASSERT_OK_AND_ASSIGN(
      const Tensor box,
      Apply(R"([{"op":"letterbox","height":3,"width":2,"padValue":114,"mode":"nearest",
               "backend":"opencv","alignType":1}])",
            Bytes({2, 2, 1}, {1, 2, 3, 4})));
  EXPECT_THAT(box.values<uint8_t>(), ElementsAre(1, 2, 3, 4, 114, 114));
}

TEST(Pipeline, ConvertsColours) {
  const Tensor pixel = Bytes({1, 1, 3}, {10, 20, 30});
  QB_ASSERT_OK_AND_ASSIGN(const Tensor bgr,
                          Apply(R"([{"op":"colorConvert","from":"RGB","to":"BGR"}])", pixel));
  EXPECT_THAT(bgr.values<uint8_t>(), ElementsAre(30, 20, 10));
  QB_ASSERT_OK_AND_ASSIGN(const Tensor grey,
                          Apply(R"([{"op":"colorConvert","from":"RGB","to":"GRAY"}])", pixel));
  EXPECT_THAT(grey.values<uint8_t>(), ElementsAre(18));
  QB_ASSERT_OK_AND_ASSIGN(const Tensor back,
                          Apply(R"([{"op":"colorConvert","from":"BGR","to":"GRAY"},
                                  {"op":"colorConvert","from":"GRAY","to":"RGB"}])",
                                pixel));
  EXPECT_THAT(back.values<uint8_t>(), ElementsAre(22, 22, 22));
  EXPECT_THAT(Apply(R"([{"op":"colorConvert","from":"GRAY","to":"RGB"}])", pixel),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("takes 1 channels")));
}

TEST(Pipeline, NormalizesWithOrWithoutDividing) {
  const Tensor pixel = Bytes({1, 1, 2}, {255, 51});
  QB_ASSERT_OK_AND_ASSIGN(
      const Tensor unit,
      Apply(R"([{"op":"normalize","mean":[0.5,0.0],"std":[0.5,0.2],"scaleToUint8":true}])", pixel));
  EXPECT_THAT(unit.values<float>(), ElementsAre(1.0f, 1.0f));
  QB_ASSERT_OK_AND_ASSIGN(const Tensor plain,
                          Apply(R"([{"op":"normalize","mean":[5,1],"std":[10,2]}])", pixel));
  EXPECT_THAT(plain.values<float>(), ElementsAre(25.0f, 25.0f));
  EXPECT_THAT(Apply(R"([{"op":"normalize","mean":[5],"std":[10]}])", pixel),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("imageChannels")));
}

TEST(Pipeline, FusesOnlyTheLastStep) {
  const std::string normalize =
      R"({"op":"normalize","mean":[0],"std":[1],"fuseIntoFirstLayer":true})";
  EXPECT_THAT(Apply("[" + normalize + R"(,{"op":"pad","padValue":0}])", Bytes({1, 1, 1}, {7})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("pipeline[0] (normalize): fuseIntoFirstLayer is for the last")));
  const absl::StatusOr<Json> json = Json::Parse("[" + normalize + "]");
  QB_ASSERT_OK_AND_ASSIGN(const Pipeline pipeline, Pipeline::Create(*json));
  ASSERT_NE(pipeline.fused(), nullptr);
  EXPECT_FALSE(pipeline.normalizes_outside());
}

TEST(Resize, TakesTheShortSideAndCutsTheLongOne) {
  QB_ASSERT_OK_AND_ASSIGN(
      const Tensor tall,
      Apply(R"([{"op":"resize","size":2,"height":9,"width":9,"mode":"nearest","backend":"pil"}])",
            Tensor::Allocate({DType::kUint8, Shape{10, 3, 1}})));
  EXPECT_EQ(tall.shape(), (Shape{6, 2, 1}));  // 20 / 3
}

}  // namespace
}  // namespace qb
