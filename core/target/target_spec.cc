#include "core/target/target_spec.h"

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/check.h"
#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/target/target_data.h"

namespace qb {
namespace {

constexpr auto kModeNames = std::to_array<std::pair<CoreMode, absl::string_view>>({
    {CoreMode::kSingle, "single"},
    {CoreMode::kMulti, "multi"},
    {CoreMode::kGlobal4, "global4"},
    {CoreMode::kGlobal8, "global8"},
});

absl::Status ReadNumber(const Json& file, absl::string_view key, int64_t* value) {
  const Json& number = file[key]["value"];
  if (!number.is_int() || number.as_int() < 1 || file[key]["source"].as_string().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("target data: '", key, "' must have a positive integer 'value' and a 'source'"));
  }
  *value = number.as_int();
  return absl::OkStatus();
}

absl::Status ReadNumbers(const Json& file, TargetSpec& spec) {
  const std::pair<absl::string_view, int64_t*> numbers[] = {
      {"clusters", &spec.clusters},
      {"cores_per_cluster", &spec.cores_per_cluster},
      {"macs_per_cycle", &spec.macs_per_cycle},
      {"mac_array_input_channels", &spec.mac_array_input_channels},
      {"mac_array_output_channels", &spec.mac_array_output_channels},
      {"vector_lanes", &spec.vector_lanes},
      {"clock_hz", &spec.clock_hz},
      {"sram_bytes_per_core", &spec.sram_bytes_per_core},
      {"dma_bytes_per_cycle", &spec.dma_bytes_per_cycle},
      {"int16_passes", &spec.int16_passes},
      {"event_cycles", &spec.event_cycles},
      {"dram_bytes", &spec.dram_bytes},
      {"largest_kernel", &spec.largest_kernel},
      {"largest_stride", &spec.largest_stride},
      {"largest_dilation", &spec.largest_dilation},
      {"largest_rank", &spec.largest_rank},
  };
  for (const auto& [key, value] : numbers) {
    QB_RETURN_IF_ERROR(ReadNumber(file, key, value));
  }
  return absl::OkStatus();
}

std::vector<TargetSpec> ParseAll() {
  std::vector<TargetSpec> targets;
  for (const absl::string_view text : TargetDataTexts()) {
    absl::StatusOr<TargetSpec> spec = ParseTargetSpec(text);
    QB_CHECK_MSG(spec.ok(), spec.status().ToString());  // our own file
    targets.push_back(*std::move(spec));
  }
  return targets;
}

}  // namespace

absl::string_view CoreModeName(CoreMode mode) {
  for (const auto& [candidate, name] : kModeNames) {
    if (candidate == mode) {
      return name;
    }
  }
  return "?";
}

absl::StatusOr<CoreMode> CoreModeFromName(absl::string_view name) {
  for (const auto& [mode, candidate] : kModeNames) {
    if (candidate == name) {
      return mode;
    }
  }
  return absl::DataLossError(absl::StrCat("there is no core mode '", name, "'"));
}

double TargetSpec::computed_int8_tops() const {
  return 2.0 * static_cast<double>(cores() * macs_per_cycle) * static_cast<double>(clock_hz) / 1e12;
}

absl::StatusOr<TargetSpec> ParseTargetSpec(absl::string_view text) {
  QB_ASSIGN_OR_RETURN(Json file, Json::Parse(text));
  TargetSpec spec;
  spec.name = file["name"].as_string();
  spec.description = file["description"].as_string();
  if (spec.name.empty()) {
    return absl::InvalidArgumentError("target data: 'name' is missing");
  }
  QB_RETURN_IF_ERROR(ReadNumbers(file, spec));
  spec.headline_int8_tops = file["headline_int8_tops"]["value"].as_double();
  for (const Json& scheme : file["schemes"].items()) {
    QB_ASSIGN_OR_RETURN(const CoreMode mode, CoreModeFromName(scheme.as_string()));
    spec.modes.push_back(mode);
  }
  if (spec.modes.empty() || !file["lut_unit"].is_bool() || !file["integer_border"].is_bool()) {
    return absl::InvalidArgumentError(
        "target data: 'schemes', 'lut_unit' or 'integer_border' is missing");
  }
  spec.lut_unit = file["lut_unit"].as_bool();
  spec.integer_border = file["integer_border"].as_bool();
  spec.data = std::move(file);
  return spec;
}

const std::vector<TargetSpec>& AllTargets() {
  static const std::vector<TargetSpec> targets = ParseAll();
  return targets;
}

absl::StatusOr<const TargetSpec*> FindTarget(absl::string_view name) {
  std::vector<absl::string_view> names;
  for (const TargetSpec& target : AllTargets()) {
    if (target.name == name) {
      return &target;
    }
    names.push_back(target.name);
  }
  return Failure(FailureCode::kTargetError,
                 absl::StrCat("there is no target '", name, "'; accepted: ",
                              absl::StrJoin(names, ", ")));
}

absl::StatusOr<std::vector<CoreMode>> CheckScheme(const TargetSpec& target,
                                                  absl::string_view scheme) {
  if (scheme == "all") {
    return target.modes;
  }
  const absl::string_view wanted = scheme == "global" ? "global4" : scheme;
  std::vector<absl::string_view> names;
  for (const CoreMode mode : target.modes) {
    if (CoreModeName(mode) == wanted) {
      return std::vector<CoreMode>{mode};
    }
    names.push_back(CoreModeName(mode));
  }
  return Failure(FailureCode::kTargetError,
                 absl::StrCat("target ", target.name, " has no inference scheme '", scheme,
                              "'; accepted: ", absl::StrJoin(names, ", "), ", all"));
}

}  // namespace qb
