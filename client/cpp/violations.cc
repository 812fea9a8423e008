#include "client/cpp/violations.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "proto/google/rpc/error_details.pb.h"

namespace qb::client {
namespace {

// The type's name in google.rpc.Status.details: what a stub attaches under that name is found here.
constexpr char kPayload[] = "type.googleapis.com/google.rpc.BadRequest";

}  // namespace

std::vector<qbc::v1::FieldViolation> ViolationsOf(const absl::Status& status) {
  std::vector<qbc::v1::FieldViolation> violations;
  google::rpc::BadRequest details;
  const auto payload = status.GetPayload(kPayload);
  if (!payload.has_value() || !details.ParseFromString(std::string(*payload))) {
    return violations;
  }
  for (const auto& item : details.field_violations()) {
    qbc::v1::FieldViolation& violation = violations.emplace_back();
    violation.set_field(item.field());
    violation.set_description(item.description());
    violation.set_reason(item.reason());
  }
  return violations;
}

absl::Status ViolationsError(const std::vector<qbc::v1::FieldViolation>& violations) {
  QB_CHECK(!violations.empty());
  google::rpc::BadRequest details;
  std::string message = violations.front().reason();
  for (const qbc::v1::FieldViolation& violation : violations) {
    absl::StrAppend(&message, details.field_violations().empty() ? ": " : "\n", violation.field(),
                    ": ", violation.description());
    auto* item = details.add_field_violations();
    item->set_field(violation.field());
    item->set_description(violation.description());
    item->set_reason(violation.reason());
  }
  absl::Status status = absl::InvalidArgumentError(message);
  status.SetPayload(kPayload, absl::Cord(details.SerializeAsString()));
  return status;
}

}  // namespace qb::client
