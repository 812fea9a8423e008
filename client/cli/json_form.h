// Jobs and events as JSON: the machine-readable form that --json prints. docs/cli.md describes it.
#pragma once

#include "core/base/json.h"
#include "proto/qbc/v1/event.pb.h"
#include "proto/qbc/v1/job.pb.h"
#include "proto/qbc/v1/job_service.pb.h"

namespace qb::client {

// Fields that are not set are left out. "config" and "result" are embedded JSON, not strings.
Json JobToJson(const qbc::v1::Job& job);

// {"type":"event","job_id":..,"seq":..,"time":..,"attempt":..,"kind":"progress",...fields of the
// kind}
Json EventToJson(const qbc::v1::JobEvent& event, absl::string_view job_id);

// {"field":"calibration.mode","description":..,"code":"CONFIG_ERROR"}
Json ViolationToJson(const qbc::v1::FieldViolation& violation);

// "succeeded" for JOB_STATE_SUCCEEDED.
std::string StateName(qbc::v1::JobState state);
// JOB_STATE_UNSPECIFIED when there is no such state.
qbc::v1::JobState StateFromName(absl::string_view name);

// RFC 3339 in UTC with milliseconds.
std::string FormatTime(const google::protobuf::Timestamp& time);

}  // namespace qb::client
