#include "client/cli/follow.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "client/cli/exit_code.h"
#include "client/cli/printable.h"
#include "client/cpp/watch.h"
#include "core/base/status_macros.h"
#include "proto/qbc/v1/job_service.pb.h"

namespace qb::client {
namespace {

// How long a cancelled job may take to end before qbc stops waiting for it.
constexpr absl::Duration kCancelWait = absl::Seconds(60);

absl::StatusOr<qbc::v1::Job> GetJob(Connection& connection, const std::string& job_id) {
  qbc::v1::GetJobRequest request;
  request.set_job_id(job_id);
  return connection.GetJob(request);
}

absl::Status Watch(Session& session, Connection& connection, const std::string& job_id,
                   int64_t* seq, absl::Duration timeout) {
  WatchOptions options;
  options.job_id = job_id;
  options.after_seq = *seq;
  options.deadline = absl::Now() + timeout;
  options.retry = session.environment().retry;
  options.on_lost = [&session](const absl::Status& why, absl::Duration delay) {
    session.view().OnRetry(why, delay);
  };
  return WatchToEnd(connection, options, [&](const qbc::v1::JobEvent& event) {
    *seq = event.seq();
    session.view().OnEvent(job_id, event);
  });
}

absl::StatusOr<qbc::v1::Job> CancelAndWait(Session& session, const std::string& job_id,
                                           int64_t seq) {
  session.view().Warn("cancelling the job");
  QB_ASSIGN_OR_RETURN(const std::unique_ptr<Connection> connection, session.NewPatientConnection());
  qbc::v1::CancelJobRequest request;
  request.set_job_id(job_id);
  request.set_reason("interrupted by the user of qbc");
  QB_RETURN_IF_ERROR(connection->CancelJob(request).status());
  QB_RETURN_IF_ERROR(Watch(session, *connection, job_id, &seq, kCancelWait));
  return GetJob(*connection, job_id);
}

// The user's name for what to type next.
absl::StatusOr<qbc::v1::Job> Detach(Session& session, const std::string& job_id, int64_t seq) {
  const Interruption& interruption = *session.environment().interruption;
  session.view().Clear();
  const int seconds =
      static_cast<int>(absl::ToInt64Seconds(session.environment().second_interrupt_window));
  session.view().Warn(absl::StrCat("interrupted; the job goes on. Press Ctrl-C again within ",
                                   seconds, " s to cancel it"));
  if (interruption.WaitForCount(2, session.environment().second_interrupt_window)) {
    return CancelAndWait(session, job_id, seq);
  }
  return WithExitCode(absl::CancelledError(absl::StrCat("detached from job ", job_id,
                                                        "; come back with: qbc watch ", job_id)),
                      kExitInterrupted);
}

}  // namespace

absl::StatusOr<qbc::v1::Job> FollowJob(Session& session, const std::string& job_id,
                                       int64_t after_seq, absl::Duration timeout) {
  QB_ASSIGN_OR_RETURN(Connection * connection, session.connection());
  int64_t seq = after_seq;
  const absl::Status status = Watch(session, *connection, job_id, &seq, timeout);
  session.view().Clear();
  if (session.environment().interruption->raised() && !status.ok()) {
    return Detach(session, job_id, seq);
  }
  if (status.code() == absl::StatusCode::kDeadlineExceeded) {
    return WithExitCode(absl::DeadlineExceededError(absl::StrCat(
                            "job ", job_id, " has not ended after ", FormatElapsed(timeout),
                            "; it goes on. Come back with: qbc watch ", job_id)),
                        kExitWaitTimeout);
  }
  QB_RETURN_IF_ERROR(status);
  return GetJob(*connection, job_id);
}

}  // namespace qb::client
