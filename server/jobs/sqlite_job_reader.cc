#include "server/jobs/sqlite_job_reader.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/status_macros.h"

namespace qb::server {
namespace {

// The column numbers below count in this list. A macro, because statements are kept by their
// literal.
#define QB_JOB_COLUMNS                                                                  \
  "SELECT job.uid, job.state, job.created_ms, e.started_ms, e.finished_ms, e.attempt, " \
  "e.spec, e.progress, e.failure, e.result_json, e.usage, e.last_seq, e.worker, "       \
  "e.compiler_build, e.wait_reason, job.id, e.id, e.resolved_config "                   \
  "FROM job JOIN execution AS e ON e.id = job.execution "

constexpr int kRowColumn = 15;
constexpr int kExecutionColumn = 16;
constexpr int kConfigColumn = 17;

void SetTime(int64_t ms, google::protobuf::Timestamp* time) {
  time->set_seconds(ms / 1000);
  time->set_nanos(static_cast<int32_t>(ms % 1000) * 1'000'000);
}

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
  job.mutable_spec()->clear_model();
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

void SetTimes(const SqliteQuery& query, pb::Job& job) {
  SetTime(query.IntAt(2), job.mutable_create_time());
  if (!query.IsNull(3)) {
    SetTime(query.IntAt(3), job.mutable_start_time());
  }
  if (!query.IsNull(4)) {
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

// The columns that hold a serialized message.
absl::Status ParseMessages(const SqliteQuery& query, pb::Job& job) {
  QB_RETURN_IF_ERROR(ParseColumn(query, 6, *job.mutable_spec()));
  QB_RETURN_IF_ERROR(ParseIfThere(query, 7, job, &pb::Job::mutable_progress));
  QB_RETURN_IF_ERROR(ParseIfThere(query, 8, job, &pb::Job::mutable_failure));
  return ParseIfThere(query, 10, job, &pb::Job::mutable_usage);
}

absl::StatusOr<pb::Job> JobOfRow(SqliteConnection& db, const SqliteQuery& query) {
  pb::Job job;
  job.set_id(std::string(query.TextAt(0)));
  job.set_state(static_cast<pb::JobState>(query.IntAt(1)));
  SetTimes(query, job);
  job.set_attempt_count(static_cast<int32_t>(query.IntAt(5)));
  QB_RETURN_IF_ERROR(ParseMessages(query, job));
  job.set_result_json(std::string(query.TextAt(9)));
  job.set_last_event_seq(query.IntAt(11));
  job.set_worker_id(std::string(query.TextAt(12)));
  job.set_compiler_build(std::string(query.TextAt(13)));
  job.set_wait_reason(std::string(query.TextAt(14)));
  job.set_resolved_config_json(std::string(query.TextAt(kConfigColumn)));
  QB_RETURN_IF_ERROR(ReadArtifacts(db, query.IntAt(kExecutionColumn), job));
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

absl::StatusOr<pb::Job> ReadJobOfExecution(SqliteConnection& db, int64_t execution) {
  SqliteQuery query = db.Prepare(QB_JOB_COLUMNS "WHERE job.execution = ? ORDER BY job.id LIMIT 1");
  query.Int(execution);
  QB_ASSIGN_OR_RETURN(const bool row, query.Step());
  return row ? JobOfRow(db, query) : NoSuchJob(absl::StrCat("of execution ", execution));
}

absl::StatusOr<JobPosition> ReadPosition(SqliteConnection& db, absl::string_view tenant,
                                         absl::string_view job_id) {
  SqliteQuery query = db.Prepare(
      "SELECT e.id, job.state, e.last_seq, e.attempt FROM job "
      "JOIN execution AS e ON e.id = job.execution WHERE job.uid = ? AND job.tenant = ?");
  query.Text(job_id).Text(tenant);
  QB_ASSIGN_OR_RETURN(const bool row, query.Step());
  if (!row) {
    return NoSuchJob(job_id);
  }
  JobPosition position;
  position.execution = query.IntAt(0);
  position.state = static_cast<pb::JobState>(query.IntAt(1));
  position.last_event_seq = query.IntAt(2);
  position.attempt_count = static_cast<int32_t>(query.IntAt(3));
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

absl::StatusOr<JobPage> ReadPage(SqliteConnection& db, const JobQuery& query) {
  std::string sql = absl::StrCat(QB_JOB_COLUMNS, "WHERE job.tenant = ?");
  if (query.before_row > 0) {
    absl::StrAppend(&sql, " AND job.id < ", query.before_row);
  }
  if (!query.states.empty()) {
    absl::StrAppend(&sql, " AND job.state IN (",
                    absl::StrJoin(query.states, ",",
                                  [](std::string* out, pb::JobState state) {
                                    absl::StrAppend(out, static_cast<int>(state));
                                  }),
                    ")");
  }
  if (query.created_after_ms.has_value()) {
    absl::StrAppend(&sql, " AND job.created_ms > ", *query.created_after_ms);
  }
  if (query.created_before_ms.has_value()) {
    absl::StrAppend(&sql, " AND job.created_ms < ", *query.created_before_ms);
  }
  if (!query.target_device.empty()) {
    absl::StrAppend(&sql, " AND job.target = ?");
  }
  // One row more than asked for tells whether there is a next page.
  absl::StrAppend(&sql, " ORDER BY job.id DESC LIMIT ", query.limit + 1);
  SqliteQuery rows = db.PrepareOnce(sql);
  rows.Text(query.tenant);
  if (!query.target_device.empty()) {
    rows.Text(query.target_device);
  }
  JobPage page;
  int64_t last_row = 0;
  while (true) {
    QB_ASSIGN_OR_RETURN(const bool row, rows.Step());
    if (!row) {
      return page;
    }
    if (page.jobs.size() == static_cast<size_t>(query.limit)) {
      page.next_before_row = last_row;
      return page;
    }
    last_row = rows.IntAt(kRowColumn);
    QB_ASSIGN_OR_RETURN(pb::Job job, JobOfRow(db, rows));
    if (!query.full) {
      KeepBasics(job);
    }
    page.jobs.push_back(std::move(job));
  }
}

absl::StatusOr<std::vector<pb::JobEvent>> ReadEventRows(SqliteConnection& db, int64_t execution,
                                                        int64_t after_seq, int max_events,
                                                        int64_t max_bytes) {
  SqliteQuery query = db.Prepare(
      "SELECT seq, body FROM event WHERE execution = ? AND seq > ? ORDER BY seq LIMIT ?");
  query.Int(execution).Int(after_seq).Int(max_events);
  std::vector<pb::JobEvent> events;
  int64_t bytes = 0;
  while (bytes < max_bytes) {
    QB_ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) {
      break;
    }
    const absl::string_view body = query.TextAt(1);
    pb::JobEvent event;
    if (!event.ParseFromArray(body.data(), static_cast<int>(body.size()))) {
      return absl::DataLossError(absl::StrCat("database: event ", query.IntAt(0), " of execution ",
                                              execution, " is unreadable"));
    }
    bytes += static_cast<int64_t>(body.size());
    events.push_back(std::move(event));
  }
  return events;
}

}  // namespace qb::server
