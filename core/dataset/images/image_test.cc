#include "core/dataset/images/image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/atomic_file.h"
#include "core/base/testing/status_matchers.h"
#include "core/dataset/images/exif.h"
#include "core/dataset/testing/pictures.h"

namespace qb {
namespace {

using std::string_literals::operator""s;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using testing::StatusIs;

constexpr char kFolder[] = "core/dataset/testdata/";

std::string FileBytes(const std::string& name) {
  absl::StatusOr<std::string> bytes = ReadFile(absl::StrCat(kFolder, "images/", name));
  EXPECT_THAT(bytes, testing::IsOk());
  return bytes.ok() ? *bytes : "";
}

TEST(DecodeImage, SeesThePixelsThatPillowSees) {
  const auto lines = testing::GoldenLines(absl::StrCat(kFolder, "images.txt"));
  EXPECT_GE(lines.size(), 60u);
  for (const auto& line : lines) {
    ASSERT_THAT(line, SizeIs(5));
    const absl::StatusOr<Image> image = DecodeImage(FileBytes(line[0]));
    ASSERT_THAT(image, testing::IsOk()) << line[0];
    const Tensor pixels = WithImageChannels(image->pixels, std::atoi(line[1].c_str()));
    EXPECT_EQ(absl::StrCat(pixels.shape()[0], "x", pixels.shape()[1]),
              absl::StrCat(line[2], "x", line[3]))
        << line[0];
    EXPECT_EQ(testing::DigestOf(pixels), line[4]) << absl::StrJoin(line, " ");
  }
}

TEST(DecodeImage, TellsTheOrientationAndDoesNotApplyIt) {
  QB_ASSERT_OK_AND_ASSIGN(const Image turned, DecodeImage(FileBytes("turned.jpg")));
  EXPECT_EQ(turned.orientation, 6);
  EXPECT_EQ(turned.pixels.shape(), (Shape{37, 45, 3}));
}

TEST(WithImageChannels, DropsAlphaAndMakesIt) {
  const uint8_t rgba[] = {10, 20, 30, 7};
  const Tensor pixel = Tensor::Of<uint8_t>(DType::kUint8, {1, 1, 4}, rgba);
  EXPECT_THAT(WithImageChannels(pixel, 0).values<uint8_t>(), ElementsAre(10, 20, 30));
  const Tensor grey = WithImageChannels(pixel, 1);
  EXPECT_THAT(grey.values<uint8_t>(), ElementsAre(18));
  EXPECT_THAT(WithImageChannels(grey, 4).values<uint8_t>(), ElementsAre(18, 18, 18, 255));
}

// Cut off anywhere, a file is an error; nothing is made up.
TEST(DecodeImage, RefusesEveryTruncation) {
  for (const char* name : {"rgb.jpg", "progressive.jpg", "cmyk.jpg", "rgba.png", "palette.png",
                           "rgb.bmp", "bits1.bmp", "lossy.webp", "lossless.webp"}) {
    const std::string whole = FileBytes(name);
    for (size_t size = 0; size < whole.size(); size += 1 + whole.size() / 60) {
      EXPECT_FALSE(DecodeImage(absl::string_view(whole).substr(0, size)).ok())
          << name << " " << size;
    }
  }
}

// The size is believed before the pixels: a bomb costs nothing.
TEST(DecodeImage, RefusesABombBeforeAllocating) {
  std::string bomb = FileBytes("grey.png");
  bomb.replace(16, 8, "\x00\x00\xea\x60\x00\x00\xea\x60"s);  // 60000 x 60000
  EXPECT_THAT(DecodeImage(bomb), StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
  std::string bitmap = FileBytes("rgb.bmp");
  bitmap.replace(18, 8, "\x60\xea\x00\x00\x60\xea\x00\x00"s);
  EXPECT_THAT(DecodeImage(bitmap),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("60000 x 60000")));
}

TEST(DecodeImage, RefusesWhatComesBehindTheImage) {
  EXPECT_THAT(DecodeImage(FileBytes("rgb.png") + "PK"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("followed by 2 other bytes")));
  const std::string archive = "PK\x03\x04PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"s;
  EXPECT_THAT(DecodeImage(FileBytes("rgb.jpg") + archive),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("ZIP archive")));
}

TEST(ExifOrientation, ReadsBothByteOrdersAndNothingElse) {
  const std::string intel = "Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x03\0\0\0"s;
  EXPECT_EQ(ExifOrientation(intel), 3);
  const std::string motorola = "Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x08\0\0"s;
  EXPECT_EQ(ExifOrientation(motorola), 8);
  for (size_t size = 0; size < intel.size(); ++size) {
    EXPECT_LE(ExifOrientation(intel.substr(0, size)), 3);
  }
  EXPECT_EQ(ExifOrientation("no"), 1);
}

}  // namespace
}  // namespace qb
