#include "core/evaluate/report_html.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "core/evaluate/report_plots.h"
#include "core/evaluate/report_style.h"

namespace qb {
namespace {

constexpr size_t kPlottedLayers = 12;
constexpr size_t kShownCulprits = 8;

std::string Percent(const Json& share, int digits = 2) {
  return share.is_number() ? absl::StrFormat("%.*f %%", digits, share.as_double() * 100) : "-";
}

std::string Decibels(const Json& value, int digits = 1) {
  return value.is_number() ? absl::StrFormat("%.*f dB", digits, value.as_double()) : "-";
}

std::string Number(const Json& value) {
  return value.is_number() ? absl::StrFormat("%.4g", value.as_double()) : "-";
}

std::string Bits(const Json& value) {
  return value.is_number() ? absl::StrFormat("%.1f", value.as_double()) : "-";
}

void AppendCard(std::string& html, absl::string_view label, absl::string_view value) {
  absl::StrAppend(&html, "<div class=\"card\">", EscapeHtml(label), "<b>", EscapeHtml(value),
                  "</b></div>\n");
}

// `css`: classes of the cell, e.g. "n" of a number.
void AppendCell(std::string& html, absl::string_view text, absl::string_view css) {
  absl::StrAppend(&html, "<td", css.empty() ? "" : absl::StrCat(" class=\"", css, "\""), ">",
                  EscapeHtml(text), "</td>");
}

void AppendHead(std::string& html, const std::vector<const char*>& names, size_t texts) {
  absl::StrAppend(&html, "<div class=\"wide\"><table><tr>");
  for (size_t i = 0; i < names.size(); ++i) {
    absl::StrAppend(&html, i < texts ? "<th>" : "<th class=\"n\">", names[i], "</th>");
  }
  absl::StrAppend(&html, "</tr>\n");
}

void AppendCards(std::string& html, const Json& evaluation) {
  absl::StrAppend(&html, "<div class=\"cards\">\n");
  const auto both = [&](absl::string_view label, const char* of_float, const char* quantized) {
    if (evaluation[of_float].is_number()) {
      AppendCard(html, absl::StrCat(label, ", float"), Percent(evaluation[of_float]));
      AppendCard(html, absl::StrCat(label, ", quantized"), Percent(evaluation[quantized]));
    }
  };
  both("top-1", "float_top1", "quantized_top1");
  both("top-5", "float_top5", "quantized_top5");
  both("read without error", "float_sequence_accuracy", "quantized_sequence_accuracy");
  if (evaluation["boxes"].is_object()) {
    AppendCard(html, "boxes found again", Percent(evaluation["boxes"]["recall"]));
    AppendCard(html, "boxes, float", Number(evaluation["boxes"]["float"]));
  }
  if (!evaluation["outputs"].items().empty()) {
    const Json& first = evaluation["outputs"].items()[0];
    AppendCard(html, "agreement", Percent(first["agreement"]));
    AppendCard(html, "SQNR", Decibels(first["sqnr_db"]));
  }
  absl::StrAppend(&html, "</div>\n");
}

void AppendOutputs(std::string& html, const Json& outputs) {
  absl::StrAppend(&html, "<h2>Outputs</h2>\n");
  AppendHead(html, {"output", "SQNR", "cosine", "agreement", "largest relative error"}, 1);
  for (const Json& output : outputs.items()) {
    absl::StrAppend(&html, "<tr>");
    AppendCell(html, output["name"].as_string(), "name");
    AppendCell(html, Decibels(output["sqnr_db"], 2), "n");
    AppendCell(html, absl::StrFormat("%.6f", output["cosine"].as_double()), "n");
    AppendCell(html, Percent(output["agreement"]), "n");
    AppendCell(html, Number(output["relative_error"]), "n");
    absl::StrAppend(&html, "</tr>\n");
  }
  absl::StrAppend(&html, "</table></div>\n");
}

void AppendCulprits(std::string& html, const Json& culprits, const std::string& settings) {
  if (culprits.items().empty()) {
    return;
  }
  absl::StrAppend(&html,
                  "<h2>Where the accuracy goes</h2>\n<p class=\"sub\">The share is that of the "
                  "noise which all layers add on their own, each against its own signal: an "
                  "estimate of what the layer costs.</p>\n<ol class=\"culprits\">\n");
  for (size_t i = 0; i < std::min(kShownCulprits, culprits.items().size()); ++i) {
    const Json& culprit = culprits.items()[i];
    absl::StrAppend(&html, "<li class=\"panel\"><span class=\"share\">",
                    Percent(culprit["noise_share"], 0), "</span><div><b class=\"name\">",
                    EscapeHtml(culprit["layer"].as_string()), "</b><br>",
                    EscapeHtml(culprit["reason"].as_string()));
    if (!culprit["setting"].as_string().empty()) {
      absl::StrAppend(&html, "<br><span class=\"soft\">try</span> <code>",
                      EscapeHtml(culprit["setting"].as_string()), ": ",
                      EscapeHtml(culprit["value"].Dump()), "</code>");
    }
    absl::StrAppendFormat(&html,
                          "</div><div class=\"track\"><div style=\"width:%.1f%%\"></div></div>"
                          "</li>\n",
                          std::clamp(culprit["noise_share"].as_double(), 0.0, 1.0) * 100);
  }
  absl::StrAppend(&html, "</ol>\n");
  if (!settings.empty()) {
    absl::StrAppend(&html,
                    "<details><summary>All suggestions as settings, for "
                    "<code>--compile-config</code></summary><div class=\"panel\"><pre>",
                    EscapeHtml(settings), "</pre></div></details>\n");
  }
}

std::vector<const Json*> WorstFirst(const Json& layers) {
  std::vector<const Json*> rows;
  for (const Json& layer : layers.items()) {
    rows.push_back(&layer);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Json* a, const Json* b) {
    return (*a)["sqnr_db"].as_double() < (*b)["sqnr_db"].as_double();
  });
  return rows;
}

void AppendHistograms(std::string& html, const std::vector<const Json*>& rows) {
  std::string plots;
  for (size_t i = 0; i < std::min(kPlottedLayers, rows.size()); ++i) {
    const Json& layer = *rows[i];
    const std::string plot = HistogramPlot(layer);
    if (!plot.empty()) {
      absl::StrAppend(&plots, "<div class=\"panel\"><h3>", EscapeHtml(layer["name"].as_string()),
                      "</h3><p class=\"soft\">", EscapeHtml(layer["op"].as_string()),
                      ", <span class=\"nb\">single ", Decibels(layer["sqnr_db"]),
                      "</span>, <span class=\"nb\">saturated ",
                      Percent(layer["saturation_share"], 3),
                      "</span>, <span class=\"nb\">dead codes ",
                      Percent(layer["dead_code_share"], 0),
                      "</span>, <span class=\"nb\">effective bits ", Bits(layer["effective_bits"]),
                      "</span></p>\n", plot, "</div>\n");
    }
  }
  if (!plots.empty()) {
    absl::StrAppend(
        &html,
        "<h2>Values of the worst layers</h2>\n<p class=\"sub\">Counts on a logarithmic "
        "scale. Dashed lines: the least and the most value that a code stands for; what "
        "lies beyond is clipped.</p>\n<div class=\"plots\">\n",
        plots, "</div>\n");
  }
}

void AppendLayerTable(std::string& html, const std::vector<const Json*>& rows) {
  absl::StrAppend(&html,
                  "<h2>Layers, worst first</h2>\n<p class=\"sub\">Rounding: its values as its own "
                  "codes. Dead codes: never taken. Effective bits: the entropy of those taken, 8 where all "
                  "come equally often. Coherent: the share of the error up to here "
                  "that shifts whole channels.</p>\n");
  AppendHead(html,
             {"layer", "op", "bits", "weights", "single", "cosine", "entire", "cosine", "rounding",
              "saturated", "dead codes", "effective bits", "coherent"},
             2);
  for (const Json* row : rows) {
    const Json& layer = *row;
    const double single = layer["sqnr_db"].as_double(),
                 entire = layer["entire_sqnr_db"].as_double();
    absl::StrAppend(&html, "<tr>");
    AppendCell(html, layer["name"].as_string(), "name");
    AppendCell(html, layer["op"].as_string(), "");
    AppendCell(html, Number(layer["activation_bits"]), "n");
    AppendCell(html, Number(layer["weight_bits"]), "n");
    AppendCell(html, Decibels(layer["sqnr_db"]), absl::StrCat("n ", MarkOf(single)));
    AppendCell(html, absl::StrFormat("%.6f", layer["cosine"].as_double()), "n");
    AppendCell(html, Decibels(layer["entire_sqnr_db"]), absl::StrCat("n ", MarkOf(entire)));
    AppendCell(html, absl::StrFormat("%.6f", layer["entire_cosine"].as_double()), "n");
    AppendCell(html, Decibels(layer["rounding_db"]), "n");
    AppendCell(html, Percent(layer["saturation_share"], 3), "n");
    AppendCell(html, Percent(layer["dead_code_share"], 0), "n");
    AppendCell(html, Bits(layer["effective_bits"]), "n");
    AppendCell(html, Percent(layer["bias_share"], 0), "n");
    absl::StrAppend(&html, "</tr>\n");
  }
  absl::StrAppend(&html, "</table></div>\n");
}

void AppendLayerSections(std::string& html, const Json& evaluation) {
  const Json& layers = evaluation["layers"];
  if (layers.items().empty()) {
    return;
  }
  absl::StrAppend(
      &html,
      "<h2>Through the network</h2>\n<p class=\"sub\">SQNR in dB, in the order of execution. "
      "<span class=\"key\" style=\"background:var(--bar)\"></span>single: this layer alone is "
      "quantized<span class=\"key\" style=\"background:var(--weak)\"></span>below ",
      absl::StrFormat("%.0f dB", kWeakDb),
      "<span class=\"key\" style=\"background:var(--bad)\"></span>below ",
      absl::StrFormat("%.0f dB", kBadDb),
      "<span class=\"key\" style=\"background:var(--entire)\"></span>entire: everything up to "
      "here</p>\n<div class=\"panel\">",
      SqnrPlot(layers), "</div>\n");
  const std::vector<const Json*> rows = WorstFirst(layers);
  AppendHistograms(html, rows);
  AppendLayerTable(html, rows);
}

// Every member with a plain value, in the order of the first layer that has it.
std::vector<std::string> ColumnsOf(const Json& layers) {
  std::vector<std::string> columns;
  for (const Json& layer : layers.items()) {
    for (const auto& [key, value] : layer.members()) {
      const bool scalar = !value.is_array() && !value.is_object();
      if (scalar && std::find(columns.begin(), columns.end(), key) == columns.end()) {
        columns.push_back(key);
      }
    }
  }
  return columns;
}

// What the compile said, as it stands in the executable.
void AppendReport(std::string& html, const Json& layers) {
  if (layers.items().empty()) {
    return;
  }
  const std::vector<std::string> columns = ColumnsOf(layers);
  absl::StrAppend(&html, "<details><summary>Report of the compile, layer by layer</summary>\n",
                  "<div class=\"wide\"><table><tr>");
  for (const std::string& column : columns) {
    absl::StrAppend(&html, "<th>", EscapeHtml(column), "</th>");
  }
  absl::StrAppend(&html, "</tr>\n");
  for (const Json& layer : layers.items()) {
    absl::StrAppend(&html, "<tr>");
    for (const std::string& column : columns) {
      const Json& value = layer[column];
      AppendCell(html,
                 value.is_string()   ? value.as_string()
                 : value.is_null()   ? ""
                 : value.is_number() ? Number(value)
                                     : value.Dump(),
                 value.is_number() ? "n" : "");
    }
    absl::StrAppend(&html, "</tr>\n");
  }
  absl::StrAppend(&html, "</table></div></details>\n");
}

}  // namespace

std::string HtmlReport(const HtmlReportInput& input) {
  const Json& evaluation = input.evaluation;
  std::string html = absl::StrCat(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
      EscapeHtml(input.title), "</title>\n<style>", kReportStyle, "</style></head><body>\n<h1>",
      EscapeHtml(input.title), "</h1>\n<p class=\"sub\">float model against the executable for ",
      EscapeHtml(input.target), " on the bit-exact simulator, ", evaluation["samples"].as_int(),
      " samples</p>\n");
  AppendCards(html, evaluation);
  AppendOutputs(html, evaluation["outputs"]);
  AppendCulprits(html, evaluation["culprits"], input.settings_yaml);
  AppendLayerSections(html, evaluation);
  AppendReport(html, input.layers);
  absl::StrAppend(&html, "</body></html>\n");
  return html;
}

}  // namespace qb
