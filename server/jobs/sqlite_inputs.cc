#include "server/jobs/sqlite_inputs.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/digest.h"
#include "core/base/status_macros.h"

namespace qb::server {
namespace {

namespace pb = ::qbc::v1;

using Digests = std::set<std::string>;  // sorted: equal sets have equal names

Digests DigestsOf(const pb::Manifest& manifest) {
  Digests digests;
  for (const pb::ManifestEntry& entry : manifest.entries()) {
    digests.insert(entry.sha256());
  }
  return digests;
}

std::vector<Digests> FileSets(const pb::JobSpec& spec) {
  std::vector<Digests> sets = {DigestsOf(spec.model()), DigestsOf(spec.evaluation())};
  for (const pb::Manifest& manifest : spec.calibration()) {
    sets.push_back(DigestsOf(manifest));
  }
  return sets;
}

std::string NameOf(const Digests& digests) { return Sha256Hex(absl::StrJoin(digests, "\n")); }

absl::StatusOr<bool> HasBlob(SqliteConnection& db, absl::string_view tenant,
                             const std::string& sha256) {
  SqliteQuery query = db.Prepare("SELECT 1 FROM blob_ref WHERE tenant = ? AND sha256 = ?");
  query.Text(tenant).Text(sha256);
  return query.Step();
}

absl::StatusOr<std::optional<int64_t>> FindSet(SqliteConnection& db, absl::string_view tenant,
                                               const std::string& name) {
  SqliteQuery query = db.Prepare("SELECT id FROM file_set WHERE tenant = ? AND digest = ?");
  query.Text(tenant).Text(name);
  QB_ASSIGN_OR_RETURN(const bool row, query.Step());
  return row ? std::optional<int64_t>(query.IntAt(0)) : std::nullopt;
}

absl::StatusOr<int64_t> MakeSet(SqliteConnection& db, absl::string_view tenant,
                                const std::string& name, const Digests& digests) {
  QB_RETURN_IF_ERROR(db.Prepare("INSERT INTO file_set(tenant, digest) VALUES (?, ?)")
                         .Text(tenant)
                         .Text(name)
                         .Run());
  const int64_t set = db.LastInsertRow();
  for (const std::string& sha256 : digests) {
    QB_ASSIGN_OR_RETURN(const bool stored, HasBlob(db, tenant, sha256));
    if (!stored) {
      return absl::FailedPreconditionError(
          absl::StrCat("MISSING_BLOB: the file with sha256 ", sha256, " is not stored any more"));
    }
    QB_RETURN_IF_ERROR(
        db.Prepare("INSERT INTO file_set_blob(file_set, tenant, sha256) VALUES (?, ?, ?)")
            .Int(set)
            .Text(tenant)
            .Text(sha256)
            .Run());
  }
  return set;
}

absl::Status AddSet(SqliteConnection& db, const WorkOwner& owner, const Digests& digests) {
  if (digests.empty()) {
    return absl::OkStatus();
  }
  const std::string name = NameOf(digests);
  QB_ASSIGN_OR_RETURN(std::optional<int64_t> set, FindSet(db, owner.tenant, name));
  if (!set.has_value()) {
    QB_ASSIGN_OR_RETURN(set, MakeSet(db, owner.tenant, name, digests));
  }
  return db.Prepare("INSERT OR IGNORE INTO execution_files(execution, file_set) VALUES (?, ?)")
      .Int(owner.execution)
      .Int(*set)
      .Run();
}

absl::StatusOr<std::vector<int64_t>> SetsOf(SqliteConnection& db, int64_t execution) {
  SqliteQuery query = db.Prepare("SELECT file_set FROM execution_files WHERE execution = ?");
  query.Int(execution);
  std::vector<int64_t> sets;
  while (true) {
    QB_ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) {
      return sets;
    }
    sets.push_back(query.IntAt(0));
  }
}

absl::Status DropSetIfUnused(SqliteConnection& db, int64_t set, int64_t now_ms) {
  SqliteQuery query = db.Prepare("SELECT 1 FROM execution_files WHERE file_set = ? LIMIT 1");
  query.Int(set);
  QB_ASSIGN_OR_RETURN(const bool used, query.Step());
  if (used) {
    return absl::OkStatus();
  }
  QB_RETURN_IF_ERROR(query.Run());
  QB_RETURN_IF_ERROR(
      db.Prepare("UPDATE blob_ref SET used_ms = max(used_ms, ?) WHERE (tenant, sha256) IN "
                 "(SELECT tenant, sha256 FROM file_set_blob WHERE file_set = ?)")
          .Int(now_ms)
          .Int(set)
          .Run());
  QB_RETURN_IF_ERROR(db.Prepare("DELETE FROM file_set_blob WHERE file_set = ?").Int(set).Run());
  return db.Prepare("DELETE FROM file_set WHERE id = ?").Int(set).Run();
}

// Those of `digests` that are there.
absl::StatusOr<Digests> Stored(SqliteConnection& db, absl::string_view tenant,
                               const Digests& digests) {
  Digests stored;
  for (const std::string& sha256 : digests) {
    QB_ASSIGN_OR_RETURN(const bool there, HasBlob(db, tenant, sha256));
    if (there) {
      stored.insert(sha256);
    }
  }
  return stored;
}

}  // namespace

absl::Status AddInputs(SqliteConnection& db, const WorkOwner& owner, const pb::JobSpec& spec) {
  for (const Digests& digests : FileSets(spec)) {
    QB_RETURN_IF_ERROR(AddSet(db, owner, digests));
  }
  return absl::OkStatus();
}

absl::Status DropInputs(SqliteConnection& db, const WorkOwner& owner, int64_t now_ms) {
  QB_ASSIGN_OR_RETURN(const std::vector<int64_t> sets, SetsOf(db, owner.execution));
  QB_RETURN_IF_ERROR(db.Prepare("DELETE FROM execution_files WHERE execution = ?")
                         .Int(owner.execution)
                         .Run());
  for (const int64_t set : sets) {
    QB_RETURN_IF_ERROR(DropSetIfUnused(db, set, now_ms));
  }
  return absl::OkStatus();
}

absl::Status BackfillInputs(SqliteConnection& db) {
  SqliteQuery rows = db.PrepareOnce("SELECT id, tenant, spec FROM execution ORDER BY id");
  while (true) {
    QB_ASSIGN_OR_RETURN(const bool row, rows.Step());
    if (!row) {
      return absl::OkStatus();
    }
    pb::JobSpec spec;
    if (!spec.ParseFromArray(rows.TextAt(2).data(), static_cast<int>(rows.TextAt(2).size()))) {
      return absl::DataLossError(
          absl::StrCat("database: the spec of execution ", rows.IntAt(0), " is unreadable"));
    }
    const std::string tenant(rows.TextAt(1));
    for (const Digests& digests : FileSets(spec)) {
      QB_ASSIGN_OR_RETURN(const Digests stored, Stored(db, tenant, digests));
      QB_RETURN_IF_ERROR(AddSet(db, {rows.IntAt(0), tenant}, stored));
    }
  }
}

}  // namespace qb::server
