#include "core/package/mxq.h"

#include "core/base/atomic_file.h"
#include "core/base/failure.h"
#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"
#include "core/package/mblt.h"

namespace qb {
namespace {

using ::testing::HasSubstr;

MxqContents Sample() {
  MxqContents contents;
  contents.manifest = Json::Object().Set("target", "aries-rb");
  contents.config_yaml = "a: 1\n";
  contents.entries[ProgramEntry("", "single")] = "program bytes";
  contents.entries[WeightsEntry("")] = std::string(100, 'w');
  contents.report = Json::Object().Set("layers", Json::Array());
  return contents;
}

TEST(Mxq, RoundTrip) {
  testing::TempDir dir;
  QB_ASSERT_OK(WriteMxq(dir.File("m.mxq"), Sample()));
  QB_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<MxqFile> file, MxqFile::Open(dir.File("m.mxq")));
  EXPECT_EQ(file->manifest()["target"].as_string(), "aries-rb");
  EXPECT_EQ(file->programs().at("single"), "program bytes");
  EXPECT_EQ(file->weights(), std::string(100, 'w'));
  EXPECT_EQ(file->config_yaml(), "a: 1\n");
  EXPECT_TRUE(file->report().contains("layers"));
}

TEST(Mxq, AnotherKindOfPackageIsNamed) {
  testing::TempDir dir;
  QB_ASSERT_OK(WriteMxq(dir.File("m.mxq"), Sample()));
  const auto status = ReadMblt(dir.File("m.mxq")).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("a package of another kind"));
  EXPECT_EQ(FailureCodeOf(status), FailureCode::kModelParseError);
}

TEST(Mxq, APackageWithoutProgramIsRefused) {
  testing::TempDir dir;
  MxqContents contents = Sample();
  contents.entries.erase(ProgramEntry("", "single"));
  QB_ASSERT_OK(WriteMxq(dir.File("m.mxq"), contents));
  EXPECT_THAT(MxqFile::Open(dir.File("m.mxq")).status().ToString(), HasSubstr("no program"));
}

}  // namespace
}  // namespace qb
