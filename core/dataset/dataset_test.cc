#include "core/dataset/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/atomic_file.h"
#include "core/base/failure.h"
#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"
#include "core/dataset/npy.h"

namespace qb {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using ::testing::Not;
using testing::StatusIs;

class LogCollector final : public ProgressSink {
 public:
  void OnStage(absl::string_view) override {}
  void OnProgress(int64_t, int64_t, absl::string_view) override {}
  void OnLog(LogLevel, absl::string_view, absl::string_view message) override {
    lines.emplace_back(message);
  }
  std::vector<std::string> lines;
};

class OpenDatasetTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, const Tensor& tensor) {
    ASSERT_THAT(WriteFileAtomically(folder_.File(name), SerializeNpy(tensor)), IsOk());
  }
  absl::StatusOr<std::unique_ptr<Dataset>> Open(const std::vector<InputSpec>& inputs,
                                                const std::string& path = "") {
    return OpenDataset(path.empty() ? folder_.path() : path, inputs, log_);
  }
  static void ExpectDataError(const absl::Status& status, const std::string& text) {
    EXPECT_EQ(FailureCodeOf(status), FailureCode::kCalibrationDataError) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  }

  testing::TempDir folder_;
  LogCollector log_;
  const std::vector<InputSpec> one_ = {{"x", {DType::kFloat32, {1, 2}}}};
};

TEST_F(OpenDatasetTest, SortsByNameAndLoads) {
  Write("b.npy", Tensor::OfFloats({1, 2}, {3, 4}));
  Write("a.npy", Tensor::OfFloats({2}, {1, 2}));
  ASSERT_THAT(WriteFileAtomically(folder_.File("labels.csv"), "sample,label\n"), IsOk());
  QB_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Dataset> set, Open(one_));
  ASSERT_EQ(set->size(), 2);
  EXPECT_EQ(set->name(0), "a");
  QB_ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> values, set->Load(0));
  ASSERT_EQ(values.size(), 1u);
  EXPECT_TRUE(values[0].Equals(Tensor::OfFloats({1, 2}, {1, 2})));
}

TEST_F(OpenDatasetTest, WarnsOfSamplesThatAreNotAsTheOthers) {
  const uint8_t bytes[] = {200, 255};
  Write("a.npy", Tensor::OfFloats({1, 2}, {0.5f, 1.0f}));
  Write("b.npy", Tensor::Of<uint8_t>(DType::kUint8, {1, 2}, bytes));
  Write("c.npy", Tensor::OfFloats({1, 2}, {0.25f, 1.0f}));
  QB_ASSERT_OK(Open(one_).status());
  EXPECT_THAT(log_.lines, ElementsAre("input 'x': uint8 read as float32 in 1 of 3 samples, first "
                                      "'b': were they written as the others?"));
}

TEST_F(OpenDatasetTest, LogsAConversionOnce) {
  const double values[] = {1.5, 2.5};
  Write("a.npy", Tensor::Of<double>(DType::kFloat64, {1, 2}, values));
  Write("b.npy", Tensor::Of<double>(DType::kFloat64, {1, 2}, values));
  QB_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Dataset> set, Open(one_));
  EXPECT_THAT(log_.lines, ElementsAre("input 'x': float64 read as float32 (sample 'a')"));
  QB_ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> loaded, set->Load(1));
  EXPECT_THAT(loaded[0].values<float>(), ElementsAre(1.5f, 2.5f));
}

TEST_F(OpenDatasetTest, NamesEveryBadSampleUpToTwenty) {
  Write("good.npy", Tensor::OfFloats({1, 2}, {1, 2}));
  Write("nan.npy", Tensor::OfFloats({1, 2}, {1, std::nanf("")}));
  ASSERT_THAT(WriteFileAtomically(folder_.File("empty.npy"), ""), IsOk());
  for (int i = 0; i < 25; ++i) {
    Write(absl::StrCat("shape", i, ".npy"), Tensor::OfFloats({1, 3}, {1, 2, 3}));
  }
  const absl::Status status = Open(one_).status();
  ExpectDataError(status, "27 of 28 samples");
  ExpectDataError(status, "empty.npy': not a .npy file (0 bytes");
  ExpectDataError(status, "nan.npy': found NaN or infinity at element 1");
  ExpectDataError(status, "found float32[1x3], expected float32[1x2] of input 'x'");
  ExpectDataError(status, "and 7 more");
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("good.npy")));
}

TEST_F(OpenDatasetTest, KnowsTheHashOfASampleWithoutReadingItAgain) {
  Write("a.npy", Tensor::OfFloats({1, 2}, {1, 2}));
  Write("b.npy", Tensor::OfFloats({1, 2}, {2, 1}));
  QB_ASSERT_OK_AND_ASSIGN(const auto set, Open(one_));
  QB_ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> values, set->Load(0));
  std::filesystem::remove(folder_.File("a.npy"));
  QB_ASSERT_OK_AND_ASSIGN(const uint64_t hash, set->ContentHash(0));
  EXPECT_EQ(hash, ContentHashOf(values));
  QB_ASSERT_OK_AND_ASSIGN(const uint64_t other, set->ContentHash(1));
  EXPECT_NE(hash, other);
}

TEST_F(OpenDatasetTest, RefusesAnEmptyFolderAndAMissingOne) {
  ExpectDataError(Open(one_).status(), "has no samples");
  ExpectDataError(Open(one_, folder_.File("nothing")).status(), "does not exist");
}

TEST_F(OpenDatasetTest, RefusesTwoSamplesOfOneName) {
  Write("a.npy", Tensor::OfFloats({1, 2}, {1, 2}));
  ASSERT_THAT(WriteFileAtomically(folder_.File("a.jpg"), "x"), IsOk());
  ExpectDataError(Open(one_).status(), "two samples are called");
}

TEST_F(OpenDatasetTest, ReadsAJsonListing) {
  const std::vector<InputSpec> inputs = {{"ids", {DType::kInt64, {1, 2}}},
                                         {"mask", {DType::kInt64, {1, 2}}}};
  Write("data/a.npy", Tensor::OfInt64s({1, 2}, {1, 0}));
  Write("data/b.npy", Tensor::OfInt64s({1, 2}, {5, 6}));
  const std::string list = folder_.File("list.json");
  ASSERT_THAT(WriteFileAtomically(list, R"([{"mask": "data/a.npy", "ids": "data/b.npy"}])"),
              IsOk());
  QB_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Dataset> set, Open(inputs, list));
  QB_ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> values, set->Load(0));
  EXPECT_THAT(values[0].values<int64_t>(), ElementsAre(5, 6));
  ASSERT_THAT(WriteFileAtomically(list, R"([{"mask": "data/a.npy", "other": "data/b.npy"}])"),
              IsOk());
  ExpectDataError(Open(inputs, list).status(), "there is no input 'other'");
  ASSERT_THAT(WriteFileAtomically(list, R"(["../a.npy"])"), IsOk());
  ExpectDataError(Open(inputs, list).status(), "leaves the listing's folder");
}

TEST_F(OpenDatasetTest, PreparesRawImages) {
  const std::vector<InputSpec> inputs = {{"x", {DType::kFloat32, {1, 3, 4, 6}}}};
  DatasetOptions options;
  const absl::StatusOr<Json> steps =
      Json::Parse(R"([{"op":"resize","height":4,"width":6,"mode":"bilinear","backend":"pil"}])");
  QB_ASSERT_OK_AND_ASSIGN(const Pipeline pipeline, Pipeline::Create(*steps));
  options.inputs["x"] = {true, pipeline, true, 255.0};
  options.threads = 2;
  const std::string images = "core/dataset/testdata/images/";
  for (const char* name : {"rgb.png", "grey.png", "turned.jpg"}) {
    std::filesystem::copy_file(images + name, folder_.File(name));
  }
  QB_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Dataset> set,
                          OpenDataset(folder_.path(), inputs, options, log_));
  ASSERT_EQ(set->size(), 3);
  EXPECT_THAT(log_.lines,
              ::testing::UnorderedElementsAre(
                  "input 'x': uint8 values are divided by 255 (uint8Input) (sample 'grey')",
                  "input 'x': HWC read as NCHW (sample 'grey')",
                  HasSubstr("EXIF orientation 6 is not applied")));
  QB_ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> grey, set->Load(0));
  ASSERT_EQ(grey[0].shape(), (Shape{1, 3, 4, 6}));
  const absl::Span<const float> values = grey[0].values<float>();
  for (size_t i = 0; i < 24; ++i) {
    EXPECT_EQ(values[i], values[i + 24]);
    EXPECT_LE(values[i], 1.0f);
  }
}

// Three equal sizes say nothing about which of them are the channels.
TEST_F(OpenDatasetTest, RefusesAnAmbiguousLayout) {
  const std::vector<InputSpec> inputs = {{"x", {DType::kFloat32, {1, 3, 3, 3}}}};
  Write("a.npy", Tensor::OfFloats({3, 3, 3}, std::vector<float>(27)));
  ExpectDataError(Open(inputs).status(), "read as CHW and read as HWC");
  Write("a.npy", Tensor::OfFloats({1, 3, 3, 3}, std::vector<float>(27)));
  EXPECT_THAT(Open(inputs), IsOk());
}

TEST_F(OpenDatasetTest, ReadsAListingRelativeToItself) {
  Write("data/b.npy", Tensor::OfFloats({1, 2}, {3, 4}));
  Write("data/a.npy", Tensor::OfFloats({1, 2}, {1, 2}));
  ASSERT_THAT(WriteFileAtomically(folder_.File("list.txt"), "data/b.npy\n\ndata/a.npy\n"), IsOk());
  QB_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Dataset> set, Open(one_, folder_.File("list.txt")));
  ASSERT_EQ(set->size(), 2);
  EXPECT_EQ(set->name(0), "a");
  ASSERT_THAT(WriteFileAtomically(folder_.File("list.txt"), "data/c.npy\n"), IsOk());
  ExpectDataError(Open(one_, folder_.File("list.txt")).status(),
                  "line 1: there is no 'data/c.npy'");
}

TEST_F(OpenDatasetTest, PairsFilesWithInputsByNameThenShape) {
  const std::vector<InputSpec> inputs = {{"ids", {DType::kInt64, {1, 2}}},
                                         {"mask", {DType::kInt64, {1, 2}}},
                                         {"x", {DType::kFloat32, {1, 3}}}};
  Write("s0/mask.npy", Tensor::OfInt64s({1, 2}, {1, 0}));
  Write("s0/ids.npy", Tensor::OfInt64s({1, 2}, {5, 6}));
  Write("s0/pixels.npy", Tensor::OfFloats({1, 3}, {1, 2, 3}));
  QB_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Dataset> set, Open(inputs));
  QB_ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> values, set->Load(0));
  EXPECT_THAT(values[0].values<int64_t>(), ElementsAre(5, 6));
  EXPECT_THAT(values[1].values<int64_t>(), ElementsAre(1, 0));
  EXPECT_THAT(values[2].values<float>(), ElementsAre(1, 2, 3));
}

TEST_F(OpenDatasetTest, NeverPairsByPosition) {
  const std::vector<InputSpec> inputs = {{"ids", {DType::kInt64, {1, 2}}},
                                         {"mask", {DType::kInt64, {1, 2}}}};
  Write("s0/a.npy", Tensor::OfInt64s({1, 2}, {1, 0}));
  Write("s0/b.npy", Tensor::OfInt64s({1, 2}, {5, 6}));
  ExpectDataError(Open(inputs).status(), "fits several inputs");
}

TEST_F(OpenDatasetTest, NamesAMissingInput) {
  const std::vector<InputSpec> inputs = {{"ids", {DType::kInt64, {1, 2}}},
                                         {"mask", {DType::kInt64, {1, 2}}}};
  Write("s0/ids.npy", Tensor::OfInt64s({1, 2}, {1, 0}));
  ExpectDataError(Open(inputs).status(), "found no array for input 'mask'");
}

TEST(MakeRandomDataset, RepeatsForOneSeed) {
  const std::vector<InputSpec> inputs = {{"x", {DType::kFloat32, {1, 50}}},
                                         {"ids", {DType::kInt64, {1, 50}}}};
  const std::unique_ptr<Dataset> a = MakeRandomDataset(inputs, 2, 7);
  const std::unique_ptr<Dataset> b = MakeRandomDataset(inputs, 2, 7);
  QB_ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> first, a->Load(1));
  QB_ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> again, b->Load(1));
  QB_ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> other, a->Load(0));
  EXPECT_TRUE(first[0].Equals(again[0]));
  EXPECT_TRUE(first[1].Equals(again[1]));
  EXPECT_FALSE(first[0].Equals(other[0]));
}

}  // namespace
}  // namespace qb
