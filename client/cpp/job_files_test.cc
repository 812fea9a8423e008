#include "client/cpp/job_files.h"

#include <filesystem>

#include "absl/strings/str_cat.h"

#include "client/cpp/testing/wire_bytes.h"
#include "core/base/atomic_file.h"
#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"

namespace qb::client {
namespace {

using ::qb::testing::StatusIs;
using ::qb::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> PathsOf(const LocalManifest& manifest) {
  std::vector<std::string> paths;
  for (const qbc::v1::ManifestEntry& entry : manifest.manifest.entries()) {
    paths.push_back(entry.path());
  }
  return paths;
}

std::string ContentOf(const LocalManifest& manifest, const std::string& path) {
  for (int i = 0; i < manifest.manifest.entries_size(); ++i) {
    if (manifest.manifest.entries(i).path() == path) {
      return manifest.blobs[static_cast<size_t>(i)].content;
    }
  }
  return "no such entry";
}

TEST(CollectModel, SendsAFileWithTheExternalDataBeneathItsFolder) {
  TempDir dir;
  QB_ASSERT_OK(WriteFileAtomically(dir.File("net.onnx"), ModelWithExternalData("w/net.bin")));
  QB_ASSERT_OK(WriteFileAtomically(dir.File("w/net.bin"), "weights"));
  QB_ASSERT_OK(WriteFileAtomically(dir.File("other.bin"), "not named"));
  std::vector<std::string> warnings;
  QB_ASSERT_OK_AND_ASSIGN(const LocalManifest model, CollectModel(dir.File("net.onnx"), &warnings));
  EXPECT_THAT(PathsOf(model), ElementsAre("net.onnx", "w/net.bin"));
  EXPECT_EQ(model.manifest.main(), "net.onnx");
  EXPECT_THAT(warnings, IsEmpty());
}

TEST(CollectModel, NeverReadsOutsideTheModelsFolder) {
  TempDir dir;
  QB_ASSERT_OK(WriteFileAtomically(dir.File("secret"), "secret"));
  std::filesystem::create_directory(dir.File("m"));
  std::filesystem::create_symlink("../secret", dir.File("m/link"));
  for (const std::string location :
       {"../secret", "/etc/passwd", "link", "none.bin", "../../etc/passwd", "."}) {
    QB_ASSERT_OK(WriteFileAtomically(dir.File("m/net.onnx"), ModelWithExternalData(location)));
    std::vector<std::string> warnings;
    QB_ASSERT_OK_AND_ASSIGN(const LocalManifest model,
                            CollectModel(dir.File("m/net.onnx"), &warnings));
    EXPECT_THAT(PathsOf(model), ElementsAre("net.onnx")) << location;
    EXPECT_THAT(warnings, ElementsAre(HasSubstr(location)));
  }
}

TEST(CollectModel, SendsAFolderWhole) {
  TempDir dir;
  QB_ASSERT_OK(WriteFileAtomically(dir.File("net.onnx"), "x"));
  QB_ASSERT_OK(WriteFileAtomically(dir.File("weights/a.bin"), "y"));
  std::vector<std::string> warnings;
  QB_ASSERT_OK_AND_ASSIGN(LocalManifest model, CollectModel(dir.path(), &warnings));
  EXPECT_THAT(PathsOf(model), ElementsAre("net.onnx", "weights/a.bin"));
  EXPECT_EQ(model.manifest.main(), "net.onnx");
  QB_ASSERT_OK(WriteFileAtomically(dir.File("second.onnx"), "z"));
  QB_ASSERT_OK_AND_ASSIGN(model, CollectModel(dir.path(), &warnings));
  EXPECT_EQ(model.manifest.main(), "");  // which one is not for the client to guess
}

TEST(CollectDataset, KeepsListingsWhoseFilesLieBeneathThem) {
  TempDir dir;
  QB_ASSERT_OK(WriteFileAtomically(dir.File("s/a.npy"), "a"));
  QB_ASSERT_OK(WriteFileAtomically(dir.File("s/b.npy"), "b"));
  QB_ASSERT_OK(WriteFileAtomically(dir.File("calib.txt"), "s/b.npy\n\n  s/a.npy\r\n"));
  std::string labels_path;
  QB_ASSERT_OK_AND_ASSIGN(const LocalManifest set,
                          CollectDataset(dir.File("calib.txt"), "", &labels_path));
  EXPECT_THAT(PathsOf(set), ElementsAre("calib.txt", "s/a.npy", "s/b.npy"));
  EXPECT_EQ(ContentOf(set, "calib.txt"), "s/b.npy\ns/a.npy\n");  // the user's order
  EXPECT_EQ(set.manifest.main(), "calib.txt");
}

TEST(CollectDataset, RewritesPathsThatLeadOutOfTheListingsFolder) {
  TempDir dir;
  QB_ASSERT_OK(WriteFileAtomically(dir.File("elsewhere/a.npy"), "a"));
  QB_ASSERT_OK(WriteFileAtomically(dir.File("elsewhere/pair/x.npy"), "x"));
  QB_ASSERT_OK(WriteFileAtomically(
      dir.File("list/calib.json"),
      absl::StrCat(R"([{"image": "../elsewhere/a.npy"}, ")", dir.File("elsewhere/pair"), "\"]")));
  std::string labels_path;
  QB_ASSERT_OK_AND_ASSIGN(const LocalManifest set,
                          CollectDataset(dir.File("list/calib.json"), "", &labels_path));
  EXPECT_THAT(PathsOf(set),
              ElementsAre("calib.json", "listed/000000/a.npy", "listed/000001/pair/x.npy"));
  EXPECT_EQ(ContentOf(set, "calib.json"),
            R"([{"image":"listed/000000/a.npy"},"listed/000001/pair"])");
}

TEST(CollectDataset, RefusesListingsThatNameWhatIsNotThere) {
  TempDir dir;
  std::string labels_path;
  QB_ASSERT_OK(WriteFileAtomically(dir.File("calib.txt"), "none.npy\n"));
  EXPECT_THAT(CollectDataset(dir.File("calib.txt"), "", &labels_path),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none.npy")));
  QB_ASSERT_OK(WriteFileAtomically(dir.File("calib.json"), "[1]"));
  EXPECT_THAT(CollectDataset(dir.File("calib.json"), "", &labels_path),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("only paths")));
  QB_ASSERT_OK(WriteFileAtomically(dir.File("empty.txt"), "\n"));
  EXPECT_THAT(CollectDataset(dir.File("empty.txt"), "", &labels_path),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no samples")));
  EXPECT_THAT(CollectDataset(dir.File("nowhere"), "", &labels_path),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("nowhere")));
}

TEST(CollectDataset, KeepsLabelsApartFromTheSamples) {
  TempDir dir;
  QB_ASSERT_OK(WriteFileAtomically(dir.File("eval/000.npy"), "a"));
  QB_ASSERT_OK(WriteFileAtomically(dir.File("eval/001.npy"), "b"));
  QB_ASSERT_OK(WriteFileAtomically(dir.File("eval/labels.csv"), "sample,label\n000,3\n001,4\n"));
  std::string labels_path;
  QB_ASSERT_OK_AND_ASSIGN(
      const LocalManifest set,
      CollectDataset(dir.File("eval"), dir.File("eval/labels.csv"), &labels_path));
  EXPECT_EQ(labels_path, "labels.csv");
  EXPECT_THAT(PathsOf(set),
              ElementsAre("labels.csv", "samples.txt", "samples/000.npy", "samples/001.npy"));
  EXPECT_EQ(set.manifest.main(), "samples.txt");
  EXPECT_EQ(ContentOf(set, "samples.txt"), "samples/000.npy\nsamples/001.npy\n");
}

}  // namespace
}  // namespace qb::client
