#include "server/service/violations.h"

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "core/base/json.h"
#include "proto/google/rpc/error_details.pb.h"
#include "server/service/status_details.h"

namespace qb::server {

namespace {

// With U+FFFD for what is no UTF-8: messages of parsers quote pieces of characters, and nobody could
// read a protobuf string with one.
std::string ValidText(absl::string_view text) {
  const absl::StatusOr<Json> clean = Json::Parse(Json(std::string(text)).Dump());
  return clean.ok() ? clean->as_string() : "a message that cannot be shown";
}

}  // namespace

void AppendViolations(const absl::Status& status, absl::string_view fallback_field,
                      std::vector<Violation>& violations) {
  if (status.ok()) {
    return;
  }
  const FailureCode code = FailureCodeOf(status);
  const std::string message = ValidText(status.message());
  for (absl::string_view line : absl::StrSplit(message, '\n', absl::SkipEmpty())) {
    const size_t colon = line.find(": ");
    const absl::string_view field = line.substr(0, colon);
    const bool has_field =
        colon != absl::string_view::npos && !field.empty() && !absl::StrContains(field, ' ');
    violations.push_back(
        has_field ? Violation{code, std::string(field), std::string(line.substr(colon + 2))}
                  : Violation{code, std::string(fallback_field), std::string(line)});
  }
}

absl::Status ViolationsStatus(const std::vector<Violation>& violations) {
  if (violations.empty()) {
    return absl::OkStatus();
  }
  std::string message;
  google::rpc::BadRequest details;
  for (const Violation& violation : violations) {
    absl::StrAppend(&message, message.empty() ? "" : "\n", violation.field, ": ",
                    violation.description);
    google::rpc::BadRequest::FieldViolation* item = details.add_field_violations();
    item->set_field(violation.field);
    item->set_description(violation.description);
    item->set_reason(std::string(FailureRowOf(violation.code).name));
  }
  absl::Status status = Failure(violations.front().code, message);
  status.SetPayload(kBadRequestPayload, absl::Cord(details.SerializeAsString()));
  return status;
}

}  // namespace qb::server
