#include "server/service/resource_needs.h"

#include "absl/status/statusor.h"
#include "absl/strings/match.h"

#include "core/base/json.h"

namespace qb::server {
namespace {

bool RequiresDevice(const qbc::v1::JobSpec& spec) {
  const std::string& text = spec.config().overrides_json();
  if (!absl::StrContains(text, "require-device")) {
    return false;  // the usual case, without parsing
  }
  const absl::StatusOr<Json> overrides = Json::Parse(text);
  return overrides.ok() && overrides->is_object() && overrides->contains("require-device") &&
         (*overrides)["require-device"].is_bool() && (*overrides)["require-device"].as_bool();
}

}  // namespace

Resources NeedsOf(const qbc::v1::JobSpec& spec) {
  Resources needs;
  needs.cpus = spec.resources().cpus();
  needs.memory_bytes = spec.resources().memory_bytes();
  needs.gpus = spec.resources().gpus();
  needs.scratch_bytes = spec.resources().scratch_bytes();
  if (needs.gpus == 0 && spec.device() == "gpu" && RequiresDevice(spec)) {
    needs.gpus = 1;
  }
  return needs;
}

}  // namespace qb::server
