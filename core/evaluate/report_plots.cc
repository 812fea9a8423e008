#include "core/evaluate/report_plots.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace qb {
namespace {

// Of the plot over all layers, in units of the SVG.
constexpr double kWidth = 1100, kHeight = 300, kLeft = 36, kTop = 10, kBottom = 20;
constexpr double kMostDb = 70;  // beyond it nobody looks

double HeightOf(double db) {
  const double share = std::clamp(db, 0.0, kMostDb) / kMostDb;
  return kTop + (kHeight - kTop - kBottom) * (1 - share);
}

void AppendGrid(std::string& svg) {
  for (int db = 0; db <= static_cast<int>(kMostDb); db += 10) {
    const double y = HeightOf(db);
    absl::StrAppendFormat(&svg,
                          "<line class=\"%s\" x1=\"%.0f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\"/>"
                          "<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%d</text>\n",
                          db == 0 ? "axis" : "grid", kLeft, kWidth, y, y, kLeft - 6, y + 4, db);
  }
}

std::string LayerText(const Json& layer) {
  return absl::StrFormat("%s (%s): single %.1f dB, entire %.1f dB",
                         EscapeHtml(layer["name"].as_string()), EscapeHtml(layer["op"].as_string()),
                         layer["sqnr_db"].as_double(), layer["entire_sqnr_db"].as_double());
}

// Of a histogram.
constexpr double kPlotWidth = 340, kPlotHeight = 120, kPlotBase = 100;

// The bins that a histogram shows: those with values and those of the codes.
struct Shown {
  size_t first, end;
};
Shown ShownBins(const std::vector<Json>& counts) {
  Shown shown{counts.size() / 4, counts.size() - counts.size() / 4};
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i].as_double() > 0) {
      shown.first = std::min(shown.first, i);
      shown.end = std::max(shown.end, i + 1);
    }
  }
  return shown;
}

void AppendClippingLine(double x, double value, bool low, std::string& svg) {
  absl::StrAppendFormat(&svg,
                        "<line class=\"clip\" x1=\"%.1f\" x2=\"%.1f\" y1=\"4\" y2=\"%.0f\"/>"
                        "<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"%s\">%.4g</text>\n",
                        x, x, kPlotBase, x, kPlotBase + 14, low ? "start" : "end", value);
}

}  // namespace

std::string EscapeHtml(absl::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out.append("&amp;");
        break;
      case '<':
        out.append("&lt;");
        break;
      case '>':
        out.append("&gt;");
        break;
      case '"':
        out.append("&quot;");
        break;
      case '\'':
        out.append("&#39;");
        break;
      default:
        out.push_back(c);
    }
  }
  return out;
}

absl::string_view MarkOf(double sqnr_db) {
  return sqnr_db < kBadDb ? "bad" : sqnr_db < kWeakDb ? "weak" : "";
}

std::string SqnrPlot(const Json& layers) {
  const std::vector<Json>& rows = layers.items();
  if (rows.empty()) {
    return "";
  }
  std::string svg = absl::StrFormat(
      "<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"SQNR of each layer\">\n", kWidth,
      kHeight);
  AppendGrid(svg);
  const double pitch = (kWidth - kLeft) / static_cast<double>(rows.size());
  const double width = std::clamp(pitch * 0.75, 0.6, 26.0);
  std::string line;
  for (size_t i = 0; i < rows.size(); ++i) {
    const double middle = kLeft + (static_cast<double>(i) + 0.5) * pitch;
    const double single = rows[i]["sqnr_db"].as_double();
    const double top = HeightOf(single);
    absl::StrAppendFormat(
        &svg,
        "<rect class=\"b %s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">"
        "<title>%s</title></rect>\n",
        MarkOf(single), middle - width / 2, top, width, HeightOf(0) - top, LayerText(rows[i]));
    absl::StrAppendFormat(&line, "%.1f,%.1f ", middle,
                          HeightOf(rows[i]["entire_sqnr_db"].as_double()));
  }
  absl::StrAppendFormat(&svg,
                        "<polyline class=\"entire\" points=\"%s\"/>\n"
                        "<text x=\"%.0f\" y=\"%.0f\">first layer</text>"
                        "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">last layer</text></svg>\n",
                        line, kLeft, kHeight - 5, kWidth, kHeight - 5);
  return svg;
}

std::string HistogramPlot(const Json& layer) {
  const std::vector<Json>& counts = layer["histogram"]["counts"].items();
  const std::vector<Json>& range = layer["histogram"]["range"].items();
  const std::vector<Json>& codes = layer["code_range"].items();
  if (counts.empty() || range.size() != 2 || codes.size() != 2) {
    return "";
  }
  const Shown shown = ShownBins(counts);
  double most = 1;
  for (const Json& count : counts) {
    most = std::max(most, count.as_double());
  }
  const double width = kPlotWidth / static_cast<double>(shown.end - shown.first);
  std::string svg = absl::StrFormat(
      "<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"histogram of values\">\n",
      kPlotWidth, kPlotHeight);
  for (size_t i = shown.first; i < shown.end; ++i) {
    const double share = std::log1p(counts[i].as_double()) / std::log1p(most);
    const double height = share * (kPlotBase - 8);
    // The codes are the middle half.
    const bool out = i < counts.size() / 4 || i >= counts.size() - counts.size() / 4;
    if (height > 0) {
      absl::StrAppendFormat(
          &svg, "<rect class=\"b%s\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\"/>\n",
          out ? " out" : "", static_cast<double>(i - shown.first) * width, kPlotBase - height,
          std::max(0.8, width - 0.5), height);
    }
  }
  absl::StrAppendFormat(&svg,
                        "<line class=\"axis\" x1=\"0\" x2=\"%.0f\" y1=\"%.0f\" y2=\"%.0f\"/>\n",
                        kPlotWidth, kPlotBase, kPlotBase);
  const double low = range[0].as_double();
  const double unit =
      static_cast<double>(counts.size()) / std::max(1e-300, range[1].as_double() - low) * width;
  const auto place = [&](double value) {
    return std::clamp((value - low) * unit - static_cast<double>(shown.first) * width, 0.5,
                      kPlotWidth - 0.5);
  };
  AppendClippingLine(place(codes[0].as_double()), codes[0].as_double(), true, svg);
  AppendClippingLine(place(codes[1].as_double()), codes[1].as_double(), false, svg);
  if (codes[0].as_double() < 0 && codes[1].as_double() > 0) {
    absl::StrAppendFormat(&svg, "<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">0</text>\n",
                          place(0), kPlotBase + 14);
  }
  return svg + "</svg>\n";
}

}  // namespace qb
