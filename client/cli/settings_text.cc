#include "client/cli/settings_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "client/cli/printable.h"
#include "core/base/json.h"

namespace qb::client {

std::string SettingsTable(absl::string_view resolved) {
  const Json json = Json::Parse(resolved).value_or(Json());
  if (!json["settings"].is_object()) {
    return "the server names no settings\n";
  }
  std::string text;
  for (const Json& warning : json["warnings"].items()) {
    absl::StrAppend(&text, "warning: ", PrintableLine(warning.as_string()), "\n");
  }
  size_t path_width = 0, value_width = 0;
  constexpr size_t kWidestValue = 32;  // longer ones push their own origin to the right
  for (const auto& [path, setting] : json["settings"].members()) {
    path_width = std::max(path_width, path.size());
    const size_t width = setting["value"].Dump().size();
    value_width = std::max(value_width, width > kWidestValue ? 0 : width);
  }
  for (const auto& [path, setting] : json["settings"].members()) {
    absl::StrAppendFormat(&text, "%-*s  %-*s  %s\n", static_cast<int>(path_width),
                          PrintableLine(path), static_cast<int>(value_width),
                          PrintableLine(setting["value"].Dump()),
                          PrintableLine(setting["origin"].as_string()));
  }
  return text;
}

}  // namespace qb::client
