#include "core/config/pipeline_steps.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/config/nearest.h"

namespace qb {
namespace {

constexpr auto kResize = std::to_array<StepKey>({
    {"height", "int", "", false},
    {"width", "int", "", false},
    {"size", "int", "", false},
    {"mode", "text", "nearest bilinear bicubic area lanczos", false},
    {"backend", "text", "torch pil opencv", false},
    {"alignCorners", "bool", "", false},
    {"antialias", "bool", "", false},
});
constexpr auto kCenterCrop = std::to_array<StepKey>({
    {"height", "int", "", true},
    {"width", "int", "", true},
});
constexpr auto kCrop = std::to_array<StepKey>({
    {"top", "int", "", true},
    {"left", "int", "", true},
    {"height", "int", "", true},
    {"width", "int", "", true},
});
constexpr auto kLetterbox = std::to_array<StepKey>({
    {"height", "int", "", true},
    {"width", "int", "", true},
    {"padValue", "number", "", false},
    {"mode", "text", "nearest bilinear bicubic area lanczos", false},
    {"backend", "text", "torch opencv", false},
    {"alignType", "int", "", false},
    {"fuseIntoFirstLayer", "bool", "", false},
    {"sourceHeight", "int", "", false},
    {"sourceWidth", "int", "", false},
});
constexpr auto kPad = std::to_array<StepKey>({
    {"top", "int", "", false},
    {"bottom", "int", "", false},
    {"left", "int", "", false},
    {"right", "int", "", false},
    {"padValue", "number", "", false},
});
constexpr auto kNormalize = std::to_array<StepKey>({
    {"mean", "numbers", "", true},
    {"std", "numbers", "", true},
    {"scaleToUint8", "bool", "", false},
    {"fuseIntoFirstLayer", "bool", "", false},
});
constexpr auto kColorConvert = std::to_array<StepKey>({
    {"from", "text", "RGB BGR GRAY", true},
    {"to", "text", "RGB BGR GRAY", true},
});

constexpr auto kSteps = std::to_array<StepDef>({
    {"resize", kResize},
    {"centerCrop", kCenterCrop},
    {"crop", kCrop},
    {"letterbox", kLetterbox},
    {"pad", kPad},
    {"normalize", kNormalize},
    {"colorConvert", kColorConvert},
});

bool HasStepType(const Json& value, absl::string_view type) {
  if (type == "int") {
    return value.is_int() && value.as_int() >= 0 && value.as_int() <= 1 << 20;
  }
  if (type == "number") {
    return value.is_number();
  }
  if (type == "bool") {
    return value.is_bool();
  }
  if (type == "numbers") {
    return value.is_array() && !value.items().empty() &&
           std::all_of(value.items().begin(), value.items().end(),
                       [](const Json& item) { return item.is_number(); });
  }
  return value.is_string();
}

// "" or what is wrong with one key's value.
std::string CheckKey(const StepKey& key, const Json& value) {
  if (!HasStepType(value, key.type)) {
    return absl::StrCat(value.Dump(), " is not accepted; it takes ",
                        key.type == "int"       ? "an integer from 0 to 1048576"
                        : key.type == "numbers" ? "a list of numbers"
                        : key.type == "text"    ? "a string"
                        : key.type == "bool"    ? "true or false"
                                                : "a number");
  }
  const std::vector<std::string> accepted = absl::StrSplit(key.accepted, ' ', absl::SkipEmpty());
  if (!accepted.empty() &&
      std::find(accepted.begin(), accepted.end(), value.as_string()) == accepted.end()) {
    return absl::StrCat(value.Dump(), " is not accepted; it takes one of ",
                        absl::StrJoin(accepted, ", "));
  }
  return "";
}

// Which resize modes each backend has.
std::vector<std::string> ModesOf(absl::string_view backend) {
  if (backend == "torch") {
    return {"nearest", "bilinear", "bicubic", "area"};
  }
  if (backend == "pil") {
    return {"nearest", "bilinear", "bicubic", "lanczos"};
  }
  return {"nearest", "bilinear", "bicubic", "area", "lanczos"};
}

void CheckResize(const std::string& path, const Json& step, std::vector<std::string>& problems) {
  const bool has_size = step.contains("size");
  if (!has_size && (!step.contains("height") || !step.contains("width"))) {
    problems.push_back(absl::StrCat(path, ": resize takes size, or height and width"));
  }
  const std::string backend = step.contains("backend") ? step["backend"].as_string() : "torch";
  const std::string mode = step.contains("mode") ? step["mode"].as_string() : "bilinear";
  const std::vector<std::string> modes = ModesOf(backend);
  if (std::find(modes.begin(), modes.end(), mode) == modes.end()) {
    problems.push_back(absl::StrCat(path, ".mode: the backend ", backend, " has no mode '", mode,
                                    "'; it has ", absl::StrJoin(modes, ", ")));
  }
  for (const char* key : {"alignCorners", "antialias"}) {
    if (step.contains(key) && backend != "torch") {
      problems.push_back(
          absl::StrCat(path, ".", key, ": only the backend torch has it, not ", backend));
    }
  }
}

void CheckNormalize(const std::string& path, const Json& step, std::vector<std::string>& problems) {
  const auto& mean = step["mean"].items();
  const auto& deviation = step["std"].items();
  if (mean.size() != deviation.size()) {
    problems.push_back(absl::StrCat(path, ": mean has ", mean.size(), " values and std ",
                                    deviation.size(), "; they must have as many"));
  }
  for (const Json& value : deviation) {
    if (value.is_number() && !(value.as_double() > 0)) {
      problems.push_back(absl::StrCat(path, ".std: ", value.Dump(), " is not above 0"));
    }
  }
}

void CheckStep(const std::string& path, const Json& step, std::vector<std::string>& problems) {
  std::vector<std::string> ops;
  const StepDef* def = nullptr;
  for (const StepDef& candidate : kSteps) {
    ops.emplace_back(candidate.op);
    if (step.is_object() && step["op"].as_string() == candidate.op) {
      def = &candidate;
    }
  }
  if (def == nullptr) {
    problems.push_back(absl::StrCat(path, ": ", step.is_object() ? step["op"].Dump() : step.Dump(),
                                    " is no step; {\"op\": NAME, ...} with NAME one of ",
                                    absl::StrJoin(ops, ", "), " is"));
    return;
  }
  std::vector<std::string> keys;
  for (const StepKey& key : def->keys) {
    keys.emplace_back(key.key);
    if (key.required && !step.contains(key.key)) {
      problems.push_back(absl::StrCat(path, ": ", def->op, " needs ", key.key));
    }
  }
  const size_t before = problems.size();
  for (const auto& [name, value] : step.members()) {
    if (name == "op") {
      continue;
    }
    const auto key = std::find_if(def->keys.begin(), def->keys.end(),
                                  [&](const StepKey& candidate) { return candidate.key == name; });
    const std::string problem =
        key == def->keys.end()
            ? absl::StrCat("unknown key of ", def->op,
                           "; nearest: ", absl::StrJoin(NearestNames(name, keys, 3), ", "))
            : CheckKey(*key, value);
    if (!problem.empty()) {
      problems.push_back(absl::StrCat(path, ".", name, ": ", problem));
    }
  }
  if (problems.size() == before && def->op == "resize") {
    CheckResize(path, step, problems);
  }
  if (problems.size() == before && def->op == "normalize") {
    CheckNormalize(path, step, problems);
  }
  if (def->op == "letterbox" && step["alignType"].as_int() > 1) {
    problems.push_back(absl::StrCat(path, ".alignType: ", step["alignType"].Dump(),
                                    " is not accepted; it takes 0 (centre) or 1 (top left)"));
  }
}

}  // namespace

absl::Span<const StepDef> AllSteps() { return kSteps; }

void CheckPipeline(absl::string_view path, const Json& pipeline,
                   std::vector<std::string>& problems) {
  if (!pipeline.is_array()) {
    problems.push_back(absl::StrCat(path, ": ", pipeline.Dump(), " is not a list of steps"));
    return;
  }
  for (size_t i = 0; i < pipeline.items().size(); ++i) {
    CheckStep(absl::StrCat(path, "[", i, "]"), pipeline.items()[i], problems);
  }
}

}  // namespace qb
