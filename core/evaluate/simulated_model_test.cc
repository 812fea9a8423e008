#include "core/evaluate/simulated_model.h"

#include <array>

#include "core/base/failure.h"
#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"
#include "core/npu/program.h"
#include "core/npu/testing/random_network.h"

namespace qb {
namespace {

using ::testing::HasSubstr;

const TargetSpec& Aries() { return **FindTarget("aries-rb"); }

std::vector<Tensor> Sample(const InputSpec& spec, uint64_t seed) {
  integer::testing::Random random(seed);
  Tensor image = Tensor::Allocate(spec.type);
  for (int64_t i = 0; i < image.elements(); ++i) {
    image.mutable_data<float>()[i] = static_cast<float>(random.Real(-3, 3));
  }
  return {image};
}

std::vector<std::vector<float>> Values(const std::vector<Tensor>& tensors) {
  std::vector<std::vector<float>> values;
  for (const Tensor& tensor : tensors) {
    const absl::Span<const float> span = tensor.values<float>();
    values.emplace_back(span.begin(), span.end());
  }
  return values;
}

TEST(SimulatedModel, TakesBatchesInMultiAndFillsUpTheLast) {
  QB_ASSERT_OK_AND_ASSIGN(
      const npu::NpuPrograms built,
      npu::BuildPrograms(npu::testing::MakeRandomNetwork(3, 10), Aries(), Aries().modes));
  QB_ASSERT_OK_AND_ASSIGN(
      const std::unique_ptr<SimulatedModel> single,
      SimulatedModel::CreateFromProgram(built.programs[0].program, built.weights, 1));
  QB_ASSERT_OK_AND_ASSIGN(
      const std::unique_ptr<SimulatedModel> multi,
      SimulatedModel::CreateFromProgram(built.programs[1].program, built.weights, 1));
  EXPECT_EQ(single->batch(), 1);
  ASSERT_EQ(multi->batch(), 4);
  for (const uint64_t count : {1, 3, 4}) {
    std::vector<std::vector<Tensor>> samples;
    samples.reserve(count);
    for (uint64_t i = 0; i < count; ++i) {
      samples.push_back(Sample(single->inputs()[0], i));
    }
    QB_ASSERT_OK_AND_ASSIGN(const std::vector<std::vector<Tensor>> outputs,
                            multi->RunBatch(samples, 0));
    ASSERT_EQ(outputs.size(), count);
    for (uint64_t i = 0; i < count; ++i) {
      QB_ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> expected, single->Run(samples[i], 0));
      EXPECT_EQ(Values(outputs[i]), Values(expected)) << i;
    }
  }
  const std::vector<std::vector<Tensor>> five(5, Sample(single->inputs()[0], 1));
  EXPECT_FALSE(multi->RunBatch(five, 0).ok());
}

TEST(SimulatedModel, RefusesAModeThatTheExecutableLacks) {
  const std::array<CoreMode, 2> modes = {CoreMode::kSingle, CoreMode::kGlobal4};
  QB_ASSERT_OK_AND_ASSIGN(
      npu::NpuPrograms built,
      npu::BuildPrograms(npu::testing::MakeRandomNetwork(3, 4), Aries(), modes));
  MxqContents contents;
  contents.manifest = Json::Object();
  contents.report = Json::Object();
  contents.entries[ProgramEntry("", "single")] = built.programs[0].program;
  contents.entries[ProgramEntry("", "global4")] = built.programs[1].program;
  contents.entries[WeightsEntry("")] = built.weights;
  const testing::TempDir folder;
  QB_ASSERT_OK(WriteMxq(folder.path() + "/m.mxq", contents));
  QB_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<MxqFile> file,
                          MxqFile::Open(folder.path() + "/m.mxq"));
  for (const char* mode : {"multi", ""}) {
    const absl::Status refused = SimulatedModel::Create(*file, mode, 1).status();
    EXPECT_EQ(FailureCodeOf(refused), FailureCode::kArgumentError);
    EXPECT_THAT(std::string(refused.message()), HasSubstr("it has global4, single"));
  }
  QB_EXPECT_OK(SimulatedModel::Create(*file, "global4", 1).status());
}

}  // namespace
}  // namespace qb
