// labels.csv: what each sample of an evaluation set shows.
#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace qb {

// Sample name (without ".npy") -> label: a class index or a text.
using Labels = std::map<std::string, std::string, std::less<>>;

// Reads "sample,label" lines: a header line with these names, fields quoted as in RFC 4180 where
// they hold commas or quotes. Errors: InvalidArgument with the line number for a malformed line or
// a sample that is listed twice.
absl::StatusOr<Labels> ParseLabels(absl::string_view text);

// Errors: ARGUMENT_ERROR naming the path.
absl::StatusOr<Labels> ReadLabels(const std::string& path);

}  // namespace qb
