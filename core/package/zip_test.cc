#include <cstdlib>
#include <random>

#include "core/base/atomic_file.h"
#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"
#include "core/package/zip_format.h"
#include "core/package/zip_reader.h"
#include "core/package/zip_writer.h"

namespace qb {
namespace {

std::string WriteSample(const testing::TempDir& dir) {
  std::string path = dir.File("a.zip");
  absl::StatusOr<ZipWriter> writer = ZipWriter::Create(path);
  QB_EXPECT_OK(writer);
  QB_EXPECT_OK(writer->Add("manifest.json", "{}"));
  QB_EXPECT_OK(writer->Add("empty", ""));
  const std::vector<absl::string_view> pieces = {"abc", "defg"};
  QB_EXPECT_OK(writer->Add("program/single.pb", pieces));
  QB_EXPECT_OK(writer->Finish());
  return path;
}

TEST(Zip, RoundTripWithAlignedData) {
  testing::TempDir dir;
  QB_ASSERT_OK_AND_ASSIGN(std::string bytes, ReadFile(WriteSample(dir)));
  QB_ASSERT_OK_AND_ASSIGN(ZipReader reader, ZipReader::Open(bytes));
  EXPECT_EQ(reader.entries().size(), 3u);
  EXPECT_EQ(reader.Entry("manifest.json").value(), "{}");
  EXPECT_EQ(reader.Entry("program/single.pb").value(), "abcdefg");
  EXPECT_EQ(reader.Entry("empty").value(), "");
  EXPECT_EQ(static_cast<uint64_t>(reader.Entry("program/single.pb")->data() - bytes.data()) %
                zip::kAlignment,
            0u);
  EXPECT_EQ(reader.Entry("none").status().code(), absl::StatusCode::kDataLoss);
}

TEST(Zip, EqualContentsGiveEqualBytes) {
  testing::TempDir a;
  testing::TempDir b;
  EXPECT_EQ(ReadFile(WriteSample(a)).value(), ReadFile(WriteSample(b)).value());
}

TEST(Zip, PythonReadsIt) {
  testing::TempDir dir;
  const std::string command =
      "/usr/bin/python3 -c \"import zipfile,sys; z=zipfile.ZipFile('" + WriteSample(dir) +
      "'); sys.exit(0 if z.testzip() is None and z.read('program/single.pb')==b'abcdefg' else 1)\"";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST(Zip, UnfinishedArchiveLeavesNoFile) {
  testing::TempDir dir;
  {
    QB_ASSERT_OK_AND_ASSIGN(ZipWriter writer, ZipWriter::Create(dir.File("x.zip")));
    QB_ASSERT_OK(writer.Add("a", "b"));
  }
  EXPECT_FALSE(ReadFile(dir.File("x.zip")).ok());
}

TEST(Zip, EveryTruncationIsAnError) {
  testing::TempDir dir;
  QB_ASSERT_OK_AND_ASSIGN(std::string bytes, ReadFile(WriteSample(dir)));
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(ZipReader::Open(absl::string_view(bytes).substr(0, size)).ok()) << size;
  }
}

TEST(Zip, MutatedBytesNeverCrash) {
  testing::TempDir dir;
  QB_ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadFile(WriteSample(dir)));
  std::mt19937 random(7);
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string mutated = bytes;
    for (int k = 0; k < 1 + round % 4; ++k) {
      mutated[random() % mutated.size()] = static_cast<char>(random());
    }
    const absl::StatusOr<ZipReader> reader = ZipReader::Open(mutated);
    refused += reader.ok() ? 0 : 1;
  }
  EXPECT_GT(refused, 5000);
}

}  // namespace
}  // namespace qb
