// The plots of the HTML report as inline SVG; the classes are those of report_style.h.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

#include "core/base/json.h"

namespace qb {

// Text for element content and attribute values.
std::string EscapeHtml(absl::string_view text);

// Below these a layer is marked: noise of 3 % and of 18 % of the signal's amplitude.
inline constexpr double kWeakDb = 30.0, kBadDb = 15.0;
// "", "weak" or "bad".
absl::string_view MarkOf(double sqnr_db);

// `layers` as LayerMetrics::ToJson, in execution order: a bar for what each keeps on its own, a
// line for what is left up to there. Empty without layers.
std::string SqnrPlot(const Json& layers);

// The values of one layer on a logarithmic scale, with lines where its codes end. Empty when the
// layer has no histogram.
std::string HistogramPlot(const Json& layer);

}  // namespace qb
