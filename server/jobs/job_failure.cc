#include "server/jobs/job_failure.h"

#include <string>

namespace qb::server {
namespace {

constexpr int kMaxDetails = 32;
constexpr size_t kMaxDetailBytes = 1024;

FailureCode KnownCode(const qbc::v1::JobFailure& reported) {
  for (const FailureRow& row : AllFailures()) {
    if (row.code != FailureCode::kNone && static_cast<int>(row.code) == reported.reason()) {
      return row.code;
    }
  }
  const FailureCode by_name = FailureCodeFromName(reported.reason_name());
  return by_name == FailureCode::kNone ? FailureCode::kInternalError : by_name;
}

}  // namespace

absl::string_view CutUtf8(absl::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) {
    return text;
  }
  size_t end = max_bytes;
  // A byte 10xxxxxx continues the character before it.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) {
    --end;
  }
  return text.substr(0, end);
}

qbc::v1::JobFailure MakeFailure(FailureCode code, absl::string_view message) {
  const FailureRow& row = FailureRowOf(code);
  qbc::v1::JobFailure failure;
  failure.set_reason(static_cast<qbc::v1::FailureReason>(code));
  failure.set_reason_name(std::string(row.name));
  failure.set_message(std::string(CutUtf8(message, kMaxFailureMessageBytes)));
  failure.set_hint(std::string(row.hint));
  failure.set_retryable(row.retryable);
  return failure;
}

qbc::v1::JobFailure NormalizeFailure(const qbc::v1::JobFailure& reported) {
  qbc::v1::JobFailure failure = MakeFailure(KnownCode(reported), reported.message());
  int kept = 0;
  for (const auto& [key, value] : reported.details()) {
    if (++kept > kMaxDetails) {
      break;
    }
    (*failure.mutable_details())[std::string(CutUtf8(key, kMaxDetailBytes))] =
        std::string(CutUtf8(value, kMaxDetailBytes));
  }
  return failure;
}

}  // namespace qb::server
