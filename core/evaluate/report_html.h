// The evaluation as one self-contained HTML page.
#pragma once

#include <string>

#include "core/base/json.h"

namespace qb {

struct HtmlReportInput {
  std::string title;  // e.g. the model's file name
  std::string target;
  // Evaluation::ToJson; with layers also layers (LayerMetrics::ToJson each) and culprits
  // (Culprit::ToJson each).
  Json evaluation;
  std::string settings_yaml;  // what the culprits suggest, as a config file has it; may be empty
  Json layers;  // the executable's own report: {name, op, scale, saturation_share, ...} each
};

// Everything that comes from files is escaped; the page loads nothing and runs no script.
std::string HtmlReport(const HtmlReportInput& input);

}  // namespace qb
