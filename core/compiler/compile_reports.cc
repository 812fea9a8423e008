#include "core/compiler/compile_reports.h"

#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/atomic_file.h"
#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/config/compile_config.h"
#include "core/evaluate/culprits.h"
#include "core/evaluate/layer_evaluation.h"
#include "core/evaluate/report_html.h"
#include "core/evaluate/staged_model.h"
#include "core/ops/op_def.h"
#include "core/package/mxq.h"
#include "core/partition/work.h"

namespace qb {
namespace {

constexpr int64_t kLayerSamples = 4;

std::map<std::string, const Json*> ByName(const Json& rows) {
  std::map<std::string, const Json*> found;
  for (const Json& row : rows.items()) {
    found[row["name"].as_string()] = &row;
  }
  return found;
}

void CopyFields(const std::map<std::string, const Json*>& rows, const Node& node,
                std::initializer_list<const char*> fields, Json& layer) {
  const auto found = rows.find(node.name());
  if (found == rows.end()) {
    return;
  }
  for (const char* field : fields) {
    if (found->second->contains(field)) {
      layer.Set(field, (*found->second)[field]);
    }
  }
}

const char* BorderOf(const Node& node) {
  switch (node.op()) {
    case OpKind::kInput:
      return "input";
    case OpKind::kOutput:
      return "output";
    default:
      return nullptr;
  }
}

void AddDevice(const Node& node, const NodeSupport* support, Json& layer) {
  if (const char* border = BorderOf(node); border != nullptr) {
    layer.Set("device", border);
    return;
  }
  layer.Set("device", support == nullptr || support->npu() ? "npu" : "cpu");
  if (support != nullptr && !support->npu()) {
    Json reasons = Json::Array();
    for (const std::string& reason : support->reasons) {
      reasons.Append(reason);
    }
    layer.Set("reasons", std::move(reasons));
  }
}

Json Indices(const Node& node, const std::map<const Node*, int64_t>& numbers) {
  Json inputs = Json::Array();
  for (const Node* operand : node.operands()) {
    if (const auto found = numbers.find(operand); found != numbers.end()) {
      inputs.Append(found->second);
    }
  }
  return inputs;
}

struct LayerFigures {
  Json layers = Json::Array();    // LayerMetrics
  Json culprits = Json::Array();  // Culprit
  std::string settings_yaml;
};

// Empty where the executable has no single network.
absl::StatusOr<LayerFigures> MeasureLayers(const ReportInput& input, Phases& phases) {
  QB_ASSIGN_OR_RETURN(const std::unique_ptr<MxqFile> file, MxqFile::Open(input.mxq_path));
  std::vector<Shape> shapes;
  if (file->sizes().size() > 1) {
    for (const Node* node : input.graph->inputs()) {
      shapes.push_back(node->shape());
    }
  }
  QB_ASSIGN_OR_RETURN(const Executable executable,
                      OpenExecutable(*file, input.core_mode, input.threads, shapes));
  LayerFigures figures;
  if (executable.network == nullptr) {
    return figures;
  }
  QB_ASSIGN_OR_RETURN(std::vector<LayerMetrics> layers,
                      EvaluateLayers({*input.graph, *executable.network}, *input.samples,
                                     {input.threads, kLayerSamples, input.bytes, input.folded},
                                     phases, phases.cancel()));
  AddLayerFacts(*input.graph, (*input.report)["layers"], layers);
  for (const LayerMetrics& layer : layers) {
    figures.layers.Append(layer.ToJson());
  }
  const std::vector<Culprit> culprits = FindCulprits(layers);
  for (const Culprit& culprit : culprits) {
    figures.culprits.Append(culprit.ToJson());
  }
  if (const Json settings = SuggestedSettings(culprits); !settings.members().empty()) {
    figures.settings_yaml = JsonToYaml(settings);
  }
  return figures;
}

absl::StatusOr<OutputFile> WriteReport(const std::string& folder, absl::string_view name,
                                       absl::string_view text) {
  const std::string path = absl::StrCat(folder, "/", name);
  QB_RETURN_IF_ERROR(
      WithFailureCode(WriteFileAtomically(path, text), FailureCode::kOutputWriteError));
  return DescribeOutput(path);
}

}  // namespace

Json GraphJson(const Graph& graph, const SupportReport& support, const Json& report,
               const Json& figures) {
  std::map<const Node*, const NodeSupport*> supports;
  for (const NodeSupport& row : support.nodes) {
    supports[row.node] = &row;
  }
  const auto quantized = ByName(report["layers"]);
  const auto measured = ByName(figures);
  std::map<const Node*, int64_t> numbers;
  Json layers = Json::Array();
  for (const Node* node : graph.TopologicalOrder()) {
    if (node->is_constant()) {
      continue;
    }
    Json shape = Json::Array();
    for (const int64_t dim : node->shape()) {
      shape.Append(dim);
    }
    Json layer = Json::Object();
    layer.Set("name", node->name()).Set("op", OpDefOf(node->op()).name);
    const auto found = supports.find(node);
    AddDevice(*node, found == supports.end() ? nullptr : found->second, layer);
    layer.Set("inputs", Indices(*node, numbers))
        .Set("shape", std::move(shape))
        .Set("dtype", DTypeName(node->type().dtype));
    if (const int64_t macs = MacsOf(*node); macs > 0) {
      layer.Set("macs", macs);
    }
    if (layer["device"].as_string() == "npu") {
      CopyFields(
          quantized, *node,
          {"activation_bits", "weight_bits", "scale", "zero_point", "saturation_share", "note"},
          layer);
      CopyFields(measured, *node, {"sqnr_db", "entire_sqnr_db"}, layer);
    }
    numbers.emplace(node, static_cast<int64_t>(numbers.size()));
    layers.Append(std::move(layer));
  }
  return Json::Object()
      .Set("format", "qbc-graph")
      .Set("version", "1.0")
      .Set("name", graph.name())
      .Set("layers", std::move(layers));
}

absl::StatusOr<std::vector<OutputFile>> WriteReports(const ReportInput& input, Phases& phases) {
  QB_RETURN_IF_ERROR(phases.Begin("report"));
  absl::StatusOr<LayerFigures> figures = MeasureLayers(input, phases);
  if (!figures.ok()) {
    QB_RETURN_IF_ERROR(phases.Begin("report"));  // CANCELLED, if that is why
    phases.OnLog(LogLevel::kWarning, "report",
                 absl::StrCat("no figures of single layers: ", figures.status().message()));
    figures = LayerFigures();
  }
  const Json graph = GraphJson(*input.graph, *input.support, *input.report, figures->layers)
                         .Set("target", input.target);
  HtmlReportInput page;
  page.title = input.graph->name();
  page.target = input.target;
  page.evaluation = (*input.report)["check"];
  page.evaluation.Set("layers", figures->layers).Set("culprits", figures->culprits);
  page.settings_yaml = figures->settings_yaml;
  page.layers = (*input.report)["layers"];
  std::vector<OutputFile> outputs;
  const std::pair<const char*, std::string> files[] = {
      {"graph.json", graph.Dump() + "\n"},
      {"report.html", HtmlReport(page)},
      {"report.json", input.report->Dump(1) + "\n"}};
  for (const auto& [name, text] : files) {
    QB_ASSIGN_OR_RETURN(OutputFile output, WriteReport(input.folder, name, text));
    outputs.push_back(std::move(output));
  }
  return outputs;
}

}  // namespace qb
