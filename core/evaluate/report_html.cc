#include "core/evaluate/report_html.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace qb {
namespace {

constexpr char kStyle[] = R"(
:root { color-scheme: light dark; --line: #8884; --bar: #3a7bd5; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; margin: 0; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
p.sub { color: #777; margin: .2rem 0 1.5rem; }
.cards { display: flex; flex-wrap: wrap; gap: 1rem; }
.card { border: 1px solid var(--line); border-radius: .5rem; padding: .6rem 1rem; min-width: 9rem; }
.card b { display: block; font-size: 1.4rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); }
.track { background: var(--line); border-radius: .2rem; height: .7rem; min-width: 6rem; }
.track div { background: var(--bar); border-radius: .2rem; height: 100%; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
)";

std::string Percent(const Json& share) {
  return share.is_number() ? absl::StrFormat("%.2f %%", share.as_double() * 100) : "-";
}

std::string Number(const Json& value, const char* unit) {
  return value.is_number() ? absl::StrFormat("%.4g%s", value.as_double(), unit) : "-";
}

void AppendCard(std::string& html, absl::string_view label, absl::string_view value) {
  absl::StrAppend(&html, "<div class=\"card\">", EscapeHtml(label), "<b>", EscapeHtml(value),
                  "</b></div>\n");
}

void AppendCell(std::string& html, absl::string_view text, bool number) {
  absl::StrAppend(&html, number ? "<td class=\"n\">" : "<td>", EscapeHtml(text), "</td>");
}

void AppendOutputs(std::string& html, const Json& outputs) {
  absl::StrAppend(
      &html,
      "<h2>Outputs</h2><div class=\"wide\"><table><tr><th>output</th><th "
      "class=\"n\">SQNR</th><th class=\"n\">cosine</th><th class=\"n\">agreement</th><th "
      "class=\"n\">largest relative error</th></tr>\n");
  for (const Json& output : outputs.items()) {
    absl::StrAppend(&html, "<tr>");
    AppendCell(html, output["name"].as_string(), false);
    AppendCell(html, absl::StrFormat("%.2f dB", output["sqnr_db"].as_double()), true);
    AppendCell(html, absl::StrFormat("%.6f", output["cosine"].as_double()), true);
    AppendCell(html, Percent(output["agreement"]), true);
    AppendCell(html, Number(output["relative_error"], ""), true);
    absl::StrAppend(&html, "</tr>\n");
  }
  absl::StrAppend(&html, "</table></div>\n");
}

// Bars of what each layer keeps on its own, the worst first.
void AppendWorstLayers(std::string& html, const Json& layers) {
  constexpr double kWholeBarDb = 60.0;  // beyond it nobody looks
  std::vector<const Json*> rows;
  for (const Json& layer : layers.items()) {
    rows.push_back(&layer);
  }
  if (rows.empty()) {
    return;
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Json* a, const Json* b) {
    return (*a)["sqnr_db"].as_double() < (*b)["sqnr_db"].as_double();
  });
  absl::StrAppend(&html,
                  "<h2>Where the accuracy goes</h2><p class=\"sub\">Single: only this layer "
                  "quantized. Entire: everything before it too. Worst first.</p><div "
                  "class=\"wide\"><table><tr><th>layer</th><th>op</th><th class=\"n\">bits</th><th "
                  "class=\"n\">single</th><th></th><th class=\"n\">entire</th><th "
                  "class=\"n\">cosine</th><th class=\"n\">saturated</th></tr>\n");
  for (const Json* row : rows) {
    const double single = (*row)["sqnr_db"].as_double();
    absl::StrAppend(&html, "<tr>");
    AppendCell(html, (*row)["name"].as_string(), false);
    AppendCell(html, (*row)["op"].as_string(), false);
    AppendCell(html, absl::StrCat((*row)["activation_bits"].as_int()), true);
    AppendCell(html, absl::StrFormat("%.1f dB", single), true);
    absl::StrAppendFormat(&html,
                          "<td><div class=\"track\"><div style=\"width:%.1f%%\"></div></div></td>",
                          std::clamp(single / kWholeBarDb, 0.0, 1.0) * 100);
    AppendCell(html, absl::StrFormat("%.1f dB", (*row)["entire_sqnr_db"].as_double()), true);
    AppendCell(html, absl::StrFormat("%.6f", (*row)["cosine"].as_double()), true);
    AppendCell(html, Percent((*row)["saturation_share"]), true);
    absl::StrAppend(&html, "</tr>\n");
  }
  absl::StrAppend(&html, "</table></div>\n");
}

void AppendLayers(std::string& html, const Json& layers) {
  if (layers.items().empty()) {
    return;
  }
  std::vector<std::string> columns;
  for (const Json& layer : layers.items()) {
    for (const auto& [key, value] : layer.members()) {
      const bool scalar = !value.is_array() && !value.is_object();
      if (scalar && std::find(columns.begin(), columns.end(), key) == columns.end()) {
        columns.push_back(key);
      }
    }
  }
  absl::StrAppend(&html, "<h2>Layers</h2><div class=\"wide\"><table><tr>");
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
                 : value.is_number() ? Number(value, "")
                                     : value.Dump(),
                 value.is_number());
    }
    absl::StrAppend(&html, "</tr>\n");
  }
  absl::StrAppend(&html, "</table></div>\n");
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

std::string HtmlReport(const HtmlReportInput& input) {
  const Json& evaluation = input.evaluation;
  std::string html = absl::StrCat(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
      EscapeHtml(input.title), "</title>\n<style>", kStyle, "</style></head><body>\n<h1>",
      EscapeHtml(input.title), "</h1>\n<p class=\"sub\">float model against the executable for ",
      EscapeHtml(input.target), " on the bit-exact simulator, ", evaluation["samples"].as_int(),
      " samples</p>\n<div class=\"cards\">\n");
  if (evaluation["float_top1"].is_number()) {
    AppendCard(html, "top-1, float", Percent(evaluation["float_top1"]));
    AppendCard(html, "top-1, quantized", Percent(evaluation["quantized_top1"]));
    AppendCard(html, "top-5, float", Percent(evaluation["float_top5"]));
    AppendCard(html, "top-5, quantized", Percent(evaluation["quantized_top5"]));
  }
  if (evaluation["float_sequence_accuracy"].is_number()) {
    AppendCard(html, "read without error, float", Percent(evaluation["float_sequence_accuracy"]));
    AppendCard(html, "read without error, quantized",
               Percent(evaluation["quantized_sequence_accuracy"]));
  }
  if (!evaluation["outputs"].items().empty()) {
    const Json& first = evaluation["outputs"].items()[0];
    AppendCard(html, "agreement", Percent(first["agreement"]));
    AppendCard(html, "SQNR", absl::StrFormat("%.1f dB", first["sqnr_db"].as_double()));
  }
  absl::StrAppend(&html, "</div>\n");
  AppendOutputs(html, evaluation["outputs"]);
  AppendWorstLayers(html, evaluation["layers"]);
  AppendLayers(html, input.layers);
  absl::StrAppend(&html, "</body></html>\n");
  return html;
}

}  // namespace qb
