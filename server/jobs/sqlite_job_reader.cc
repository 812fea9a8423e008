#include "server/jobs/sqlite_job_reader.h"

#include <algorithm>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/status_macros.h"
#include "server/jobs/sqlite_sharing.h"
#include "server/jobs/wire_time.h"

namespace qb::server {
namespace {

// The column numbers below count in this list. A macro, because statements are kept by their
// literal.
#define QB_JOB_COLUMNS                                                                  \
  "SELECT job.uid, job.state, job.created_ms, e.started_ms, e.finished_ms, e.attempt, " \
  "ifnull(job.spec, e.spec), e.progress, ifnull(job.failure, e.failure), "              \
  "e.result_json, e.usage, e.last_seq, e.worker, e.compiler_build, e.wait_reason, "     \
  "job.id, e.id, e.resolved_config, job.joined, job.detached_seq, job.finished_ms, "    \
  "job.revision, job.pinned, job.traceparent "                                          \
  "FROM job JOIN execution AS e ON e.id = job.execution "

constexpr int kRowColumn = 15;
constexpr int kExecutionColumn = 16;
constexpr int kConfigColumn = 17;
constexpr int kJoinedColumn = 18;
constexpr int kDetachedColumn = 19;
constexpr int kFinishedColumn = 20;
constexpr int kRevisionColumn = 21;
constexpr int kPinnedColumn = 22;
constexpr int kTraceColumn = 23;

absl::Status ParseColumn(const SqliteQuery& query, int column, google::protobuf::Message& message) {
  const absl::string_view bytes = query.TextAt(column);
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::DataLossError(absl::StrCat("database: job ", std::string(query.TextAt(0)),
                                            ": column ", column, " is not a ",
                                            message.GetTypeName()));
  }
  return absl::OkStatus();
}

// What ListJobs leaves out of a basic view: all that may be long.
void KeepBasics(pb::Job& job) {
  job.mutable_spec()->mutable_model()->clear_entries();
  job.mutable_spec()->clear_calibration();
  job.mutable_spec()->clear_evaluation();
  job.mutable_spec()->mutable_config()->clear_file_text();
  job.mutable_spec()->mutable_config()->clear_overrides_json();
  job.clear_result_json();
  job.clear_resolved_config_json();
}

absl::Status ReadArtifacts(SqliteConnection& db, int64_t execution, pb::Job& job) {
  SqliteQuery query = db.Prepare(
      "SELECT name, sha256, size_bytes FROM artifact WHERE execution = ? ORDER BY position");
  query.Int(execution);
  while (true) {
    QB_ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) {
      return absl::OkStatus();
    }
    pb::Artifact* artifact = job.add_artifacts();
    artifact->set_name(std::string(query.TextAt(0)));
    artifact->set_sha256(std::string(query.TextAt(1)));
    artifact->set_size_bytes(query.IntAt(2));
  }
}

// A job that joined later neither started nor ended before it was there.
void SetTimes(const SqliteQuery& query, pb::Job& job) {
  const int64_t created_ms = query.IntAt(2);
  SetTime(created_ms, job.mutable_create_time());
  if (!query.IsNull(3)) {
    SetTime(std::max(created_ms, query.IntAt(3)), job.mutable_start_time());
  }
  if (!query.IsNull(kFinishedColumn)) {
    SetTime(query.IntAt(kFinishedColumn), job.mutable_finish_time());
  } else if (!query.IsNull(4)) {
    SetTime(query.IntAt(4), job.mutable_finish_time());
  }
}

// A field whose column is NULL stays unset.
template <typename Message>
absl::Status ParseIfThere(const SqliteQuery& query, int column, pb::Job& job,
                          Message* (pb::Job::*mutable_field)()) {
  return query.IsNull(column) ? absl::OkStatus()
                              : ParseColumn(query, column, *(job.*mutable_field)());
}

// What became of the work.
absl::Status SetWork(SqliteConnection& db, const SqliteQuery& query, pb::Job& job) {
  QB_RETURN_IF_ERROR(ParseIfThere(query, 7, job, &pb::Job::mutable_progress));
  QB_RETURN_IF_ERROR(ParseIfThere(query, 10, job, &pb::Job::mutable_usage));
  job.set_result_json(std::string(query.TextAt(9)));
  job.set_last_event_seq(query.IntAt(11));
  job.set_wait_reason(std::string(query.TextAt(14)));
  return ReadArtifacts(db, query.IntAt(kExecutionColumn), job);
}

absl::StatusOr<pb::Job> JobOfRow(SqliteConnection& db, const SqliteQuery& query) {
  pb::Job job;
  job.set_id(std::string(query.TextAt(0)));
  job.set_state(static_cast<pb::JobState>(query.IntAt(1)));
  SetTimes(query, job);
  job.set_attempt_count(static_cast<int32_t>(query.IntAt(5)));
  QB_RETURN_IF_ERROR(ParseColumn(query, 6, *job.mutable_spec()));
  QB_RETURN_IF_ERROR(ParseIfThere(query, 8, job, &pb::Job::mutable_failure));
  job.set_worker_id(std::string(query.TextAt(12)));
  job.set_compiler_build(std::string(query.TextAt(13)));
  job.set_resolved_config_json(std::string(query.TextAt(kConfigColumn)));
  job.set_joined(query.IntAt(kJoinedColumn) == static_cast<int>(JobJoin::kInFlight));
  job.set_cache_hit(query.IntAt(kJoinedColumn) == static_cast<int>(JobJoin::kCached));
  job.set_pinned(query.IntAt(kPinnedColumn) != 0);
  job.set_traceparent(std::string(query.TextAt(kTraceColumn)));
  if (query.IsNull(kDetachedColumn)) {
    QB_RETURN_IF_ERROR(SetWork(db, query, job));
  } else {
    // What became of the work afterwards is not this job's.
    job.set_last_event_seq(query.IntAt(kDetachedColumn) + 1);
  }
  return job;
}

absl::Status NoSuchJob(absl::string_view job_id) {
  return absl::NotFoundError(absl::StrCat("no job '", job_id, "'"));
}

}  // namespace

absl::StatusOr<pb::Job> ReadJob(SqliteConnection& db, absl::string_view tenant,
                                absl::string_view job_id) {
  SqliteQuery query = db.Prepare(QB_JOB_COLUMNS "WHERE job.uid = ? AND job.tenant = ?");
  query.Text(job_id).Text(tenant);
  QB_ASSIGN_OR_RETURN(const bool row, query.Step());
  return row ? JobOfRow(db, query) : NoSuchJob(job_id);
}

absl::StatusOr<JobPosition> ReadPosition(SqliteConnection& db, absl::string_view tenant,
                                         absl::string_view job_id) {
  SqliteQuery query = db.Prepare(
      "SELECT job.id, e.id, job.state, ifnull(job.detached_seq + 1, e.last_seq), e.attempt FROM "
      "job "
      "JOIN execution AS e ON e.id = job.execution WHERE job.uid = ? AND job.tenant = ?");
  query.Text(job_id).Text(tenant);
  QB_ASSIGN_OR_RETURN(const bool row, query.Step());
  if (!row) {
    return NoSuchJob(job_id);
  }
  JobPosition position;
  position.job = query.IntAt(0);
  position.execution = query.IntAt(1);
  position.state = static_cast<pb::JobState>(query.IntAt(2));
  position.last_event_seq = query.IntAt(3);
  position.attempt_count = static_cast<int32_t>(query.IntAt(4));
  return position;
}

absl::StatusOr<std::optional<pb::Job>> ReadRequest(SqliteConnection& db, absl::string_view tenant,
                                                   absl::string_view request_id,
                                                   absl::string_view fingerprint) {
  SqliteQuery query =
      db.Prepare("SELECT uid, request_fingerprint FROM job WHERE tenant = ? AND request_id = ?");
  query.Text(tenant).Text(request_id);
  QB_ASSIGN_OR_RETURN(const bool row, query.Step());
  if (!row) {
    return std::nullopt;
  }
  if (query.TextAt(1) != fingerprint) {
    return absl::AlreadyExistsError(absl::StrCat("REQUEST_ID_REUSED: request_id '", request_id,
                                                 "' belongs to job '", query.TextAt(0),
                                                 "', which was asked for with another spec"));
  }
  QB_ASSIGN_OR_RETURN(pb::Job job, ReadJob(db, tenant, query.TextAt(0)));
  return job;
}

namespace {

// Ids grow with the time of creation but for jumps of the clock, which are taken to be shorter.
constexpr int64_t kLongestClockJumpMs = 60'000;

// The conditions of `query` on a row of job but for state and place in the list. ?1 is the tenant,
// ?2 the target.
std::string Conditions(const JobQuery& query) {
  std::string sql = "job.tenant = ?1";
  if (query.created_after_ms.has_value()) {
    // The bounds on ids keep the search out of rows that cannot match.
    absl::StrAppend(&sql, " AND job.created_ms > ", *query.created_after_ms,
                    " AND job.id >= ifnull((SELECT id FROM job WHERE tenant = ?1 AND created_ms > ",
                    *query.created_after_ms - kLongestClockJumpMs,
                    " ORDER BY created_ms LIMIT 1), 0)");
  }
  if (query.created_before_ms.has_value()) {
    absl::StrAppend(&sql, " AND job.created_ms < ", *query.created_before_ms,
                    " AND job.id <= ifnull((SELECT id FROM job WHERE tenant = ?1 AND created_ms < ",
                    *query.created_before_ms + kLongestClockJumpMs,
                    " ORDER BY created_ms DESC LIMIT 1), 0)");
  }
  if (!query.target_device.empty()) {
    absl::StrAppend(&sql, " AND job.target = ?2");
  }
  return sql;
}

std::string StatesCondition(const JobQuery& query) {
  if (query.states.empty()) {
    return "";
  }
  const auto number = [](std::string* out, pb::JobState state) {
    absl::StrAppend(out, static_cast<int>(state));
  };
  return absl::StrCat(" AND job.state IN (", absl::StrJoin(query.states, ",", number), ")");
}

// The newest `limit` rows of the query, as a list of SELECTs: one for each state, because an index
// has the rows of one state in order.
std::string NewestRows(const JobQuery& query, size_t limit) {
  std::vector<std::string> states;
  for (pb::JobState state : query.states) {
    states.push_back(absl::StrCat(" AND job.state = ", static_cast<int>(state)));
  }
  if (states.empty()) {
    states.emplace_back();
  }
  std::string place = absl::StrCat(" ORDER BY job.id DESC LIMIT ", limit, ")");
  if (query.before_row > 0) {
    place = absl::StrCat(" AND job.id < ", query.before_row, place);
  }
  return absl::StrJoin(states, " UNION ALL ", [&](std::string* out, const std::string& state) {
    absl::StrAppend(out, "SELECT id FROM (SELECT job.id FROM job WHERE ", Conditions(query), state,
                    place);
  });
}

// Runs `sql` and reads up to `limit` jobs. `on_row` sees each row before its job is read.
absl::StatusOr<std::vector<pb::Job>> ReadJobs(SqliteConnection& db, const std::string& sql,
                                              const JobQuery& query, size_t limit,
                                              absl::FunctionRef<void(const SqliteQuery&)> on_row) {
  SqliteQuery rows = db.PrepareOnce(sql);
  rows.Text(query.tenant);
  if (!query.target_device.empty()) {
    rows.Text(query.target_device);
  }
  std::vector<pb::Job> jobs;
  while (jobs.size() < limit) {
    QB_ASSIGN_OR_RETURN(const bool row, rows.Step());
    if (!row) {
      break;
    }
    on_row(rows);
    QB_ASSIGN_OR_RETURN(pb::Job job, JobOfRow(db, rows));
    if (!query.full) {
      KeepBasics(job);
    }
    jobs.push_back(std::move(job));
  }
  return jobs;
}

absl::StatusOr<int64_t> ReadRevision(SqliteConnection& db) {
  SqliteQuery query = db.Prepare("SELECT value FROM meta WHERE key = 'revision'");
  QB_ASSIGN_OR_RETURN(const bool row, query.Step());
  return row ? query.IntAt(0) : 0;
}

}  // namespace

absl::StatusOr<JobPage> ReadPage(SqliteConnection& db, const JobQuery& query) {
  const size_t limit = static_cast<size_t>(query.limit);
  // One row more than asked for tells whether there is a next page.
  const std::string sql =
      absl::StrCat(QB_JOB_COLUMNS, "WHERE job.id IN (", NewestRows(query, limit + 1),
                   ") ORDER BY job.id DESC LIMIT ", limit + 1);
  JobPage page;
  // First: what changes while the page is read has a later revision.
  QB_ASSIGN_OR_RETURN(page.revision, ReadRevision(db));
  std::vector<int64_t> ids;
  QB_ASSIGN_OR_RETURN(page.jobs, ReadJobs(db, sql, query, limit + 1, [&](const SqliteQuery& row) {
                        ids.push_back(row.IntAt(kRowColumn));
                      }));
  if (page.jobs.size() > limit) {
    page.jobs.pop_back();
    page.next_before_row = ids[limit - 1];
  }
  return page;
}

absl::StatusOr<ChangedJobs> ReadChangedRows(SqliteConnection& db, const JobQuery& query,
                                            int64_t revision) {
  ChangedJobs changed;
  QB_ASSIGN_OR_RETURN(changed.revision, ReadRevision(db));
  if (changed.revision <= revision) {
    changed.revision = std::max(changed.revision, revision);
    return changed;  // nearly always, and without looking at any job
  }
  const std::string sql =
      absl::StrCat(QB_JOB_COLUMNS, "WHERE ", Conditions(query), StatesCondition(query),
                   " AND job.revision > ", revision, " ORDER BY job.revision LIMIT ", query.limit);
  int64_t last = revision;
  const size_t limit = static_cast<size_t>(query.limit);
  QB_ASSIGN_OR_RETURN(changed.jobs, ReadJobs(db, sql, query, limit, [&](const SqliteQuery& row) {
                        last = row.IntAt(kRevisionColumn);
                      }));
  // With a full page there may be more behind it; else everything up to the first read has been
  // seen, and perhaps more.
  changed.revision = changed.jobs.size() == limit ? last : std::max(last, changed.revision);
  return changed;
}

absl::StatusOr<std::map<pb::JobState, int64_t>> ReadCounts(SqliteConnection& db,
                                                           absl::string_view tenant) {
  SqliteQuery query = db.Prepare("SELECT state, n FROM counter WHERE tenant = ? AND n > 0");
  query.Text(tenant);
  std::map<pb::JobState, int64_t> counts;
  while (true) {
    QB_ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) {
      return counts;
    }
    counts[static_cast<pb::JobState>(query.IntAt(0))] = query.IntAt(1);
  }
}

namespace {

// Where the events of a job are.
struct EventRange {
  int64_t execution = 0;
  int64_t last_seq = INT64_MAX;  // of the execution's events that the job has
  std::optional<pb::JobEvent> end;
};

absl::StatusOr<pb::JobEvent> ParseEvent(absl::string_view body, int64_t job) {
  pb::JobEvent event;
  if (!event.ParseFromArray(body.data(), static_cast<int>(body.size()))) {
    return absl::DataLossError(
        absl::StrCat("database: an event of job row ", job, " is unreadable"));
  }
  return event;
}

absl::StatusOr<EventRange> ReadEventRange(SqliteConnection& db, int64_t job) {
  SqliteQuery query = db.Prepare("SELECT execution, detached_seq, end_event FROM job WHERE id = ?");
  query.Int(job);
  QB_ASSIGN_OR_RETURN(const bool row, query.Step());
  if (!row) {
    return absl::NotFoundError(absl::StrCat("no job row ", job));
  }
  EventRange range;
  range.execution = query.IntAt(0);
  if (!query.IsNull(1)) {
    range.last_seq = query.IntAt(1);
    QB_ASSIGN_OR_RETURN(range.end, ParseEvent(query.TextAt(2), job));
  }
  return range;
}

}  // namespace

absl::StatusOr<std::vector<pb::JobEvent>> ReadEventRows(SqliteConnection& db, int64_t job,
                                                        int64_t after_seq, int max_events,
                                                        int64_t max_bytes) {
  QB_ASSIGN_OR_RETURN(EventRange range, ReadEventRange(db, job));
  SqliteQuery query = db.Prepare(
      "SELECT body FROM event WHERE execution = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?");
  query.Int(range.execution).Int(after_seq).Int(range.last_seq).Int(max_events);
  std::vector<pb::JobEvent> events;
  int64_t bytes = 0;
  while (bytes < max_bytes) {
    QB_ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) {
      break;
    }
    const absl::string_view body = query.TextAt(0);
    QB_ASSIGN_OR_RETURN(pb::JobEvent event, ParseEvent(body, job));
    bytes += static_cast<int64_t>(body.size());
    events.push_back(std::move(event));
  }
  const int64_t reached = events.empty() ? after_seq : events.back().seq();
  if (range.end.has_value() && reached == range.last_seq && bytes < max_bytes &&
      events.size() < static_cast<size_t>(max_events)) {
    events.push_back(*std::move(range.end));
  }
  return events;
}

}  // namespace qb::server
