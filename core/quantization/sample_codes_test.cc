#include "core/quantization/sample_codes.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/base/testing/temp_dir.h"

namespace qb {
namespace {

constexpr int64_t kBytes = 1000;

void Write(SampleCodes& codes, int64_t sample, SampleCodes::Buffer& buffer) {
  uint8_t* place = codes.Place(sample, buffer);
  std::iota(place, place + kBytes, static_cast<uint8_t>(sample));
  EXPECT_TRUE(codes.Keep(sample, buffer).ok());
}

bool Holds(const SampleCodes& codes, int64_t sample, SampleCodes::Buffer& buffer) {
  const absl::StatusOr<const uint8_t*> read = codes.Read(sample, buffer);
  SampleCodes::Buffer expected(kBytes);
  std::iota(expected.begin(), expected.end(), static_cast<uint8_t>(sample));
  return read.ok() && std::equal(expected.begin(), expected.end(), *read);
}

TEST(SampleCodes, GivesBackWhatWasKept) {
  for (const int64_t in_memory : {0, 2, 5}) {
    auto codes = SampleCodes::Create(/*samples=*/5, kBytes, in_memory);
    ASSERT_TRUE(codes.ok()) << codes.status();
    SampleCodes::Buffer writing, reading;
    for (const int64_t sample : {3, 0, 4, 2, 1}) {
      Write(**codes, sample, writing);
    }
    for (int64_t sample = 0; sample < 5; ++sample) {
      EXPECT_TRUE(Holds(**codes, sample, reading)) << sample << " of " << in_memory;
    }
  }
}

TEST(SampleCodes, SamplesBeyondTheFirstTakeNoMemory) {
  auto codes = SampleCodes::Create(/*samples=*/3, kBytes, /*in_memory=*/1);
  ASSERT_TRUE(codes.ok());
  SampleCodes::Buffer buffer;
  (void)(*codes)->Place(0, buffer);
  EXPECT_TRUE(buffer.empty());
  EXPECT_EQ((*codes)->Place(1, buffer), (*codes)->Place(2, buffer));
  EXPECT_EQ(buffer.size(), static_cast<size_t>(kBytes));
}

TEST(SampleCodes, SaysWhichFolderCannotHoldTheFile) {
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  setenv("TMPDIR", "/nowhere", 1);
  const auto codes = SampleCodes::Create(/*samples=*/2, kBytes, /*in_memory=*/1);
  const bool in_memory_is_fine = SampleCodes::Create(2, kBytes, 2).ok();
  before == nullptr ? unsetenv("TMPDIR") : setenv("TMPDIR", kept.c_str(), 1);
  EXPECT_TRUE(in_memory_is_fine);
  ASSERT_FALSE(codes.ok());
  EXPECT_THAT(codes.status().message(), ::testing::HasSubstr("'/nowhere'"));
}

TEST(SampleCodes, TheFileHasNoName) {
  const testing::TempDir folder;
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  setenv("TMPDIR", folder.path().c_str(), 1);
  auto codes = SampleCodes::Create(/*samples=*/2, kBytes, /*in_memory=*/0);
  before == nullptr ? unsetenv("TMPDIR") : setenv("TMPDIR", kept.c_str(), 1);
  ASSERT_TRUE(codes.ok());
  SampleCodes::Buffer buffer;
  Write(**codes, 1, buffer);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace qb
