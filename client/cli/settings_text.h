// The resolved settings of a job as a table for a person.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace qb::client {

// A line a setting: its path, its value as JSON and where that came from; the warnings of the
// resolution come first. `resolved` is Job.resolved_config_json; a text that is none gives one line
// that says so.
std::string SettingsTable(absl::string_view resolved);

}  // namespace qb::client
