#include "client/cli/job_text.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "client/cli/json_form.h"
#include "client/cli/printable.h"

namespace qb::client {
namespace {

absl::Time ToTime(const google::protobuf::Timestamp& time) {
  return absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
}

// How long the job has been or was running; "" before it started.
std::string RunTime(const qbc::v1::Job& job, absl::Time now) {
  if (!job.has_start_time()) {
    return "";
  }
  const absl::Time end = job.has_finish_time() ? ToTime(job.finish_time()) : now;
  return FormatElapsed(std::max(end - ToTime(job.start_time()), absl::ZeroDuration()));
}

std::string Detail(const qbc::v1::Job& job) {
  if (job.has_failure()) {
    return PrintableLine(job.failure().reason_name());
  }
  if (!job.wait_reason().empty()) {
    return PrintableLine(job.wait_reason());
  }
  if (job.cache_hit()) {
    return "stored result";
  }
  if (job.state() == qbc::v1::JOB_STATE_RUNNING && job.has_progress()) {
    return absl::StrFormat("%s %.0f %%", PrintableLine(job.progress().phase()),
                           job.progress().fraction() * 100.0);
  }
  return "";
}

// How much longer the server keeps an ended job: "pinned", "29 d", "5 h"; "" of others.
std::string KeptFor(const qbc::v1::Job& job, absl::Time now) {
  if (job.pinned()) {
    return "pinned";
  }
  if (!job.has_expire_time()) {
    return "";
  }
  const absl::Duration left = ToTime(job.expire_time()) - now;
  if (left <= absl::ZeroDuration()) {
    return "expired";
  }
  return left >= absl::Hours(48)      ? absl::StrCat(left / absl::Hours(24), " d")
         : left >= absl::Minutes(120) ? absl::StrCat(left / absl::Hours(1), " h")
                                      : absl::StrCat(left / absl::Minutes(1), " min");
}

void AddLine(std::string& block, absl::string_view key, absl::string_view value) {
  if (!value.empty()) {
    absl::StrAppendFormat(&block, "%-15s %s\n", absl::StrCat(key, ":"), value);
  }
}

}  // namespace

std::string SharedWork(const qbc::v1::Job& job) {
  return job.cache_hit() ? "a stored result of the same work"
         : job.joined()  ? "joined the same work of another job"
                         : "";
}

std::string KeptUntil(const qbc::v1::Job& job) {
  return job.pinned()            ? "until it is unpinned"
         : job.has_expire_time() ? absl::StrCat("until ", FormatTime(job.expire_time()))
                                 : "";
}

std::string JobBlock(const qbc::v1::Job& job) {
  std::string block;
  AddLine(block, "id", PrintableLine(job.id()));
  AddLine(block, "state", StateName(job.state()));
  AddLine(block, "waits for", PrintableLine(job.wait_reason()));
  AddLine(block, "target", PrintableLine(job.spec().target_device()));
  AddLine(block, "model", PrintableLine(job.spec().model().main()));
  AddLine(block, "created", job.has_create_time() ? FormatTime(job.create_time()) : "");
  AddLine(block, "started", job.has_start_time() ? FormatTime(job.start_time()) : "");
  AddLine(block, "finished", job.has_finish_time() ? FormatTime(job.finish_time()) : "");
  AddLine(block, "ran for", job.has_finish_time() ? RunTime(job, absl::InfinitePast()) : "");
  AddLine(block, "kept", KeptUntil(job));
  AddLine(block, "shared", SharedWork(job));
  AddLine(block, "attempts", absl::StrCat(job.attempt_count()));
  AddLine(block, "worker", PrintableLine(job.worker_id()));
  AddLine(block, "compiler", PrintableLine(job.compiler_build()));
  if (job.has_progress()) {
    AddLine(block, "progress",
            absl::StrFormat("%s, %.0f %%", PrintableLine(job.progress().phase()),
                            job.progress().fraction() * 100.0));
  }
  if (job.has_failure()) {
    AddLine(block, "failure", PrintableLine(job.failure().reason_name()));
    AddLine(block, "message", Printable(job.failure().message()));
    AddLine(block, "hint", PrintableLine(job.failure().hint()));
  }
  for (const qbc::v1::Artifact& artifact : job.artifacts()) {
    AddLine(block, "result",
            absl::StrCat(PrintableLine(artifact.name()), ", ", FormatBytes(artifact.size_bytes()),
                         ", sha256 ", PrintableLine(artifact.sha256())));
  }
  if (job.usage().peak_rss_bytes() > 0) {
    AddLine(block, "peak memory", FormatBytes(job.usage().peak_rss_bytes()));
  }
  return block;
}

std::string JobTable(const std::vector<qbc::v1::Job>& jobs, absl::Time now) {
  constexpr size_t kColumns = 7;
  std::vector<std::array<std::string, kColumns>> rows = {
      {"ID", "STATE", "TARGET", "CREATED", "TIME", "KEPT", "DETAIL"}};
  for (const qbc::v1::Job& job : jobs) {
    rows.push_back({PrintableLine(job.id()), StateName(job.state()),
                    PrintableLine(job.spec().target_device()),
                    job.has_create_time() ? FormatTime(job.create_time()) : "", RunTime(job, now),
                    KeptFor(job, now), Detail(job)});
  }
  std::array<size_t, kColumns> widths = {};
  for (const auto& row : rows) {
    for (size_t i = 0; i < kColumns; ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string table;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < kColumns; ++i) {
      absl::StrAppend(&line, row[i], std::string(widths[i] - row[i].size() + 2, ' '));
    }
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&table, line, "\n");
  }
  return table;
}

}  // namespace qb::client
