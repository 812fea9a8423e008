// qbc status: what the server is and can do.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "client/cli/command.h"
#include "client/cli/exit_code.h"
#include "client/cli/printable.h"
#include "core/base/status_macros.h"
#include "proto/qbc/v1/server_info.pb.h"

namespace qb::client {
namespace {

Json ToJson(const qbc::v1::GetCapabilitiesResponse& capabilities) {
  Json targets = Json::Array();
  for (const std::string& target : capabilities.targets()) {
    targets.Append(target);
  }
  Json workers = Json::Array();
  for (const qbc::v1::WorkerSummary& worker : capabilities.workers()) {
    workers.Append(Json::Object()
                       .Set("id", worker.worker_id())
                       .Set("compiler_build", worker.compiler_build())
                       .Set("slots", worker.slots())
                       .Set("busy_slots", worker.busy_slots())
                       .Set("gpu", worker.has_gpu())
                       .Set("draining", worker.draining()));
  }
  return Json::Object()
      .Set("type", "status")
      .Set("api_version", capabilities.api_version())
      .Set("server_version", capabilities.server_version())
      .Set("targets", std::move(targets))
      .Set("workers", std::move(workers))
      .Set("worker_count", capabilities.worker_count())
      .Set("max_blob_bytes", capabilities.limits().max_blob_bytes())
      .Set("max_queued_jobs", capabilities.limits().max_queued_jobs());
}

std::string ToText(const qbc::v1::GetCapabilitiesResponse& capabilities) {
  std::string text =
      absl::StrCat("server:  ", PrintableLine(capabilities.server_version()), ", API ",
                   PrintableLine(capabilities.api_version()), "\n",
                   "targets: ", PrintableLine(absl::StrJoin(capabilities.targets(), ", ")), "\n");
  if (capabilities.worker_count() > 0 && capabilities.workers().empty()) {
    absl::StrAppend(&text, "workers: ", capabilities.worker_count(), " connected\n");
  } else if (capabilities.workers().empty()) {
    absl::StrAppend(&text, "workers: none is connected; jobs wait\n");
  }
  for (const qbc::v1::WorkerSummary& worker : capabilities.workers()) {
    absl::StrAppend(&text, "worker:  ", PrintableLine(worker.worker_id()), ", ",
                    worker.busy_slots(), " of ", worker.slots(), " slots busy, compiler ",
                    PrintableLine(worker.compiler_build()), worker.has_gpu() ? ", gpu" : "",
                    worker.draining() ? ", draining" : "", "\n");
  }
  return text;
}

absl::StatusOr<int> RunStatus(const ParsedFlags& flags, Session& session) {
  if (!flags.positionals().empty()) {
    return UsageError("status takes no argument");
  }
  QB_ASSIGN_OR_RETURN(Connection * connection, session.connection());
  QB_ASSIGN_OR_RETURN(const qbc::v1::GetCapabilitiesResponse capabilities,
                      connection->GetCapabilities());
  if (session.json()) {
    session.Answer(ToJson(capabilities));
  } else {
    session.AnswerText(ToText(capabilities));
  }
  return kExitOk;
}

}  // namespace

const Command& StatusCommand() {
  static const Command command = {
      .name = "status",
      .usage = "status",
      .summary = "Show the server's version, targets and workers",
      .help = "",
      .flags = {},
      .run = RunStatus,
  };
  return command;
}

}  // namespace qb::client
