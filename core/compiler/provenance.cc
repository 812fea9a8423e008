#include "core/compiler/provenance.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/string_view.h"

#include "core/compiler/version.h"

namespace qb {

Json MakeProvenance(const ImportedModel& model, const std::string& backend,
                    const std::map<std::string, Shape>& input_shapes, const std::string& target,
                    const CompileConfig& config) {
  const char* setting = std::getenv("QBCOMPILER_PROVENANCE");
  if (setting != nullptr && absl::string_view(setting) == "0") {
    return Json();
  }
  Json provenance = Json::Object();
  provenance.Set("compiler", Json::Object()
                                 .Set("name", "qbcompiler")
                                 .Set("version", CompilerVersion())
                                 .Set("commit", CompilerCommit()));
  Json source = Json::Object();
  source.Set("backend", backend).Set("sha256", model.source_sha256);
  Json external = Json::Array();
  for (const ExternalFile& file : model.external_data) {
    external.Append(Json::Object().Set("name", file.path).Set("sha256", file.sha256));
  }
  source.Set("external_data", std::move(external));
  source.Set("opset", model.opset).Set("ir_version", model.ir_version);
  source.Set("producer", model.producer_name).Set("producer_version", model.producer_version);
  provenance.Set("source", std::move(source));
  Json shapes = Json::Object();
  for (const auto& [name, shape] : input_shapes) {
    shapes.Set(name, shape.ToString());
  }
  provenance.Set("parse", Json::Object()
                              .Set("target_device", target)
                              .Set("input_shapes", std::move(shapes))
                              .Set("config", config.ToGroupedJson(true)));
  return provenance;
}

}  // namespace qb
