// Files that numpy and torch wrote (testdata/make_golden.py), and files that nobody should read.
#include "core/dataset/sample_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/atomic_file.h"
#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"
#include "core/dataset/npy.h"
#include "core/dataset/pickle_machine.h"
#include "core/dataset/sample_layout.h"
#include "core/dataset/torch_file.h"

namespace qb {
namespace {

using std::string_literals::operator""s;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using testing::StatusIs;

constexpr char kFolder[] = "core/dataset/testdata/arrays/";

std::vector<float> Counting(int count) {
  std::vector<float> values;
  values.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    values.push_back(static_cast<float>(i));
  }
  return values;
}

TEST(ReadSampleFile, ReadsStoredAndDeflatedNpz) {
  QB_ASSERT_OK_AND_ASSIGN(const auto stored, ReadSampleFile(absl::StrCat(kFolder, "stored.npz")));
  ASSERT_THAT(stored, SizeIs(2));
  EXPECT_EQ(stored[0].name, "x");
  EXPECT_TRUE(stored[0].value.Equals(Tensor::OfFloats({2, 3, 4}, Counting(24))));
  EXPECT_EQ(stored[1].name, "ids");
  EXPECT_EQ(stored[1].value.dtype(), DType::kInt64);
  QB_ASSERT_OK_AND_ASSIGN(const auto packed, ReadSampleFile(absl::StrCat(kFolder, "deflated.npz")));
  ASSERT_THAT(packed, SizeIs(1));
  EXPECT_TRUE(AsFloat32(packed[0].value).Equals(Tensor::OfFloats({2, 3, 4}, Counting(24))));
}

TEST(ReadSampleFile, ReadsTensorsOfEveryType) {
  for (const char* name :
       {"float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8"}) {
    const auto arrays = ReadSampleFile(absl::StrCat(kFolder, name, ".pt"));
    ASSERT_THAT(arrays, testing::IsOk()) << name;
    ASSERT_THAT(*arrays, SizeIs(1)) << name;
    EXPECT_TRUE(AsFloat32((*arrays)[0].value).Equals(Tensor::OfFloats({2, 3, 4}, Counting(24))))
        << name;
  }
  QB_ASSERT_OK_AND_ASSIGN(const auto flags, ReadSampleFile(absl::StrCat(kFolder, "bool.pt")));
  EXPECT_EQ(flags[0].value.dtype(), DType::kBool);
}

TEST(ReadSampleFile, FollowsStridesNamesAndParameters) {
  QB_ASSERT_OK_AND_ASSIGN(const auto view, ReadSampleFile(absl::StrCat(kFolder, "view.pt")));
  // Axes 0 and 2 swapped, then all but the first.
  ASSERT_EQ(view[0].value.shape(), (Shape{3, 3, 2}));
  EXPECT_THAT(view[0].value.values<float>(),
              ElementsAre(1, 13, 5, 17, 9, 21, 2, 14, 6, 18, 10, 22, 3, 15, 7, 19, 11, 23));
  QB_ASSERT_OK_AND_ASSIGN(const auto named, ReadSampleFile(absl::StrCat(kFolder, "dictionary.pt")));
  ASSERT_THAT(named, SizeIs(2));
  EXPECT_EQ(named[0].name, "x");
  EXPECT_EQ(named[1].name, "ids");
  QB_ASSERT_OK_AND_ASSIGN(const auto parameter,
                          ReadSampleFile(absl::StrCat(kFolder, "parameter.pth")));
  EXPECT_TRUE(parameter[0].value.Equals(Tensor::OfFloats({2, 3, 4}, Counting(24))));
}

TEST(ReadSampleFile, RefusesWhatIsNoPlainTensor) {
  EXPECT_THAT(ReadSampleFile(absl::StrCat(kFolder, "old_format.pt")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("before 1.6")));
  EXPECT_THAT(ReadSampleFile(absl::StrCat(kFolder, "sparse.pt")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("_rebuild_sparse_tensor")));
  EXPECT_THAT(ReadSampleFile(absl::StrCat(kFolder, "numpy_inside.pt")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("numpy.core.multiarray")));
}

TEST(RunPickle, RunsNothing) {
  EXPECT_THAT(RunPickle("\x80\x02"
                        "cposix\nsystem\nX\x02\0\0\0id\x85R."s),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'posix.system'")));
  // A class given by two texts.
  EXPECT_THAT(RunPickle("\x80\x04\x8c\x02os\x8c\x06system\x93."s),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'os.system'")));
  // A list that holds itself is harmless, and an endless one is cut off.
  EXPECT_THAT(RunPickle("]q\x01h\x01"
                        "a."),
              testing::IsOk());
  EXPECT_THAT(RunPickle(std::string(300000, 'N')),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("too many values")));
  for (const char* damaged : {"", ".", "a.", "(", "t.", "R.", "h\x05.", "i", "\x86."}) {
    EXPECT_FALSE(RunPickle(damaged).ok()) << damaged;
  }
}

TEST(ParseTorchFile, SurvivesEveryFlippedByte) {
  for (const char* name : {"view.pt", "dictionary.pt"}) {
    QB_ASSERT_OK_AND_ASSIGN(const std::string whole, ReadFile(absl::StrCat(kFolder, name)));
    for (size_t i = 0; i < whole.size(); ++i) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
      ParseTorchFile(damaged).status().IgnoreError();
    }
  }
}

TEST(ReadSampleFile, RefusesAPipeWithoutWaiting) {
  const testing::TempDir folder;
  const std::string path = folder.File("a.npy");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(ReadSampleFile(path),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a regular file")));
}

TEST(ReadSampleFile, RefusesAnotherContentThanTheNameSays) {
  const testing::TempDir folder;
  QB_ASSERT_OK_AND_ASSIGN(const std::string png, ReadFile("core/dataset/testdata/images/rgb.png"));
  QB_ASSERT_OK(WriteFileAtomically(folder.File("a.jpg"), png));
  EXPECT_THAT(ReadSampleFile(folder.File("a.jpg")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("the content is PNG")));
  QB_ASSERT_OK(WriteFileAtomically(folder.File("b.npy"), png));
  EXPECT_THAT(ReadSampleFile(folder.File("b.npy")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a .npy file")));
  const std::string array = SerializeNpy(Tensor::OfFloats({2}, {1, 2}));
  QB_ASSERT_OK(WriteFileAtomically(folder.File("c.npy"), array + "PK"));
  EXPECT_THAT(ReadSampleFile(folder.File("c.npy")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("2 bytes follow the array")));
}

TEST(ParseNpz, SurvivesEveryFlippedByte) {
  QB_ASSERT_OK_AND_ASSIGN(const std::string whole, ReadFile(absl::StrCat(kFolder, "deflated.npz")));
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
    ParseNpz(damaged).status().IgnoreError();
    EXPECT_FALSE(ParseNpz(whole.substr(0, i)).ok());
  }
}

}  // namespace
}  // namespace qb
