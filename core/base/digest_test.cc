#include "core/base/digest.h"

#include "core/base/atomic_file.h"
#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"

namespace qb {
namespace {

// FIPS 180-4 example vectors.
TEST(Sha256, MatchesThePublishedVectors) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256, PiecesEqualTheWhole) {
  Sha256 hash;
  hash.Update("a");
  hash.Update("bc");
  EXPECT_EQ(hash.FinishHex(), Sha256Hex("abc"));
}

TEST(Sha256, HashesAFile) {
  testing::TempDir dir;
  QB_ASSERT_OK(WriteFileAtomically(dir.File("x"), "abc"));
  QB_ASSERT_OK_AND_ASSIGN(std::string hex, Sha256HexOfFile(dir.File("x")));
  EXPECT_EQ(hex, Sha256Hex("abc"));
  EXPECT_EQ(Sha256HexOfFile(dir.File("none")).status().code(), absl::StatusCode::kNotFound);
}

TEST(IsSha256Hex, RefusesOtherText) {
  EXPECT_TRUE(IsSha256Hex(Sha256Hex("")));
  EXPECT_FALSE(IsSha256Hex("abc"));
  EXPECT_FALSE(IsSha256Hex(std::string(64, 'G')));
  EXPECT_FALSE(IsSha256Hex(std::string(64, 'A')));
}

}  // namespace
}  // namespace qb
