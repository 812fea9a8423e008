#include "server/jobs/sqlite_schema.h"

#include <array>
#include <cstdint>
#include <memory>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "server/jobs/sqlite_inputs.h"

namespace qb::server {
namespace {

constexpr int64_t kApplicationId = 0x51424353;  // "QBCS"

struct SchemaStep {
  const char* sql;
  // What SQL alone cannot do; null: nothing.
  absl::Status (*fill)(SqliteConnection& db) = nullptr;
};

// Step i leads from version i to i + 1. Frozen: a released step never changes.
constexpr auto kSteps = std::to_array<SchemaStep>({
    {R"sql(
CREATE TABLE meta(key TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
INSERT INTO meta VALUES ('next_fence', 1);

CREATE TABLE tenant(id TEXT PRIMARY KEY, name TEXT NOT NULL, created_ms INTEGER NOT NULL) STRICT;
INSERT INTO tenant VALUES ('default', 'default', 0);

-- The work. state, spec and messages are numbers and bytes of qbc.v1.
CREATE TABLE execution(
  id INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL REFERENCES tenant(id),
  state INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  enqueued_ms INTEGER NOT NULL,
  run_after_ms INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL,
  target TEXT NOT NULL,
  spec BLOB NOT NULL,
  resolved_config TEXT NOT NULL,
  attempt INTEGER NOT NULL DEFAULT 0,
  fence INTEGER NOT NULL DEFAULT 0,
  losses INTEGER NOT NULL DEFAULT 0,
  last_seq INTEGER NOT NULL DEFAULT 0,
  started_ms INTEGER,
  finished_ms INTEGER,
  cancel_reason TEXT,
  wait_reason TEXT NOT NULL DEFAULT '',
  progress BLOB,
  failure BLOB,
  result_json TEXT,
  usage BLOB,
  worker TEXT NOT NULL DEFAULT '',
  compiler_build TEXT NOT NULL DEFAULT ''
) STRICT;
-- The hot set only: 1 QUEUED, 3 RETRY_WAIT.
CREATE INDEX execution_waiting ON execution(priority DESC, enqueued_ms, id) WHERE state IN (1, 3);
CREATE INDEX execution_expiring ON execution(expires_ms) WHERE state = 1;

-- What a client asked for; several jobs may come to share one execution.
CREATE TABLE job(
  id INTEGER PRIMARY KEY,
  uid TEXT NOT NULL UNIQUE,
  tenant TEXT NOT NULL REFERENCES tenant(id),
  execution INTEGER NOT NULL REFERENCES execution(id),
  state INTEGER NOT NULL,
  target TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  request_id TEXT,
  request_fingerprint TEXT
) STRICT;
CREATE UNIQUE INDEX job_request ON job(tenant, request_id) WHERE request_id IS NOT NULL;
CREATE INDEX job_of_tenant ON job(tenant, id);
CREATE INDEX job_of_state ON job(tenant, state, id);
CREATE INDEX job_of_execution ON job(execution);

-- state: 1 live, 2 completed by its agent, 3 lost.
CREATE TABLE attempt(
  execution INTEGER NOT NULL REFERENCES execution(id),
  attempt INTEGER NOT NULL,
  fence INTEGER NOT NULL UNIQUE,
  state INTEGER NOT NULL,
  worker TEXT NOT NULL,
  epoch TEXT NOT NULL,
  leased_ms INTEGER NOT NULL,
  ended_ms INTEGER,
  outcome INTEGER NOT NULL DEFAULT 0,
  committed_seq INTEGER NOT NULL DEFAULT 0,
  stored_events INTEGER NOT NULL DEFAULT 0,
  last_progress_ms INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (execution, attempt)
) STRICT, WITHOUT ROWID;
CREATE INDEX attempt_live ON attempt(fence) WHERE state = 1;

CREATE TABLE event(
  execution INTEGER NOT NULL REFERENCES execution(id),
  seq INTEGER NOT NULL,
  body BLOB NOT NULL,
  PRIMARY KEY (execution, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE artifact(
  execution INTEGER NOT NULL REFERENCES execution(id),
  position INTEGER NOT NULL,
  name TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  size_bytes INTEGER NOT NULL,
  PRIMARY KEY (execution, position)
) STRICT, WITHOUT ROWID;

-- A row means: the file is complete, renamed and synced.
CREATE TABLE blob(
  sha256 TEXT PRIMARY KEY,
  size_bytes INTEGER NOT NULL,
  stored_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- Who has proved possession of it by sending the bytes.
CREATE TABLE blob_ref(
  tenant TEXT NOT NULL REFERENCES tenant(id),
  sha256 TEXT NOT NULL REFERENCES blob(sha256),
  PRIMARY KEY (tenant, sha256)
) STRICT, WITHOUT ROWID;
CREATE TABLE upload(
  tenant TEXT NOT NULL REFERENCES tenant(id),
  id TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  size_bytes INTEGER NOT NULL,
  committed_bytes INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE worker(
  id TEXT PRIMARY KEY,
  epoch TEXT NOT NULL,
  registered_ms INTEGER NOT NULL,
  capabilities BLOB NOT NULL
) STRICT, WITHOUT ROWID;
)sql"},
    {R"sql(
-- Names the work; NULL: shared with nobody.
ALTER TABLE execution ADD COLUMN action TEXT;
ALTER TABLE execution ADD COLUMN run_timeout_ms INTEGER NOT NULL DEFAULT 0;
-- One execution of the same work at a time, but for those that are being cancelled.
CREATE UNIQUE INDEX execution_in_flight ON execution(tenant, action, run_timeout_ms)
  WHERE action IS NOT NULL AND state IN (1, 2, 3);
DROP INDEX execution_expiring;

-- NULL: that of the execution.
ALTER TABLE job ADD COLUMN spec BLOB;
ALTER TABLE job ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN expires_ms INTEGER NOT NULL DEFAULT 0;
-- 0: the job started the execution, 1: it joined, 2: it came when the result was there.
ALTER TABLE job ADD COLUMN joined INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN finished_ms INTEGER;
-- Set when the job ended before its execution: it has the execution's events up to this one, then
-- end_event.
ALTER TABLE job ADD COLUMN detached_seq INTEGER;
ALTER TABLE job ADD COLUMN end_event BLOB;
ALTER TABLE job ADD COLUMN failure BLOB;
UPDATE job SET (priority, expires_ms) =
  (SELECT e.priority, e.expires_ms FROM execution AS e WHERE e.id = job.execution);
CREATE INDEX job_expiring ON job(expires_ms) WHERE state = 1;

-- The first result of each work; its execution has the artifacts.
CREATE TABLE result_cache(
  tenant TEXT NOT NULL REFERENCES tenant(id),
  action TEXT NOT NULL,
  compiler_build TEXT NOT NULL,
  execution INTEGER NOT NULL REFERENCES execution(id),
  PRIMARY KEY (tenant, action, compiler_build)
) STRICT, WITHOUT ROWID;

-- Jobs by state, so that nothing ever counts rows.
CREATE TABLE counter(
  tenant TEXT NOT NULL,
  state INTEGER NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY (tenant, state)
) STRICT, WITHOUT ROWID;
INSERT INTO counter SELECT tenant, state, count(*) FROM job GROUP BY tenant, state;
CREATE TRIGGER job_comes AFTER INSERT ON job BEGIN
  INSERT INTO counter VALUES (new.tenant, new.state, 1) ON CONFLICT DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER job_moves AFTER UPDATE OF state ON job WHEN new.state <> old.state BEGIN
  UPDATE counter SET n = n - 1 WHERE tenant = old.tenant AND state = old.state;
  INSERT INTO counter VALUES (new.tenant, new.state, 1) ON CONFLICT DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER job_goes AFTER DELETE ON job BEGIN
  UPDATE counter SET n = n - 1 WHERE tenant = old.tenant AND state = old.state;
END;
)sql"},
    {R"sql(
ALTER TABLE tenant ADD COLUMN weight INTEGER NOT NULL DEFAULT 1;
-- What the work needs besides a slot.
ALTER TABLE execution ADD COLUMN cpus INTEGER NOT NULL DEFAULT 0;
ALTER TABLE execution ADD COLUMN memory_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE execution ADD COLUMN gpus INTEGER NOT NULL DEFAULT 0;
ALTER TABLE execution ADD COLUMN scratch_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE execution ADD COLUMN prefers_gpu INTEGER NOT NULL DEFAULT 0;
-- Workers that died while they ran it; part of losses.
ALTER TABLE execution ADD COLUMN deaths INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempt ADD COLUMN gpus INTEGER NOT NULL DEFAULT 0;
-- Share of its worker, in millionths.
ALTER TABLE attempt ADD COLUMN cost_ppm INTEGER NOT NULL DEFAULT 1000000;
-- The order of waiting work is kept in memory; this finds what it is made from.
CREATE INDEX execution_live ON execution(id) WHERE state IN (1, 2, 3, 4);
DROP INDEX execution_waiting;

-- Counts the changes of jobs in the whole database.
INSERT INTO meta VALUES ('revision', 0);
ALTER TABLE job ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
UPDATE job SET revision = id;
UPDATE meta SET value = (SELECT ifnull(max(id), 0) FROM job) WHERE key = 'revision';
CREATE INDEX job_changes ON job(tenant, revision);
-- For lists: newest first within a target, and where to begin for a time.
CREATE INDEX job_of_target ON job(tenant, target, id);
CREATE INDEX job_of_time ON job(tenant, created_ms);
CREATE TRIGGER job_comes_revision AFTER INSERT ON job BEGIN
  UPDATE meta SET value = value + 1 WHERE key = 'revision';
  UPDATE job SET revision = (SELECT value FROM meta WHERE key = 'revision') WHERE id = new.id;
END;
CREATE TRIGGER job_moves_revision AFTER UPDATE OF state ON job WHEN new.state <> old.state BEGIN
  UPDATE meta SET value = value + 1 WHERE key = 'revision';
  UPDATE job SET revision = (SELECT value FROM meta WHERE key = 'revision') WHERE id = new.id;
END;
)sql"},
    {R"sql(
-- Tenants that may read a job of another one.
CREATE TABLE job_share(
  job INTEGER NOT NULL REFERENCES job(id) ON DELETE CASCADE,
  tenant TEXT NOT NULL,
  shared_ms INTEGER NOT NULL,
  PRIMARY KEY (job, tenant)
) STRICT, WITHOUT ROWID;
CREATE INDEX artifact_of_blob ON artifact(sha256);
ALTER TABLE job ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
)sql"},
    {R"sql(
-- Bytes of the blobs that a tenant has, so that nothing ever adds them up.
ALTER TABLE tenant ADD COLUMN blob_bytes INTEGER NOT NULL DEFAULT 0;
UPDATE tenant SET blob_bytes = (SELECT ifnull(sum(size_bytes), 0) FROM blob_ref JOIN blob
  USING (sha256) WHERE blob_ref.tenant = tenant.id);
CREATE TRIGGER blob_ref_comes AFTER INSERT ON blob_ref BEGIN
  UPDATE tenant SET blob_bytes = blob_bytes +
    (SELECT size_bytes FROM blob WHERE sha256 = new.sha256) WHERE id = new.tenant;
END;
CREATE TRIGGER blob_ref_goes AFTER DELETE ON blob_ref BEGIN
  UPDATE tenant SET blob_bytes = blob_bytes -
    (SELECT size_bytes FROM blob WHERE sha256 = old.sha256) WHERE id = old.tenant;
END;
)sql"},
    {R"sql(
-- Which files work reads. Equal sets of a tenant are one.
CREATE TABLE file_set(
  id INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL REFERENCES tenant(id),
  digest TEXT NOT NULL,
  UNIQUE(tenant, digest)
) STRICT;
CREATE TABLE file_set_blob(
  file_set INTEGER NOT NULL REFERENCES file_set(id),
  sha256 TEXT NOT NULL,
  -- Behind the key: quick_check of SQLite 3.40 mistakes columns of such a table in another order.
  tenant TEXT NOT NULL,
  PRIMARY KEY (file_set, sha256)
) STRICT, WITHOUT ROWID;
CREATE INDEX file_set_of_blob ON file_set_blob(tenant, sha256);
CREATE TABLE execution_files(
  execution INTEGER NOT NULL REFERENCES execution(id),
  file_set INTEGER NOT NULL REFERENCES file_set(id),
  PRIMARY KEY (execution, file_set)
) STRICT, WITHOUT ROWID;
CREATE INDEX execution_of_file_set ON execution_files(file_set);

-- How many file sets and results name the blob, and since when it is not used. What is there already
-- gets its whole time from now on.
ALTER TABLE blob_ref ADD COLUMN refs INTEGER NOT NULL DEFAULT 0;
ALTER TABLE blob_ref ADD COLUMN used_ms INTEGER NOT NULL DEFAULT 0;
UPDATE blob_ref SET used_ms = unixepoch() * 1000, refs = (SELECT count(*) FROM artifact JOIN
  execution AS e ON e.id = artifact.execution WHERE artifact.sha256 = blob_ref.sha256 AND
  e.tenant = blob_ref.tenant);
CREATE INDEX blob_ref_unused ON blob_ref(used_ms) WHERE refs = 0;
CREATE INDEX blob_ref_of_blob ON blob_ref(sha256);
CREATE TRIGGER file_set_blob_comes AFTER INSERT ON file_set_blob BEGIN
  UPDATE blob_ref SET refs = refs + 1 WHERE tenant = new.tenant AND sha256 = new.sha256;
END;
CREATE TRIGGER file_set_blob_goes AFTER DELETE ON file_set_blob BEGIN
  UPDATE blob_ref SET refs = refs - 1 WHERE tenant = old.tenant AND sha256 = old.sha256;
END;
CREATE TRIGGER artifact_comes AFTER INSERT ON artifact BEGIN
  UPDATE blob_ref SET refs = refs + 1 WHERE sha256 = new.sha256 AND
    tenant = (SELECT tenant FROM execution WHERE id = new.execution);
END;
CREATE TRIGGER artifact_goes AFTER DELETE ON artifact BEGIN
  UPDATE blob_ref SET refs = refs - 1 WHERE sha256 = old.sha256 AND
    tenant = (SELECT tenant FROM execution WHERE id = old.execution);
END;

-- When a result last answered a job.
ALTER TABLE result_cache ADD COLUMN used_ms INTEGER NOT NULL DEFAULT 0;
UPDATE result_cache SET used_ms = unixepoch() * 1000;
CREATE INDEX result_cache_used ON result_cache(used_ms);
CREATE INDEX result_cache_of_execution ON result_cache(execution);

UPDATE job SET finished_ms = (SELECT finished_ms FROM execution WHERE id = job.execution)
  WHERE state >= 10 AND finished_ms IS NULL;
CREATE INDEX job_ended ON job(state, finished_ms) WHERE state >= 10 AND pinned = 0;

-- What no row names any more and is still to be removed from the disk. kind: 1 a blob by its
-- SHA-256, 2 the logs of an execution.
CREATE TABLE doomed(
  kind INTEGER NOT NULL,
  name TEXT NOT NULL,
  PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;
-- The largest numbers of rows that are gone.
INSERT INTO meta VALUES ('last_execution', 0), ('last_job', 0);
)sql",
     BackfillInputs},
    {R"sql(
-- W3C trace context that came with the job.
ALTER TABLE job ADD COLUMN traceparent TEXT NOT NULL DEFAULT '';
)sql"},
});

absl::StatusOr<int64_t> ReadPragma(SqliteConnection& db, const char* sql) {
  SqliteQuery query = db.PrepareOnce(sql);
  QB_ASSIGN_OR_RETURN(bool row, query.Step());
  return row ? query.IntAt(0) : 0;
}

// Errors: FailedPrecondition for a file that this program must leave alone.
absl::StatusOr<int64_t> KnownVersion(SqliteConnection& db) {
  QB_ASSIGN_OR_RETURN(const int64_t version, ReadPragma(db, "PRAGMA user_version"));
  QB_ASSIGN_OR_RETURN(const int64_t application, ReadPragma(db, "PRAGMA application_id"));
  QB_ASSIGN_OR_RETURN(const int64_t tables, ReadPragma(db, "SELECT count(*) FROM sqlite_schema"));
  if (application != kApplicationId && tables != 0) {
    return absl::FailedPreconditionError(
        "database: the file was not made by qbc-server: choose another --data-dir");
  }
  if (version < 0 || version > CurrentSchemaVersion()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "database: schema version ", version, " is newer than this qbc-server, which knows up to ",
        CurrentSchemaVersion(), ": use the newer program"));
  }
  return version;
}

}  // namespace

int CurrentSchemaVersion() { return static_cast<int>(kSteps.size()); }

absl::Status MigrateSchema(SqliteConnection& db, int wanted) {
  QB_ASSIGN_OR_RETURN(const int64_t version, KnownVersion(db));
  for (int64_t step = version; step < wanted; ++step) {
    const SchemaStep& todo = kSteps[static_cast<size_t>(step)];
    // What fails on the way is rolled back when the connection closes.
    QB_RETURN_IF_ERROR(db.Execute(absl::StrCat("BEGIN IMMEDIATE;", todo.sql)));
    if (todo.fill != nullptr) {
      QB_RETURN_IF_ERROR(todo.fill(db));
    }
    QB_RETURN_IF_ERROR(db.Execute(absl::StrCat("PRAGMA application_id=", kApplicationId,
                                               ";PRAGMA user_version=", step + 1, ";COMMIT;")));
  }
  return absl::OkStatus();
}

absl::StatusOr<int> ReadSchemaVersion(const std::string& path) {
  QB_ASSIGN_OR_RETURN(const std::unique_ptr<SqliteConnection> db,
                      SqliteConnection::Open(path, SqliteConnection::Mode::kReader));
  QB_ASSIGN_OR_RETURN(const int64_t version, KnownVersion(*db));
  return static_cast<int>(version);
}

}  // namespace qb::server
