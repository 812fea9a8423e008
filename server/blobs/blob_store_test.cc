#include "server/blobs/blob_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/base/atomic_file.h"
#include "core/base/status_macros.h"
#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"
#include "server/testing/fake_clock.h"
#include "server/testing/memory_blob_index.h"

namespace qb::server {
namespace {

using ::qb::testing::StatusIs;
using ::testing::HasSubstr;

class BlobStoreTest : public ::testing::Test {
 protected:
  void SetUp() override { Open(); }

  void Open() {
    auto store = BlobStore::Create(folder_.path(), index_, clock_, options_);
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
  }

  static UploadRequest Request(const std::string& bytes, const std::string& id = "u",
                               int64_t offset = 0) {
    return {"default", id, Sha256Hex(bytes), static_cast<int64_t>(bytes.size()), offset};
  }

  absl::StatusOr<UploadState> Write(const UploadRequest& request, absl::string_view bytes) {
    QB_ASSIGN_OR_RETURN(std::unique_ptr<BlobUpload> upload, store_->StartUpload(request));
    while (!bytes.empty()) {
      const absl::string_view piece = bytes.substr(0, 1000);
      QB_RETURN_IF_ERROR(upload->Append(piece));
      bytes.remove_prefix(piece.size());
    }
    return upload->Finish();
  }

  absl::StatusOr<std::string> Read(const std::string& digest) {
    QB_ASSIGN_OR_RETURN(std::unique_ptr<BlobFile> file, store_->Open("default", digest));
    std::string all;
    while (static_cast<int64_t>(all.size()) < file->size_bytes()) {
      QB_ASSIGN_OR_RETURN(std::string piece, file->Read(static_cast<int64_t>(all.size()), 777));
      all += piece;
    }
    return all;
  }

  int64_t FilesIn(const std::string& name) {
    int64_t count = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.File(name))) {
      count += entry.is_regular_file() ? 1 : 0;
    }
    return count;
  }

  static std::string Bytes(size_t size) {
    std::string bytes(size, '\0');
    for (size_t i = 0; i < size; ++i) {
      bytes[i] = static_cast<char>(i * 131 + i / 251);
    }
    return bytes;
  }

  qb::testing::TempDir folder_;
  testing::FakeClock clock_;
  testing::MemoryBlobIndex index_;
  BlobStoreOptions options_;
  std::unique_ptr<BlobStore> store_;
};

TEST_F(BlobStoreTest, StoresAndReadsBack) {
  for (const std::string& bytes : {std::string(), std::string("x"), Bytes(12'345)}) {
    QB_ASSERT_OK_AND_ASSIGN(const UploadState state, Write(Request(bytes), bytes));
    EXPECT_TRUE(state.complete);
    QB_ASSERT_OK_AND_ASSIGN(const std::string back, Read(Sha256Hex(bytes)));
    EXPECT_EQ(back, bytes);
  }
  EXPECT_EQ(FilesIn("uploads"), 0);
  EXPECT_EQ(FilesIn("blobs"), 3);
}

TEST_F(BlobStoreTest, WrongDigestStoresNothing) {
  const std::string bytes = Bytes(3000);
  UploadRequest request = Request(bytes);
  request.sha256 = Sha256Hex("other");
  EXPECT_THAT(Write(request, bytes),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(Sha256Hex(bytes))));
  EXPECT_EQ(FilesIn("uploads") + FilesIn("blobs"), 0);
  EXPECT_EQ(Read(request.sha256).status().code(), absl::StatusCode::kNotFound);
  // The id is free for another try.
  QB_EXPECT_OK(Write(Request(bytes), bytes));
}

TEST_F(BlobStoreTest, MoreBytesThanAnnouncedAreRefused) {
  UploadRequest request = Request(Bytes(2500));
  EXPECT_THAT(Write(request, Bytes(2501)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("2500")));
  EXPECT_EQ(FilesIn("uploads") + FilesIn("blobs"), 0);
}

TEST_F(BlobStoreTest, GoesOnWhereABrokenStreamStopped) {
  const std::string bytes = Bytes(10'000);
  QB_ASSERT_OK_AND_ASSIGN(UploadState state, Write(Request(bytes), bytes.substr(0, 4000)));
  EXPECT_FALSE(state.complete);
  EXPECT_EQ(state.committed_bytes, 4000);
  Open();  // a new server
  QB_ASSERT_OK_AND_ASSIGN(state, store_->QueryUpload("default", "u", Sha256Hex(bytes)));
  EXPECT_EQ(state.committed_bytes, 4000);
  // A client may also begin earlier than it needs to.
  QB_ASSERT_OK_AND_ASSIGN(state, Write(Request(bytes, "u", 3500), bytes.substr(3500, 2000)));
  EXPECT_EQ(state.committed_bytes, 5500);
  QB_ASSERT_OK_AND_ASSIGN(state, Write(Request(bytes, "u", 5500), bytes.substr(5500)));
  EXPECT_TRUE(state.complete);
  QB_ASSERT_OK_AND_ASSIGN(const std::string back, Read(Sha256Hex(bytes)));
  EXPECT_EQ(back, bytes);
  QB_ASSERT_OK_AND_ASSIGN(state, store_->QueryUpload("default", "u", Sha256Hex(bytes)));
  EXPECT_TRUE(state.complete);
}

TEST_F(BlobStoreTest, KilledStreamKeepsItsCheckpoints) {
  options_.checkpoint_bytes = 2000;
  Open();
  const std::string bytes = Bytes(10'000);
  {
    QB_ASSERT_OK_AND_ASSIGN(const auto upload, store_->StartUpload(Request(bytes)));
    for (int i = 0; i < 5; ++i) {
      QB_ASSERT_OK(
          upload->Append(absl::string_view(bytes).substr(static_cast<size_t>(i) * 1000, 1000)));
    }
    // No Finish: the process is gone.
  }
  Open();
  QB_ASSERT_OK_AND_ASSIGN(UploadState state, store_->QueryUpload("default", "u", ""));
  EXPECT_EQ(state.committed_bytes, 4000);
  QB_ASSERT_OK_AND_ASSIGN(state, Write(Request(bytes, "u", 4000), bytes.substr(4000)));
  EXPECT_TRUE(state.complete);
}

TEST_F(BlobStoreTest, RowThatPromisesMoreThanTheFileHasIsCutDown) {
  const std::string bytes = Bytes(5000);
  QB_ASSERT_OK(Write(Request(bytes), bytes.substr(0, 4000)));
  std::filesystem::resize_file(folder_.File("uploads/default.u"), 1500);
  QB_ASSERT_OK_AND_ASSIGN(const UploadState state, store_->QueryUpload("default", "u", ""));
  EXPECT_EQ(state.committed_bytes, 1500);
  EXPECT_THAT(Write(Request(bytes, "u", 4000), bytes.substr(4000)),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("1500")));
  QB_EXPECT_OK(Write(Request(bytes, "u", 1500), bytes.substr(1500)));
}

TEST_F(BlobStoreTest, OneStreamAnUpload) {
  const std::string bytes = Bytes(100);
  {
    QB_ASSERT_OK_AND_ASSIGN(const auto first, store_->StartUpload(Request(bytes)));
    EXPECT_EQ(store_->StartUpload(Request(bytes)).status().code(), absl::StatusCode::kAborted);
  }
  QB_EXPECT_OK(store_->StartUpload(Request(bytes)));
}

TEST_F(BlobStoreTest, SecondUploadOfABlobIsCompleteAtOnce) {
  const std::string bytes = Bytes(100);
  QB_ASSERT_OK(Write(Request(bytes, "a"), bytes));
  QB_ASSERT_OK_AND_ASSIGN(const auto upload, store_->StartUpload(Request(bytes, "b")));
  EXPECT_TRUE(upload->complete());
  EXPECT_TRUE(upload->has_all());
  QB_EXPECT_OK(upload->Append("anything"));
  QB_ASSERT_OK_AND_ASSIGN(const UploadState state, upload->Finish());
  EXPECT_TRUE(state.complete);
}

TEST_F(BlobStoreTest, OtherTenantMustSendTheBytes) {
  const std::string bytes = Bytes(100);
  QB_ASSERT_OK(Write(Request(bytes), bytes));
  EXPECT_EQ(store_->Open("other", Sha256Hex(bytes)).status().code(), absl::StatusCode::kNotFound);
  UploadRequest request = Request(bytes);
  request.tenant = "other";
  QB_ASSERT_OK_AND_ASSIGN(const auto upload, store_->StartUpload(request));
  EXPECT_FALSE(upload->complete());
}

TEST_F(BlobStoreTest, ConcurrentUploadsOfOneBlobAllSucceed) {
  const std::string bytes = Bytes(200'000);
  std::vector<std::thread> threads;
  std::vector<absl::Status> results(8);
  for (size_t i = 0; i < results.size(); ++i) {
    threads.emplace_back(
        [&, i] { results[i] = Write(Request(bytes, "u" + std::to_string(i)), bytes).status(); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const absl::Status& result : results) {
    QB_EXPECT_OK(result);
  }
  EXPECT_EQ(FilesIn("uploads"), 0);
  EXPECT_EQ(FilesIn("blobs"), 1);
}

TEST_F(BlobStoreTest, RefusesBadRequests) {
  UploadRequest request = Request("x");
  request.sha256 = "../../etc/passwd";
  EXPECT_EQ(store_->StartUpload(request).status().code(), absl::StatusCode::kInvalidArgument);
  request = Request("x");
  request.upload_id = "../x";
  EXPECT_EQ(store_->StartUpload(request).status().code(), absl::StatusCode::kInvalidArgument);
  request = Request("x");
  request.offset = 2;
  EXPECT_EQ(store_->StartUpload(request).status().code(), absl::StatusCode::kInvalidArgument);
  request = Request("x");
  request.size_bytes = -1;
  EXPECT_EQ(store_->StartUpload(request).status().code(), absl::StatusCode::kInvalidArgument);
  request = Request("x");
  request.size_bytes = options_.max_blob_bytes + 1;
  EXPECT_EQ(store_->StartUpload(request).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(store_->Open("default", "..").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FilesIn("uploads"), 0);
}

TEST_F(BlobStoreTest, RefusesUploadsWhenTheDiskIsNearlyFull) {
  options_.min_free_bytes = INT64_MAX;
  Open();
  EXPECT_THAT(Write(Request("x"), "x"),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("nearly full")));
}

TEST_F(BlobStoreTest, StartRemovesFilesWithoutARow) {
  QB_ASSERT_OK(WriteFileAtomically(folder_.File("uploads/default.orphan"), "x"));
  const std::string bytes = Bytes(100);
  QB_ASSERT_OK(Write(Request(bytes), bytes.substr(0, 50)));
  Open();
  EXPECT_EQ(FilesIn("uploads"), 1);
}

}  // namespace
}  // namespace qb::server
