// Command-line flags: one table a command, from which parsing and help both follow.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace qb {

enum class FlagKind {
  kSwitch,     // --name
  kNegatable,  // --name and --no-name
  kValue,      // --name VALUE or --name=VALUE; the last one counts
  kRepeated,   // like kValue, all count
};

struct FlagDef {
  absl::string_view name;  // without dashes
  char letter;             // -x, or 0
  FlagKind kind;
  absl::string_view value_name;  // in the help: "FILE"; empty for switches
  absl::string_view help;
};

class ParsedFlags {
 public:
  bool Has(absl::string_view name) const { return values_.contains(std::string(name)); }
  // The last value, or "" when the flag was not given.
  std::string Get(absl::string_view name) const;
  std::vector<std::string> GetAll(absl::string_view name) const;
  // Of a switch: nothing when it was not given.
  std::optional<bool> GetSwitch(absl::string_view name) const;
  // Errors: usage, when the value is no integer in [low, high].
  absl::StatusOr<int> GetInt(absl::string_view name, int fallback, int low, int high) const;
  // "90", "90s", "5m", "2h30m". Errors: usage, when it is no duration above zero.
  absl::StatusOr<absl::Duration> GetDuration(absl::string_view name, absl::Duration fallback) const;

  const std::vector<std::string>& positionals() const { return positionals_; }

 private:
  friend absl::StatusOr<ParsedFlags> ParseFlags(absl::Span<const FlagDef> defs,
                                                absl::Span<const std::string> arguments);

  std::map<std::string, std::vector<std::string>> values_;
  std::vector<std::string> positionals_;
};

// Everything after "--" is positional. Errors: usage, naming the flag and, for one that is not
// known, the closest known ones.
absl::StatusOr<ParsedFlags> ParseFlags(absl::Span<const FlagDef> defs,
                                       absl::Span<const std::string> arguments);

// The flags with their help, one or more lines each, at most `columns` wide.
std::string FormatFlags(absl::Span<const FlagDef> defs, int columns);

// Words wrapped at `columns`, every line after the first indented by `indent`.
std::string WrapText(absl::string_view text, int columns, int indent);

}  // namespace qb
