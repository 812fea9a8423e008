#include "core/base/flags.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include "core/base/failure.h"
#include "core/base/spelling.h"
#include "core/base/status_macros.h"

namespace qb {
namespace {

bool TakesValue(FlagKind kind) { return kind == FlagKind::kValue || kind == FlagKind::kRepeated; }

const FlagDef* FindFlag(absl::Span<const FlagDef> defs, absl::string_view name) {
  const auto found = std::find_if(defs.begin(), defs.end(),
                                  [name](const FlagDef& def) { return def.name == name; });
  return found == defs.end() ? nullptr : &*found;
}

absl::Status UnknownFlag(absl::Span<const FlagDef> defs, absl::string_view flag) {
  std::vector<std::string> known;
  for (const FlagDef& def : defs) {
    known.push_back(absl::StrCat("--", def.name));
  }
  std::string message = absl::StrCat("unknown flag ", flag);
  if (const std::vector<std::string> similar = SimilarWords(flag, known); !similar.empty()) {
    absl::StrAppend(&message, "; did you mean ", absl::StrJoin(similar, " or "), "?");
  }
  return Failure(FailureCode::kArgumentError, message);
}

// One flag as it stands on the command line.
struct Occurrence {
  const FlagDef* def = nullptr;
  bool negated = false;
  std::optional<std::string> value;  // after '=' or glued to the letter
};

absl::StatusOr<Occurrence> ParseLong(absl::Span<const FlagDef> defs, absl::string_view argument) {
  Occurrence result;
  absl::string_view name = argument.substr(2);
  if (const size_t equals = name.find('='); equals != name.npos) {
    result.value = std::string(name.substr(equals + 1));
    name = name.substr(0, equals);
  }
  result.def = FindFlag(defs, name);
  if (result.def == nullptr && absl::StartsWith(name, "no-")) {
    result.def = FindFlag(defs, name.substr(3));
    result.negated = true;
    if (result.def != nullptr && result.def->kind != FlagKind::kNegatable) {
      result.def = nullptr;
    }
  }
  if (result.def == nullptr) {
    return UnknownFlag(defs, absl::StrCat("--", name));
  }
  return result;
}

absl::StatusOr<Occurrence> ParseShort(absl::Span<const FlagDef> defs, absl::string_view argument) {
  Occurrence result;
  for (const FlagDef& def : defs) {
    if (def.letter != 0 && def.letter == argument[1]) {
      result.def = &def;
    }
  }
  if (result.def == nullptr) {
    return UnknownFlag(defs, argument.substr(0, 2));
  }
  if (argument.size() > 2) {
    result.value = std::string(argument.substr(2));
  }
  return result;
}

bool LooksLikeFlag(absl::string_view argument) { return argument.size() > 1 && argument[0] == '-'; }

absl::StatusOr<Occurrence> ParseOccurrence(absl::Span<const FlagDef> defs,
                                           absl::string_view argument) {
  return argument[1] == '-' ? ParseLong(defs, argument) : ParseShort(defs, argument);
}

bool LacksValue(const Occurrence& occurrence) {
  return TakesValue(occurrence.def->kind) && !occurrence.value.has_value();
}

// The value of a flag that takes none: whether it stands there as itself or negated.
absl::Status SetSwitch(Occurrence& occurrence) {
  if (TakesValue(occurrence.def->kind)) {
    return absl::OkStatus();
  }
  if (occurrence.value.has_value()) {
    return Failure(FailureCode::kArgumentError,
                   absl::StrCat("--", occurrence.def->name, " takes no value"));
  }
  occurrence.value = occurrence.negated ? "false" : "true";
  return absl::OkStatus();
}

std::string FlagTitle(const FlagDef& def) {
  std::string title = def.letter != 0 ? absl::StrCat("-", std::string(1, def.letter), ", ") : "";
  absl::StrAppend(&title, def.kind == FlagKind::kNegatable ? "--[no-]" : "--", def.name);
  if (TakesValue(def.kind)) {
    absl::StrAppend(&title, " ", def.value_name);
  }
  return title;
}

}  // namespace

std::string ParsedFlags::Get(absl::string_view name) const {
  const auto found = values_.find(std::string(name));
  return found == values_.end() ? "" : found->second.back();
}

std::vector<std::string> ParsedFlags::GetAll(absl::string_view name) const {
  const auto found = values_.find(std::string(name));
  return found == values_.end() ? std::vector<std::string>() : found->second;
}

std::optional<bool> ParsedFlags::GetSwitch(absl::string_view name) const {
  if (!Has(name)) {
    return std::nullopt;
  }
  return Get(name) == "true";
}

absl::StatusOr<int> ParsedFlags::GetInt(absl::string_view name, int fallback, int low,
                                        int high) const {
  if (!Has(name)) {
    return fallback;
  }
  int value = 0;
  if (!absl::SimpleAtoi(Get(name), &value) || value < low || value > high) {
    return Failure(FailureCode::kArgumentError,
                   absl::StrCat("--", name, ": '", Get(name), "' is no whole number from ", low,
                                " to ", high));
  }
  return value;
}

absl::StatusOr<absl::Duration> ParsedFlags::GetDuration(absl::string_view name,
                                                        absl::Duration fallback) const {
  if (!Has(name)) {
    return fallback;
  }
  absl::Duration duration;
  double seconds = 0;
  if (absl::SimpleAtod(Get(name), &seconds)) {
    duration = absl::Seconds(seconds);
  } else if (!absl::ParseDuration(Get(name), &duration)) {
    duration = absl::ZeroDuration();
  }
  if (duration <= absl::ZeroDuration() || duration == absl::InfiniteDuration()) {
    return Failure(FailureCode::kArgumentError,
                   absl::StrCat("--", name, ": '", Get(name),
                                "' is no duration; accepted are 90, 90s, 5m, 2h30m"));
  }
  return duration;
}

absl::StatusOr<ParsedFlags> ParseFlags(absl::Span<const FlagDef> defs,
                                       absl::Span<const std::string> arguments) {
  ParsedFlags parsed;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--") {
      parsed.positionals_.insert(parsed.positionals_.end(), arguments.begin() + i + 1,
                                 arguments.end());
      break;
    }
    if (!LooksLikeFlag(argument)) {
      parsed.positionals_.push_back(argument);
      continue;
    }
    QB_ASSIGN_OR_RETURN(Occurrence occurrence, ParseOccurrence(defs, argument));
    const FlagDef& def = *occurrence.def;
    if (LacksValue(occurrence)) {
      if (i + 1 == arguments.size()) {
        return Failure(FailureCode::kArgumentError,
                       absl::StrCat("--", def.name, " needs a value: ", def.value_name));
      }
      occurrence.value = arguments[++i];
    }
    QB_RETURN_IF_ERROR(SetSwitch(occurrence));
    parsed.values_[std::string(def.name)].push_back(*std::move(occurrence.value));
  }
  return parsed;
}

std::string WrapText(absl::string_view text, int columns, int indent) {
  std::string result;
  int used = indent;
  for (const absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    const int size = static_cast<int>(word.size());
    if (used > indent && used + 1 + size > columns) {
      absl::StrAppend(&result, "\n", std::string(static_cast<size_t>(indent), ' '));
      used = indent;
    } else if (used > indent) {
      absl::StrAppend(&result, " ");
      ++used;
    }
    absl::StrAppend(&result, word);
    used += size;
  }
  return result;
}

std::string FormatFlags(absl::Span<const FlagDef> defs, int columns) {
  constexpr int kIndent = 6;
  std::string result;
  for (const FlagDef& def : defs) {
    absl::StrAppend(&result, "  ", FlagTitle(def), "\n", std::string(kIndent, ' '),
                    WrapText(def.help, columns, kIndent), "\n");
  }
  return result;
}

}  // namespace qb
