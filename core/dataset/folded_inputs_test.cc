#include "core/dataset/folded_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/testing/status_matchers.h"
#include "core/dataset/preprocess/letterbox.h"
#include "core/dataset/testing/pictures.h"

namespace qb {
namespace {

using ::testing::HasSubstr;
using testing::Picture;
using testing::StatusIs;

constexpr char kSteps[] =
    R"([{"op":"colorConvert","from":"RGB","to":"BGR"},
        {"op":"letterbox","height":4,"width":4,"padValue":7,"mode":"bilinear","backend":"opencv",
         "fuseIntoFirstLayer":true,"sourceHeight":6,"sourceWidth":8},
        {"op":"normalize","mean":[0.1,0.2,0.3],"std":[0.5,0.6,0.7],"scaleToUint8":true,
         "fuseIntoFirstLayer":true}])";

DatasetOptions OptionsFor(const std::string& input) {
  DatasetOptions options;
  InputPreparation& preparation = options.inputs[input];
  preparation.preprocess = true;
  const absl::StatusOr<Pipeline> pipeline = Pipeline::Create(*Json::Parse(kSteps));
  EXPECT_THAT(pipeline, testing::IsOk());
  preparation.pipeline = *pipeline;
  return options;
}

// Tensor [H, W, C] with a batch axis, channels first where asked.
Tensor Batched(const Tensor& image, bool first) {
  const int64_t h = image.shape()[0], w = image.shape()[1], c = image.shape()[2];
  if (!first) {
    return image.Reshaped(Shape{1, h, w, c});
  }
  Tensor result = Tensor::Allocate({DType::kUint8, Shape{1, c, h, w}});
  for (int64_t i = 0; i < h * w * c; ++i) {
    result.mutable_data<uint8_t>()[i % c * h * w + i / c] = image.data<uint8_t>()[i];
  }
  return result;
}

TEST(FoldedInputs, FinishWhatThePipelineLeaves) {
  for (const bool first : {true, false}) {
    const std::vector<InputSpec> inputs = {
        {"a", {DType::kFloat32, Shape{2}}},
        {"x", {DType::kFloat32, first ? Shape{1, 3, 4, 4} : Shape{1, 4, 4, 3}}}};
    const DatasetOptions options = OptionsFor("x");
    QB_ASSERT_OK_AND_ASSIGN(const FoldedInputs folded, FoldedInputs::Create(inputs, options));
    EXPECT_TRUE(folded.any());
    EXPECT_EQ(folded.ChannelAxis("x"), first ? 1 : 3);
    EXPECT_EQ(folded.ChannelAxis("a"), std::nullopt);
    EXPECT_EQ(folded.taken()[0].type, inputs[0].type);
    EXPECT_EQ(folded.taken()[1].type,
              (TensorType{DType::kUint8, first ? Shape{1, 3, 6, 8} : Shape{1, 6, 8, 3}}));

    const Tensor image = Picture(0, 5, 6, 8, 3);
    const Pipeline& pipeline = options.inputs.at("x").pipeline;
    QB_ASSERT_OK_AND_ASSIGN(const Tensor before, BeforeFused(pipeline).Apply(image));
    QB_ASSERT_OK_AND_ASSIGN(const Tensor whole, pipeline.Apply(image));
    const Tensor other = Tensor::Of<float>(DType::kFloat32, {2}, std::vector<float>{1, 2});
    QB_ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> finished,
                            folded.Finish({other, Batched(before, first)}));
    EXPECT_TRUE(finished[0].Equals(other));
    ASSERT_EQ(finished[1].type(), inputs[1].type);
    for (int64_t i = 0; i < whole.elements(); ++i) {
      const int64_t at = first ? i % 3 * 16 + i / 3 : i;
      EXPECT_EQ(finished[1].data<float>()[at], whole.data<float>()[i]);
    }
  }
}

TEST(FoldedInputs, AreCutOutOfThePipeline) {
  const DatasetOptions before = BeforeFolding(OptionsFor("x"));
  EXPECT_EQ(before.inputs.at("x").pipeline.steps().size(), 1u);
  const std::vector<InputSpec> inputs = {{"x", {DType::kFloat32, Shape{1, 3, 4, 4}}}};
  QB_ASSERT_OK_AND_ASSIGN(const FoldedInputs none, FoldedInputs::Create(inputs, before));
  EXPECT_FALSE(none.any());
  EXPECT_EQ(none.taken()[0].type, inputs[0].type);
}

TEST(FoldedInputs, FinishedSamplesHaveTheHashesOfTheirValues) {
  const std::vector<InputSpec> inputs = {{"x", {DType::kFloat32, Shape{1, 3, 4, 4}}}};
  QB_ASSERT_OK_AND_ASSIGN(const FoldedInputs folded, FoldedInputs::Create(inputs, OptionsFor("x")));
  const std::unique_ptr<Dataset> source = MakeRandomDataset(folded.taken(), 2, 1);
  const std::unique_ptr<Dataset> finished = MakeFinishedDataset(*source, folded);
  QB_ASSERT_OK_AND_ASSIGN(const uint64_t unread, finished->ContentHash(1));
  QB_ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> values, finished->Load(1));
  QB_ASSERT_OK_AND_ASSIGN(const uint64_t read, finished->ContentHash(1));
  EXPECT_EQ(unread, ContentHashOf(values));
  EXPECT_EQ(read, ContentHashOf(values));
}

TEST(FoldedInputs, MustHaveTheLetterboxsSize) {
  const std::vector<InputSpec> inputs = {{"x", {DType::kFloat32, Shape{1, 3, 8, 4}}}};
  EXPECT_THAT(FoldedInputs::Create(inputs, OptionsFor("x")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("a letterbox of 4x4 cannot be folded into input 'x'")));
}

}  // namespace
}  // namespace qb
