#include "core/compiler/extract_body.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/package/mblt.h"
#include "core/partition/part_graph.h"
#include "core/partition/partition.h"

namespace qb {
namespace {

// The NPU part with the most products in the manifest's list, or null.
const Json* LargestNpuPart(const Json& subgraphs) {
  const Json* largest = nullptr;
  for (const Json& part : subgraphs.items()) {
    if (part["device"].as_string() == "npu" &&
        (largest == nullptr || part["macs"].as_int() > (*largest)["macs"].as_int())) {
      largest = &part;
    }
  }
  return largest;
}

// The rows of the layers that stay.
Json SupportOf(const Json& support, const Graph& graph) {
  Json rows = Json::Array();
  for (const Json& row : support.items()) {
    if (graph.FindNode(row["name"].as_string()) != nullptr) {
      rows.Append(row);
    }
  }
  return rows;
}

absl::StatusOr<Graph> BodyGraph(const MbltFile& file, const Json& part) {
  std::vector<std::string> layers;
  for (const Json& layer : part["layers"].items()) {
    layers.push_back(layer.as_string());
  }
  absl::StatusOr<GraphPart> body = PartOfLayers(file.graph, layers);
  if (!body.ok()) {
    return Failure(FailureCode::kModelParseError,
                   absl::StrCat("the list of subgraphs is damaged: ", body.status().message()));
  }
  return CutOutGraph(file.graph, {file.graph.name(), body->inputs, body->outputs});
}

}  // namespace

absl::StatusOr<CompileResult> ExtractBody(const std::string& mblt_path,
                                          const std::string& output_path) {
  QB_ASSIGN_OR_RETURN(MbltFile file, ReadMblt(mblt_path));
  Json manifest = Json::Object();
  manifest.Set("target", file.manifest["target"]);
  manifest.Set("provenance", file.manifest["provenance"]);
  if (const Json* part = LargestNpuPart(file.manifest["subgraphs"]); part != nullptr) {
    QB_ASSIGN_OR_RETURN(const Graph body, BodyGraph(file, *part));
    manifest.Set("support", SupportOf(file.manifest["support"], body));
    manifest.Set("extracted", Json::Object()
                                  .Set("part", (*part)["name"])
                                  .Set("inputs", (*part)["inputs"])
                                  .Set("outputs", (*part)["outputs"]));
    QB_RETURN_IF_ERROR(WriteMblt(output_path, body, manifest));
  } else {
    manifest.Set("support", file.manifest["support"]);
    QB_RETURN_IF_ERROR(WriteMblt(output_path, file.graph, manifest));
  }
  CompileResult result;
  QB_ASSIGN_OR_RETURN(OutputFile output, DescribeOutput(output_path));
  result.outputs.push_back(std::move(output));
  result.device = "cpu";
  result.report = Json::Object();
  return result;
}

}  // namespace qb
