// A fixture whose tests run on every form of the JobStore: what they check is the interface's
// promise.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "server/jobs/memory_job_store.h"
#include "server/testing/store_fixture.h"

namespace qb::server::testing {

enum class StoreForm { kSqlite, kMemory };

inline std::string StoreFormName(const ::testing::TestParamInfo<StoreForm>& form) {
  return form.param == StoreForm::kSqlite ? "Sqlite" : "Memory";
}

class StoreFormsFixture : public StoreFixture, public ::testing::WithParamInterface<StoreForm> {
 protected:
  void Open() override {
    if (IsSqlite()) {
      StoreFixture::Open();
      return;
    }
    store_ = std::make_unique<MemoryJobStore>(
        store_options_, [this](const std::string& /*tenant*/, const pb::Artifact& artifact) {
          return blobs_.contains({artifact.sha256(), artifact.size_bytes()});
        });
  }

  // The memory form has nothing to open again: it forgets what a restart forgets.
  void Reopen() override {
    if (IsSqlite()) {
      StoreFixture::Reopen();
    } else {
      static_cast<MemoryJobStore&>(*store_).Restart(store_options_);
    }
  }

  void AddBlob(const pb::Artifact& artifact) override {
    if (IsSqlite()) {
      StoreFixture::AddBlob(artifact);
    } else {
      blobs_.emplace(artifact.sha256(), artifact.size_bytes());
    }
  }

  void AddTenant(const std::string& name) {
    if (IsSqlite()) {
      QB_ASSERT_OK(database_->writer().Run([&](WriteTx& tx) {
        return tx.db.Prepare("INSERT INTO tenant(id, name, created_ms) VALUES (?, ?, 0)")
            .Text(name)
            .Text(name)
            .Run();
      }));
    }
  }

  void ForgetBlobs() {
    blobs_.clear();
    if (IsSqlite()) {
      QB_ASSERT_OK(database_->writer().Run(
          [](WriteTx& tx) { return tx.db.Prepare("DELETE FROM blob_ref").Run(); }));
    }
  }

  static bool IsSqlite() { return GetParam() == StoreForm::kSqlite; }

 private:
  std::set<std::pair<std::string, int64_t>> blobs_;
};

// Runs the tests of `fixture` on every form.
#define QB_ON_EVERY_STORE(fixture)                                                       \
  INSTANTIATE_TEST_SUITE_P(Forms, fixture,                                               \
                           ::testing::Values(::qb::server::testing::StoreForm::kSqlite,  \
                                             ::qb::server::testing::StoreForm::kMemory), \
                           ::qb::server::testing::StoreFormName)

}  // namespace qb::server::testing
