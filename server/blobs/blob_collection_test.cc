// What goes from the disk, and what must not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "core/base/atomic_file.h"
#include "core/base/status_macros.h"
#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"
#include "server/blobs/blob_store.h"
#include "server/testing/fake_clock.h"
#include "server/testing/memory_blob_index.h"

namespace qb::server {
namespace {

class BlobCollectionTest : public ::testing::Test {
 protected:
  void SetUp() override { Open(); }

  void Open() {
    store_.reset();
    auto store = BlobStore::Create(folder_.path(), index_, clock_, options_);
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
  }

  absl::StatusOr<UploadState> Write(const std::string& bytes, const std::string& tenant = "a",
                                    size_t only = std::string::npos) {
    QB_ASSIGN_OR_RETURN(
        std::unique_ptr<BlobUpload> upload,
        store_->StartUpload({tenant, "u", Sha256Hex(bytes), static_cast<int64_t>(bytes.size()), 0}));
    QB_RETURN_IF_ERROR(upload->Append(bytes.substr(0, only)));
    return upload->Finish();
  }

  // Removes what has not been used for a second.
  BlobCollection Collect() {
    const auto collection =
        store_->CollectUnused(clock_.WallMs() - 1000, [] { return false; });
    EXPECT_TRUE(collection.ok()) << collection.status();
    return *collection;
  }

  bool IsReadable(const std::string& bytes, const std::string& tenant = "a") {
    return store_->Open(tenant, Sha256Hex(bytes)).ok();
  }

  int64_t FilesIn(const std::string& name) {
    int64_t count = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.File(name))) {
      count += entry.is_regular_file() ? 1 : 0;
    }
    return count;
  }

  qb::testing::TempDir folder_;
  testing::FakeClock clock_;
  testing::MemoryBlobIndex index_;
  BlobStoreOptions options_;
  std::unique_ptr<BlobStore> store_;
};

TEST_F(BlobCollectionTest, UnusedFilesGoAfterTheirTime) {
  QB_ASSERT_OK(Write("used"));
  QB_ASSERT_OK(Write("unused"));
  index_.Refer("a", Sha256Hex("used"));
  clock_.AdvanceMs(999);
  EXPECT_EQ(Collect().blobs, 0);
  clock_.AdvanceMs(1);
  EXPECT_EQ(Collect().blobs, 1);
  EXPECT_TRUE(IsReadable("used"));
  EXPECT_EQ(store_->Open("a", Sha256Hex("unused")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(FilesIn("blobs"), 1);
  EXPECT_THAT(*index_.ListDoomed(), ::testing::IsEmpty());
}

TEST_F(BlobCollectionTest, FileStaysWhileAnyTenantHasIt) {
  QB_ASSERT_OK(Write("shared", "a"));
  QB_ASSERT_OK(Write("shared", "b"));
  index_.Refer("b", Sha256Hex("shared"));
  clock_.AdvanceMs(5000);
  EXPECT_EQ(Collect().blobs, 0);
  EXPECT_FALSE(IsReadable("shared", "a"));
  EXPECT_TRUE(IsReadable("shared", "b"));
}

TEST_F(BlobCollectionTest, BeingAskedForKeepsAFile) {
  QB_ASSERT_OK(Write("asked"));
  QB_ASSERT_OK(Write("sent again"));
  clock_.AdvanceMs(5000);
  QB_ASSERT_OK(store_->FindAndKeep("a", {Sha256Hex("asked")}));
  QB_ASSERT_OK_AND_ASSIGN(const UploadState state, Write("sent again"));
  EXPECT_TRUE(state.complete);
  EXPECT_EQ(Collect().blobs, 0);
}

TEST_F(BlobCollectionTest, OpenFileIsReadToItsEnd) {
  QB_ASSERT_OK(Write("unused"));
  QB_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<BlobFile> file,
                          store_->Open("a", Sha256Hex("unused")));
  clock_.AdvanceMs(5000);
  EXPECT_EQ(Collect().blobs, 1);
  QB_ASSERT_OK_AND_ASSIGN(const std::string bytes, file->Read(0, 100));
  EXPECT_EQ(bytes, "unused");
}

TEST_F(BlobCollectionTest, UploadThatBrokeOffGoesAndAnOpenOneStays) {
  QB_ASSERT_OK(Write("half of this", "a", 6));
  QB_ASSERT_OK_AND_ASSIGN(std::unique_ptr<BlobUpload> open,
                          store_->StartUpload({"b", "u", Sha256Hex("open"), 4, 0}));
  QB_ASSERT_OK(open->Append("op"));
  clock_.AdvanceMs(5000);
  EXPECT_EQ(Collect().uploads, 1);
  EXPECT_EQ(FilesIn("uploads"), 1);
  QB_ASSERT_OK(open->Append("en"));
  QB_ASSERT_OK(open->Finish().status());
  EXPECT_TRUE(IsReadable("open", "b"));
  QB_ASSERT_OK_AND_ASSIGN(const UploadState state, store_->QueryUpload("a", "u", ""));
  EXPECT_EQ(state.committed_bytes, 0);
  QB_ASSERT_OK_AND_ASSIGN(const UploadState again, Write("half of this"));
  EXPECT_TRUE(again.complete);
}

TEST_F(BlobCollectionTest, StreamThatEndsWithoutACheckpointLeavesNoFile) {
  {
    QB_ASSERT_OK_AND_ASSIGN(std::unique_ptr<BlobUpload> upload,
                            store_->StartUpload({"a", "u", Sha256Hex("lost"), 4, 0}));
    QB_ASSERT_OK(upload->Append("lo"));
  }
  EXPECT_EQ(FilesIn("uploads"), 0);
}

// What a crash between the commit and the removal of the file leaves.
TEST_F(BlobCollectionTest, StartFinishesWhatWasDoomed) {
  QB_ASSERT_OK(Write("unused"));
  clock_.AdvanceMs(5000);
  QB_ASSERT_OK(index_.RemoveUnused({{"a", Sha256Hex("unused"), 0}}, clock_.WallMs()).status());
  EXPECT_EQ(FilesIn("blobs"), 1);
  Open();
  EXPECT_EQ(FilesIn("blobs"), 0);
  EXPECT_THAT(*index_.ListDoomed(), ::testing::IsEmpty());
}

TEST_F(BlobCollectionTest, DoomedFileThatIsSentAgainStays) {
  QB_ASSERT_OK(Write("unused"));
  clock_.AdvanceMs(5000);
  QB_ASSERT_OK(index_.RemoveUnused({{"a", Sha256Hex("unused"), 0}}, clock_.WallMs()).status());
  QB_ASSERT_OK(Write("unused"));
  Open();
  EXPECT_TRUE(IsReadable("unused"));
}

TEST_F(BlobCollectionTest, SweepRemovesFilesWithoutARowAlone) {
  QB_ASSERT_OK(Write("known"));
  const std::string stray = Sha256Hex("stray");
  const std::string path = folder_.File("blobs/" + stray.substr(0, 2) + "/" + stray);
  QB_ASSERT_OK(WriteFileAtomically(path, "stray"));
  int64_t removed = 0;
  for (int folder = 0; folder < 256; ++folder) {
    QB_ASSERT_OK_AND_ASSIGN(const int64_t here, store_->SweepFolder(folder));
    removed += here;
  }
  EXPECT_EQ(removed, 1);
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(IsReadable("known"));
}

// Whatever way the two meet, a blob that was acknowledged and used since can be read.
TEST_F(BlobCollectionTest, UploadsAndCollectionsAtTheSameTime) {
  std::atomic<bool> done = false;
  std::thread collector([&] {
    while (!done) {
      // Everything is old enough at once.
      EXPECT_TRUE(store_->CollectUnused(clock_.WallMs(), [] { return false; }).ok());
      EXPECT_TRUE(store_->SweepFolder(0).ok());
    }
  });
  for (int i = 0; i < 300; ++i) {
    clock_.AdvanceMs(1);
    const auto state = Write("contended");
    ASSERT_TRUE(state.ok() && state->complete) << state.status();
    // Either it is there, or it was collected and is gone as a whole.
    const auto file = store_->Open("a", Sha256Hex("contended"));
    EXPECT_TRUE(file.ok() || file.status().code() == absl::StatusCode::kNotFound) << file.status();
  }
  done = true;
  collector.join();
  QB_ASSERT_OK(Write("contended"));
  EXPECT_TRUE(IsReadable("contended"));
}

}  // namespace
}  // namespace qb::server
