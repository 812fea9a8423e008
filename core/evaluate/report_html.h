// The evaluation as one self-contained HTML page.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "core/base/json.h"

namespace qb {

struct HtmlReportInput {
  std::string title;       // e.g. the model's file name
  std::string target;
  Json evaluation;         // Evaluation::ToJson
  Json layers;             // list of {name, op, precision, scale, saturation, sqnr_db, ...}; may be empty
};

// Everything that comes from files is escaped; the page loads nothing.
std::string HtmlReport(const HtmlReportInput& input);

// Text for element content and attribute values.
std::string EscapeHtml(absl::string_view text);

}  // namespace qb
