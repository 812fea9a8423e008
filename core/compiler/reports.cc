#include "core/compiler/reports.h"

#include <utility>

#include "core/compiler/version.h"
#include "core/ops/op_def.h"

namespace qb {
namespace {

// What an application must know to feed one input or read one output.
Json Border(const integer::TensorInfo& tensor) {
  Json json = Json::Object();
  json.Set("name", tensor.name).Set("dtype", DTypeName(tensor.dtype));
  Json shape = Json::Array();
  for (const int64_t dim : tensor.shape) {
    shape.Append(Json(dim));
  }
  json.Set("shape", std::move(shape)).Set("layout", "source");
  if (tensor.dtype == DType::kInt8 || tensor.dtype == DType::kInt16) {
    json.Set("scale", static_cast<double>(tensor.scale));
    json.Set("zero_point", static_cast<int64_t>(tensor.zero_point));
  }
  return json;
}

Json Borders(const std::vector<integer::TensorInfo>& tensors, const std::vector<Json>& contracts) {
  Json list = Json::Array();
  for (size_t i = 0; i < tensors.size(); ++i) {
    Json border = Border(tensors[i]);
    if (i < contracts.size()) {
      for (const auto& [key, value] : contracts[i].members()) {
        border.Set(key, value);
      }
    }
    list.Append(std::move(border));
  }
  return list;
}

Json PlanSummary(const npu::NpuProgram& program) {
  return Json::Object()
      .Set("samples", program.samples)
      .Set("arena_bytes", program.memory.peak_bytes)
      .Set("arena_lower_bound_bytes", program.memory.lower_bound_bytes)
      .Set("estimated_cycles", program.estimate.cycles)
      .Set("macs", program.estimate.macs)
      .Set("dma_bytes", program.estimate.dma_bytes)
      .Set("halo_bytes", program.estimate.halo_bytes)
      .Set("gather_bytes", program.estimate.gather_bytes);
}

}  // namespace

Json SupportSummary(const SupportReport& support) {
  Json list = Json::Array();
  for (const NodeSupport& row : support.nodes) {
    Json reasons = Json::Array();
    for (const std::string& reason : row.reasons) {
      reasons.Append(Json(reason));
    }
    list.Append(Json::Object()
                    .Set("name", row.node->name())
                    .Set("op", OpDefOf(row.node->op()).name)
                    .Set("shape", row.node->shape().ToString())
                    .Set("device", row.npu() ? "npu" : "cpu")
                    .Set("reasons", std::move(reasons)));
  }
  return list;
}

Json MxqManifest(const MbltFile& mblt, const std::vector<npu::NpuProgram>& programs,
                 const TargetSpec& target, const std::vector<CoreMode>& modes,
                 const std::vector<Json>& contracts) {
  Json manifest = Json::Object();
  manifest.Set("compiler", Json::Object()
                               .Set("name", "qbcompiler")
                               .Set("version", CompilerVersion())
                               .Set("commit", CompilerCommit()));
  manifest.Set(
      "machine",
      "abstract machine of this compiler (docs/abstract-machine.md); runs on its simulator, "
      "not on vendor silicon");
  manifest.Set("target", target.name).Set("target_data", target.data);
  Json names = Json::Array();
  Json plans = Json::Object();
  for (size_t i = 0; i < modes.size(); ++i) {
    names.Append(Json(CoreModeName(modes[i])));
    plans.Set(CoreModeName(modes[i]), PlanSummary(programs[i]));
  }
  manifest.Set("core_modes", std::move(names));
  manifest.Set("inputs", Borders(programs[0].inputs, contracts))
      .Set("outputs", Borders(programs[0].outputs, {}));
  manifest.Set("plan", PlanSummary(programs[0])).Set("plans", std::move(plans));
  manifest.Set("mblt", mblt.manifest);
  return manifest;
}

void SetGraphBorders(const Graph& graph, const std::vector<Json>& contracts, Json& manifest) {
  std::vector<integer::TensorInfo> inputs, outputs;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const Node& input = *graph.inputs()[i];
    const bool bytes = contracts[i].contains("codes");
    inputs.push_back({input.name(), bytes ? DType::kUint8 : input.type().dtype, input.shape()});
  }
  for (const Node* output : graph.outputs()) {
    outputs.push_back({output->name(), output->type().dtype, output->shape()});
  }
  manifest.Set("inputs", Borders(inputs, contracts)).Set("outputs", Borders(outputs, {}));
}

Json MxqReport(const QuantizedModel& model, const SupportReport& support, const Json& accuracy) {
  Json layers = Json::Array();
  for (const LayerReport& layer : model.layers) {
    Json row = Json::Object();
    row.Set("name", layer.name).Set("op", layer.op).Set("device", "npu");
    row.Set("activation_bits", layer.activation_bits);
    if (layer.weight_bits > 0) {
      row.Set("weight_bits", layer.weight_bits);
      row.Set("smallest_weight_scale", static_cast<double>(layer.smallest_weight_scale));
      row.Set("largest_weight_scale", static_cast<double>(layer.largest_weight_scale));
      row.Set("largest_bias_shift", layer.largest_bias_shift);
      if (layer.trained_loss_share != 1.0) {
        row.Set("trained_loss_share", layer.trained_loss_share);
      }
      if (layer.refined_error_share != 1.0) {
        row.Set("refined_error_share", layer.refined_error_share);
      }
    }
    row.Set("scale", static_cast<double>(layer.scale));
    row.Set("zero_point", static_cast<int64_t>(layer.zero_point));
    row.Set("threshold", layer.threshold).Set("largest_seen", layer.largest_seen);
    row.Set("saturation_share", layer.saturation_share);
    if (!layer.note.empty()) {
      row.Set("note", layer.note);
    }
    layers.Append(std::move(row));
  }
  return Json::Object()
      .Set("calibration_samples", model.calibration_samples)
      .Set("bias_correction_samples", model.bias_correction_samples)
      .Set("check", accuracy)
      .Set("layers", std::move(layers))
      .Set("support", SupportSummary(support));
}

}  // namespace qb
