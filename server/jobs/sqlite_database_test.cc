#include "server/jobs/sqlite_database.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/atomic_file.h"
#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"
#include "server/jobs/sqlite_schema.h"

namespace qb::server {
namespace {

using ::qb::testing::StatusIs;
using ::testing::HasSubstr;

class SqliteDatabaseTest : public ::testing::Test {
 protected:
  std::unique_ptr<SqliteDatabase> Open(SqliteDatabaseOptions options = {}) {
    auto database = SqliteDatabase::Open(path_, std::move(options));
    EXPECT_TRUE(database.ok()) << database.status();
    return database.ok() ? *std::move(database) : nullptr;
  }

  static absl::Status Put(SqliteDatabase& database, const std::string& key, int64_t value) {
    return database.writer().Run([&](WriteTx& tx) {
      return tx.db.Prepare("INSERT INTO meta(key, value) VALUES (?, ?)").Text(key).Int(value).Run();
    });
  }

  static int64_t Count(SqliteDatabase& database, const std::string& key) {
    int64_t count = -1;
    EXPECT_TRUE(database.readers()
                    .Run([&](SqliteConnection& db) -> absl::Status {
                      SqliteQuery query = db.Prepare("SELECT count(*) FROM meta WHERE key LIKE ?");
                      EXPECT_TRUE(*query.Text(key).Step());
                      count = query.IntAt(0);
                      return absl::OkStatus();
                    })
                    .ok());
    return count;
  }

  qb::testing::TempDir folder_;
  std::string path_ = folder_.File("qbc.db");
};

TEST_F(SqliteDatabaseTest, WriterSyncsEveryCommit) {
  auto database = Open();
  QB_ASSERT_OK(database->writer().Run([](WriteTx& tx) -> absl::Status {
    SqliteQuery synchronous = tx.db.PrepareOnce("PRAGMA synchronous");
    EXPECT_TRUE(*synchronous.Step());
    EXPECT_EQ(synchronous.IntAt(0), 2);  // FULL
    SqliteQuery checkpoint = tx.db.PrepareOnce("PRAGMA wal_autocheckpoint");
    EXPECT_TRUE(*checkpoint.Step());
    EXPECT_EQ(checkpoint.IntAt(0), 0);
    return absl::OkStatus();
  }));
}

TEST_F(SqliteDatabaseTest, ReadersCannotWriteAndNeverCheckpoint) {
  auto database = Open();
  const absl::Status status = database->readers().Run([](SqliteConnection& db) {
    SqliteQuery checkpoint = db.PrepareOnce("PRAGMA wal_autocheckpoint");
    EXPECT_TRUE(*checkpoint.Step());
    EXPECT_EQ(checkpoint.IntAt(0), 0);
    return db.Execute("INSERT INTO meta(key, value) VALUES ('x', 1)");
  });
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(Count(*database, "x"), 0);
}

TEST_F(SqliteDatabaseTest, OperationThatFailsTakesNoOtherWithIt) {
  auto database = Open();
  std::vector<std::thread> threads;
  threads.reserve(16);
  std::atomic<int> failed{0};
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&, i] {
      const absl::Status status = database->writer().Run([&](WriteTx& tx) -> absl::Status {
        absl::Status put = tx.db.Prepare("INSERT INTO meta(key, value) VALUES (?, 1)")
                               .Text(absl::StrCat("k", i))
                               .Run();
        return i % 2 == 0 ? put : absl::InvalidArgumentError("changed its mind");
      });
      failed += status.ok() ? 0 : 1;
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(failed, 8);
  EXPECT_EQ(Count(*database, "k%"), 8);
}

TEST_F(SqliteDatabaseTest, KeepsCommitsWhenItIsOpenedAgain) {
  auto database = Open();
  QB_ASSERT_OK(Put(*database, "a", 1));
  database.reset();
  database = Open();
  EXPECT_EQ(Count(*database, "a"), 1);
  EXPECT_THAT(Put(*database, "a", 2),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("meta")));
}

TEST_F(SqliteDatabaseTest, KeepsTheLogShort) {
  SqliteDatabaseOptions options;
  options.writer.checkpoint_bytes = 64 << 10;
  options.writer.truncate_bytes = 128 << 10;
  auto database = Open(options);
  for (int i = 0; i < 300; ++i) {
    QB_ASSERT_OK(database->writer().Run([&](WriteTx& tx) {
      return tx.db.Prepare("INSERT INTO meta(key, value) VALUES (?, 1)")
          .Text(absl::StrCat(i, std::string(4000, 'x')))
          .Run();
    }));
  }
  EXPECT_LT(std::filesystem::file_size(path_ + "-wal"), 1u << 20);
  EXPECT_EQ(Count(*database, "%xxx"), 300);
}

TEST_F(SqliteDatabaseTest, RefusesANewerVersion) {
  Open().reset();
  {
    auto connection = SqliteConnection::Open(path_, SqliteConnection::Mode::kWriter);
    QB_ASSERT_OK(connection);
    QB_ASSERT_OK(
        (*connection)->Execute(absl::StrCat("PRAGMA user_version=", CurrentSchemaVersion() + 1)));
  }
  EXPECT_THAT(SqliteDatabase::Open(path_, {}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("newer")));
}

TEST_F(SqliteDatabaseTest, RefusesTheFileOfAnotherProgram) {
  {
    auto connection = SqliteConnection::Open(path_, SqliteConnection::Mode::kWriter);
    QB_ASSERT_OK(connection);
    QB_ASSERT_OK((*connection)->Execute("CREATE TABLE theirs(x)"));
  }
  EXPECT_THAT(SqliteDatabase::Open(path_, {}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("--data-dir")));
}

TEST_F(SqliteDatabaseTest, ReportsAFileThatIsNoDatabase) {
  QB_ASSERT_OK(WriteFileAtomically(path_, std::string(10'000, 'j')));
  const auto database = SqliteDatabase::Open(path_, {});
  EXPECT_EQ(database.status().code(), absl::StatusCode::kDataLoss) << database.status();
}

TEST_F(SqliteDatabaseTest, LongReadEndsAtItsLimit) {
  SqliteDatabaseOptions options;
  options.read_limit_ms = 20;
  auto database = Open(options);
  const absl::Status status = database->readers().Run([](SqliteConnection& db) {
    return db
        .PrepareOnce(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
            "SELECT count(*) FROM n")
        .Run();
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
  EXPECT_EQ(Count(*database, "next_fence"), 1);  // the connection is good for the next read
}

TEST_F(SqliteDatabaseTest, StopsForGoodAfterAFatalError) {
  std::atomic<int> fatal{0};
  SqliteDatabaseOptions options;
  options.writer.on_fatal = [&](const absl::Status&) { ++fatal; };
  auto database = Open(options);
  QB_ASSERT_OK(Put(*database, "a", 1));
  // A page limit is the disk that is full.
  QB_ASSERT_OK(database->writer().Run(
      [](WriteTx& tx) { return tx.db.PrepareOnce("PRAGMA max_page_count=1").Run(); }));
  absl::Status status;
  for (int i = 0; i < 100 && status.ok(); ++i) {
    status = Put(*database, absl::StrCat(i, std::string(3000, 'x')), 1);
  }
  EXPECT_TRUE(IsFatalStoreError(status)) << status;
  EXPECT_EQ(fatal, 1);
  EXPECT_THAT(Put(*database, "b", 1),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("stopped")));
  EXPECT_EQ(Count(*database, "a"), 1);  // reading goes on
}

TEST_F(SqliteDatabaseTest, TellsHowLongTheOldestOperationWaits) {
  auto database = Open(SqliteDatabaseOptions());
  EXPECT_EQ(database->writer().Delay(), absl::ZeroDuration());
  absl::Duration own;
  QB_ASSERT_OK(database->writer().Run([&](WriteTx&) {
    own = database->writer().Delay();  // of this very operation
    return absl::OkStatus();
  }));
  EXPECT_GT(own, absl::ZeroDuration());
  EXPECT_EQ(database->writer().Delay(), absl::ZeroDuration());
}

}  // namespace
}  // namespace qb::server
