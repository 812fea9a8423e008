#include "server/http/job_query.h"

#include <google/protobuf/util/time_util.h>

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"

namespace qb::server {
namespace {

absl::Status ReadTime(const HttpRequest& request, absl::string_view name,
                      qbc::v1::JobFilter& filter,
                      google::protobuf::Timestamp* (qbc::v1::JobFilter::*field)()) {
  const std::string text = request.Query(name);
  if (text.empty()) {
    return absl::OkStatus();
  }
  return google::protobuf::util::TimeUtil::FromString(text, (filter.*field)())
             ? absl::OkStatus()
             : absl::InvalidArgumentError(
                   absl::StrCat(name, ": expected a time such as 2026-05-31T12:00:00Z"));
}

}  // namespace

absl::StatusOr<int64_t> ParseNumber(const HttpRequest& request, absl::string_view name,
                                    int64_t fallback) {
  const std::string text = request.Query(name);
  int64_t value = fallback;
  if (!text.empty() && !absl::SimpleAtoi(text, &value)) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": expected an integer"));
  }
  return value;
}

absl::StatusOr<qbc::v1::ListJobsRequest> ParseJobQuery(const HttpRequest& request) {
  qbc::v1::ListJobsRequest list;
  qbc::v1::JobFilter& filter = *list.mutable_filter();
  for (const std::string& text : request.QueryAll("state")) {
    qbc::v1::JobState state = qbc::v1::JOB_STATE_UNSPECIFIED;
    if (!qbc::v1::JobState_Parse(absl::StrCat("JOB_STATE_", absl::AsciiStrToUpper(text)), &state) ||
        state == qbc::v1::JOB_STATE_UNSPECIFIED) {
      return absl::InvalidArgumentError(
          "state: expected queued, running, retry_wait, cancelling, succeeded, failed, cancelled "
          "or expired");
    }
    filter.add_states(state);
  }
  filter.set_target_device(request.Query("target"));
  QB_RETURN_IF_ERROR(
      ReadTime(request, "created_after", filter, &qbc::v1::JobFilter::mutable_created_after));
  QB_RETURN_IF_ERROR(
      ReadTime(request, "created_before", filter, &qbc::v1::JobFilter::mutable_created_before));
  QB_ASSIGN_OR_RETURN(const int64_t size, ParseNumber(request, "page_size", 0));
  if (size < 0 || size > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError("page_size: out of range");
  }
  list.set_page_size(static_cast<int32_t>(size));
  list.set_page_token(request.Query("page_token"));
  return list;
}

}  // namespace qb::server
