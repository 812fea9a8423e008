#include <algorithm>
#include <array>
#include <map>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/package/graph_onnx_names.h"
#include "core/package/mblt.h"
#include "core/package/mxq.h"
#include "worker/qbcompiler/command.h"
#include "worker/qbcompiler/commands/compile_flags.h"
#include "worker/qbcompiler/commands/model_choice.h"

namespace qb::worker {
namespace {

constexpr auto kFlags = std::to_array<FlagDef>(
    {kMbltFlag, kMxqFlag, {"json", 0, FlagKind::kSwitch, "", "JSON instead of a table"}});

std::string Reasons(const Json& row) {
  std::vector<std::string> reasons;
  for (const Json& reason : row["reasons"].items()) {
    reasons.push_back(reason.as_string());
  }
  return absl::StrJoin(reasons, "; ");
}

// One row a layer: name, op, shape, where it runs and why not on the NPU.
absl::StatusOr<Json> LayersOfMblt(const std::string& path) {
  QB_ASSIGN_OR_RETURN(const MbltFile file, ReadMblt(path));
  std::map<std::string, const Json*> support;
  for (const Json& row : file.manifest["support"].items()) {
    support[row["name"].as_string()] = &row;
  }
  Json layers = Json::Array();
  for (const Node* node : file.graph.TopologicalOrder()) {
    if (node->is_constant() || node->op() == OpKind::kOutput) {
      continue;
    }
    Json row = Json::Object();
    row.Set("name", node->name()).Set("op", FileOpType(*node));
    row.Set("shape", node->shape().ToString()).Set("dtype", DTypeName(node->type().dtype));
    const auto found = support.find(node->name());
    row.Set("device", found == support.end() ? Json() : (*found->second)["device"]);
    row.Set("reasons", found == support.end() ? Json::Array() : (*found->second)["reasons"]);
    layers.Append(std::move(row));
  }
  return layers;
}

std::string MbltTable(const Json& layers) {
  std::string text = absl::StrFormat("%-32s %-22s %-18s %s\n", "layer", "op", "shape", "runs on");
  for (const Json& row : layers.items()) {
    const std::string reasons = Reasons(row);
    absl::StrAppendFormat(&text, "%-32s %-22s %-18s %s%s\n", row["name"].as_string(),
                          row["op"].as_string(), row["shape"].as_string(),
                          row["device"].as_string(),
                          reasons.empty() ? "" : absl::StrCat(": ", reasons));
  }
  return text;
}

// The quantized layers, then those that the CPU runs.
Json LayersOfMxq(const Json& report) {
  Json layers = report["layers"];
  for (const Json& row : report["support"].items()) {
    if (row["device"].as_string() == "cpu") {
      layers.Append(row);
    }
  }
  return layers;
}

std::string MxqTable(const Json& layers) {
  std::string text = absl::StrFormat("%-32s %-22s %-6s %5s %12s %6s %10s\n", "layer", "op", "on",
                                     "bits", "scale", "zero", "saturated");
  for (const Json& row : layers.items()) {
    if (row["device"].as_string() == "cpu") {
      absl::StrAppendFormat(&text, "%-32s %-22s %-6s float: %s\n", row["name"].as_string(),
                            row["op"].as_string(), "cpu", Reasons(row));
      continue;
    }
    const std::string bits = row["weight_bits"].is_int()
                                 ? absl::StrFormat("w%da%d", row["weight_bits"].as_int(),
                                                   row["activation_bits"].as_int())
                                 : absl::StrFormat("a%d", row["activation_bits"].as_int());
    absl::StrAppendFormat(&text, "%-32s %-22s %-6s %5s %12.6g %6d %9.4f%%\n",
                          row["name"].as_string(), row["op"].as_string(), row["device"].as_string(),
                          bits, row["scale"].as_double(), row["zero_point"].as_int(),
                          row["saturation_share"].as_double() * 100);
  }
  return text;
}

absl::Status Run(CommandContext& context) {
  const std::string mblt = context.flags.Get("mblt");
  const std::string mxq = context.flags.Get("mxq");
  if (mblt.empty() == mxq.empty()) {
    return Failure(FailureCode::kArgumentError, "give exactly one of --mblt and --mxq");
  }
  Json layers;
  std::string text;
  if (!mblt.empty()) {
    QB_ASSIGN_OR_RETURN(layers, LayersOfMblt(mblt));
    text = MbltTable(layers);
  } else {
    QB_ASSIGN_OR_RETURN(const std::unique_ptr<MxqFile> file, MxqFile::Open(mxq));
    layers = LayersOfMxq(file->report());
    text = MxqTable(layers);
  }
  context.reporter.Result(Json::Object().Set("layers", layers),
                          context.flags.Has("json") ? layers.Dump(2) + "\n" : text);
  return absl::OkStatus();
}

}  // namespace

const Command& LayersCommand() {
  static constexpr Command kCommand = {
      "layers", "every layer of an .mblt or .mxq",
      "Prints each layer with its operator, shape, where it runs and, of an executable, its "
      "precision and scale. Names are the ones that settings by layer take. Example: "
      "qbcompiler layers --mxq m.mxq",
      kFlags, Run};
  return kCommand;
}

}  // namespace qb::worker
