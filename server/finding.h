// What a look at a set-up finds: the lines of --check-config and of `qbc-server doctor`.
#pragma once

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace qb::server {

enum class FindingKind {
  kGood,
  kNote,     // works; somebody should know
  kProblem,  // the server cannot start, or does not keep what it promises
};

struct Finding {
  FindingKind kind = FindingKind::kGood;
  std::string subject;  // a flag or a short name: "--tls-cert", "sync"
  std::string text;     // what was found; for a problem also what is accepted
};

// Collects findings in order.
class Findings {
 public:
  void Good(std::string subject, std::string text) {
    list_.push_back({FindingKind::kGood, std::move(subject), std::move(text)});
  }
  void Note(std::string subject, std::string text) {
    list_.push_back({FindingKind::kNote, std::move(subject), std::move(text)});
  }
  void Problem(std::string subject, std::string text) {
    list_.push_back({FindingKind::kProblem, std::move(subject), std::move(text)});
  }
  // A problem when `status` is an error; a message that names its flag first ("--listen: ...") is
  // told under that name. Returns whether it is OK.
  bool Check(const std::string& subject, const absl::Status& status);

  const std::vector<Finding>& list() const { return list_; }
  int problems() const;
  // One line each: kind, subject, text.
  void Print(std::ostream& out) const;

 private:
  std::vector<Finding> list_;
};

}  // namespace qb::server
