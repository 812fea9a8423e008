#include "server/finding.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"

namespace qb::server {
namespace {

const char* NameOf(FindingKind kind) {
  switch (kind) {
    case FindingKind::kGood:
      return "good";
    case FindingKind::kNote:
      return "note";
    case FindingKind::kProblem:
      return "problem";
  }
  return "problem";
}

}  // namespace

bool Findings::Check(const std::string& subject, const absl::Status& status) {
  if (status.ok()) {
    return true;
  }
  const std::string message(status.message());
  const size_t colon = message.find(": ");
  if (absl::StartsWith(message, "--") && colon != std::string::npos) {
    Problem(message.substr(0, colon), message.substr(colon + 2));
  } else {
    Problem(subject, message);
  }
  return false;
}

int Findings::problems() const {
  return static_cast<int>(std::count_if(list_.begin(), list_.end(), [](const Finding& finding) {
    return finding.kind == FindingKind::kProblem;
  }));
}

void Findings::Print(std::ostream& out) const {
  for (const Finding& finding : list_) {
    out << absl::StrFormat("%-8s %-18s %s\n", NameOf(finding.kind), finding.subject, finding.text);
  }
}

}  // namespace qb::server
