#include "server/jobs/sqlite_writer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"

namespace qb::server {

SqliteWriter::SqliteWriter(std::unique_ptr<SqliteConnection> connection,
                           SqliteWriterOptions options)
    : connection_(std::move(connection)), options_(std::move(options)) {
  thread_ = std::thread([this] { Loop(); });
}

SqliteWriter::~SqliteWriter() {
  {
    absl::MutexLock lock(&mutex_);
    ending_ = true;
  }
  thread_.join();
}

void SqliteWriter::SetCommitListener(CommitListener listener) {
  absl::MutexLock lock(&mutex_);
  listener_ = std::move(listener);
}

absl::Status SqliteWriter::Run(Operation operation) {
  Waiter waiter;
  waiter.operation = std::move(operation);
  absl::MutexLock lock(&mutex_);
  if (ending_) {
    return absl::UnavailableError("the store is closing");
  }
  queue_.push_back(&waiter);
  mutex_.Await(absl::Condition(&waiter.done));
  return waiter.status;
}

absl::Duration SqliteWriter::Delay() const {
  absl::MutexLock lock(&mutex_);
  absl::Time oldest = batch_asked_;
  if (!queue_.empty()) {
    oldest = std::min(oldest, queue_.front()->asked);
  }
  return oldest == absl::InfiniteFuture() ? absl::ZeroDuration() : absl::Now() - oldest;
}

bool SqliteWriter::OthersWait() const {
  absl::MutexLock lock(&mutex_);
  return !queue_.empty();
}

bool SqliteWriter::HasWorkOrEnds() const { return !queue_.empty() || ending_; }

void SqliteWriter::Loop() {
  while (true) {
    std::deque<Waiter*> batch;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &SqliteWriter::HasWorkOrEnds));
      if (queue_.empty()) {
        break;
      }
      while (!queue_.empty() && batch.size() < static_cast<size_t>(options_.max_batch)) {
        batch.push_back(queue_.front());
        queue_.pop_front();
      }
      batch_asked_ = batch.front()->asked;
    }
    const absl::Time began = absl::Now();
    const absl::Status committed = CommitBatch(batch);
    if (committed.ok()) {
      moved_.ids.erase(moved_.ids.begin(),
                       moved_.ids.begin() + static_cast<ptrdiff_t>(moved_.seen));
    }
    moved_.seen = 0;
    if (committed.ok()) {
      TellTiming(batch, began);
      Tell(batch);
    }
    {
      absl::MutexLock lock(&mutex_);
      for (Waiter* waiter : batch) {
        if (!committed.ok()) {
          waiter->status = committed;
        }
        waiter->done = true;
      }
      batch_asked_ = absl::InfiniteFuture();
    }
    CheckpointIfDue();
  }
  if (fatal_.ok()) {
    // Best effort: without it the next start reads a longer log.
    connection_->Checkpoint(/*truncate=*/true).IgnoreError();
  }
  connection_.reset();
}

absl::Status SqliteWriter::CommitBatch(const std::deque<Waiter*>& batch) {
  if (!fatal_.ok()) {
    return absl::UnavailableError(
        absl::StrCat("the store has stopped after an error of the disk: ", fatal_.message()));
  }
  absl::Status status = connection_->Prepare("BEGIN IMMEDIATE").Run();
  for (Waiter* waiter : batch) {
    if (!status.ok()) {
      break;
    }
    status = RunOne(*waiter);
  }
  if (status.ok()) {
    status = connection_->Prepare("COMMIT").Run();
  }
  if (!status.ok()) {
    if (connection_->InTransaction()) {
      connection_->Prepare("ROLLBACK").Run().IgnoreError();
    }
    if (IsFatalStoreError(status)) {
      Stop(status);
    }
  }
  return status;
}

// Returns an error only when the whole batch is lost.
absl::Status SqliteWriter::RunOne(Waiter& waiter) {
  QB_RETURN_IF_ERROR(connection_->Prepare("SAVEPOINT operation").Run());
  WriteTx tx{*connection_, waiter.notice, moved_};
  waiter.status = waiter.operation(tx);
  if (IsFatalStoreError(waiter.status)) {
    return waiter.status;
  }
  if (!connection_->InTransaction()) {
    return absl::InternalError(
        absl::StrCat("database: the transaction was rolled back: ", waiter.status.message()));
  }
  if (!waiter.status.ok()) {
    waiter.notice = CommitNotice();
    QB_RETURN_IF_ERROR(connection_->Prepare("ROLLBACK TO operation").Run());
  }
  return connection_->Prepare("RELEASE operation").Run();
}

void SqliteWriter::Tell(const std::deque<Waiter*>& batch) {
  CommitNotice all;
  for (const Waiter* waiter : batch) {
    all.executions.insert(all.executions.end(), waiter->notice.executions.begin(),
                          waiter->notice.executions.end());
    all.jobs_changed = all.jobs_changed || waiter->notice.jobs_changed;
    if (waiter->notice.leasable_from_ms.has_value()) {
      all.leasable_from_ms =
          std::min(all.leasable_from_ms.value_or(INT64_MAX), *waiter->notice.leasable_from_ms);
    }
  }
  std::sort(all.executions.begin(), all.executions.end());
  all.executions.erase(std::unique(all.executions.begin(), all.executions.end()),
                       all.executions.end());
  CommitListener listener;
  {
    absl::MutexLock lock(&mutex_);
    listener = listener_;
  }
  if (listener &&
      (!all.executions.empty() || all.jobs_changed || all.leasable_from_ms.has_value())) {
    listener(all);
  }
}

void SqliteWriter::TellTiming(const std::deque<Waiter*>& batch, absl::Time began) {
  if (options_.on_commit == nullptr) {
    return;
  }
  const absl::Time now = absl::Now();
  CommitTiming timing;
  timing.operations = static_cast<int64_t>(batch.size());
  timing.commit = now - began;
  for (const Waiter* waiter : batch) {
    timing.longest_wait = std::max(timing.longest_wait, now - waiter->asked);
  }
  timing.wal_bytes = connection_->wal_bytes();
  options_.on_commit(timing);
}

void SqliteWriter::CheckpointIfDue() {
  if (!fatal_.ok() || connection_->wal_bytes() < options_.checkpoint_bytes) {
    return;
  }
  const bool truncate = connection_->wal_bytes() >= options_.truncate_bytes;
  const absl::Status status = connection_->Checkpoint(truncate);
  if (IsFatalStoreError(status)) {
    Stop(status);
  }
}

void SqliteWriter::Stop(const absl::Status& cause) {
  fatal_ = cause;
  if (options_.on_fatal) {
    options_.on_fatal(cause);
  }
}

}  // namespace qb::server
