#include "core/config/pipeline_steps.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include "core/base/check.h"
#include "core/base/spelling.h"
#include "core/config/config_tree.h"
#include "core/config/field_check.h"
#include "core/config/schema.h"

namespace qb {
namespace {

// Defaults that the manual leaves open are ours: resize and letterbox are bilinear by the backend
// torch.
constexpr absl::string_view kModes = "nearest bilinear bicubic area lanczos";

constexpr auto kResize = std::to_array<StepKey>({
    {"height", "size", "", false, ""},
    {"width", "size", "", false, ""},
    {"size", "size", "", false, ""},
    {"mode", "text", kModes, false, "\"bilinear\""},
    {"backend", "text", "torch pil opencv", false, "\"torch\""},
    {"alignCorners", "bool", "", false, "false"},
    {"antialias", "bool", "", false, "false"},
});
constexpr auto kCenterCrop = std::to_array<StepKey>({
    {"height", "size", "", true, ""},
    {"width", "size", "", true, ""},
});
constexpr auto kCrop = std::to_array<StepKey>({
    {"top", "offset", "", true, ""},
    {"left", "offset", "", true, ""},
    {"height", "size", "", true, ""},
    {"width", "size", "", true, ""},
});
constexpr auto kLetterbox = std::to_array<StepKey>({
    {"height", "size", "", true, ""},
    {"width", "size", "", true, ""},
    {"padValue", "number", "", false, "114"},
    {"mode", "text", kModes, false, "\"bilinear\""},
    {"backend", "text", "torch opencv", false, "\"torch\""},
    {"alignType", "choice", "0 1", false, "0"},
    {"fuseIntoFirstLayer", "bool", "", false, "false"},
    {"sourceHeight", "size", "", false, ""},
    {"sourceWidth", "size", "", false, ""},
});
constexpr auto kPad = std::to_array<StepKey>({
    {"top", "offset", "", false, "0"},
    {"bottom", "offset", "", false, "0"},
    {"left", "offset", "", false, "0"},
    {"right", "offset", "", false, "0"},
    {"padValue", "number", "", false, "0"},
});
constexpr auto kNormalize = std::to_array<StepKey>({
    {"mean", "numbers", "", true, ""},
    {"std", "numbers", "", true, ""},
    {"scaleToUint8", "bool", "", false, "false"},
    {"fuseIntoFirstLayer", "bool", "", false, "false"},
});
constexpr auto kColorConvert = std::to_array<StepKey>({
    {"from", "text", "RGB BGR GRAY", true, ""},
    {"to", "text", "RGB BGR GRAY", true, ""},
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

constexpr int64_t kLargestSize = 65536;

bool IsAcceptedText(const StepKey& key, const std::string& text) {
  const std::vector<std::string> accepted = absl::StrSplit(key.accepted, ' ', absl::SkipEmpty());
  return std::find(accepted.begin(), accepted.end(), text) != accepted.end();
}

bool IsAcceptedValue(const StepKey& key, const Json& value) {
  if (key.type == "size" || key.type == "offset") {
    return value.is_int() && value.as_int() >= (key.type == "size" ? 1 : 0) &&
           value.as_int() <= kLargestSize;
  }
  if (key.type == "choice") {
    return value.is_int() && IsAcceptedText(key, absl::StrCat(value.as_int()));
  }
  if (key.type == "number") {
    return value.is_number();
  }
  if (key.type == "bool") {
    return value.is_bool();
  }
  if (key.type == "numbers") {
    return value.is_array() && !value.items().empty() &&
           std::all_of(value.items().begin(), value.items().end(),
                       [](const Json& item) { return item.is_number(); });
  }
  return value.is_string() && IsAcceptedText(key, value.as_string());
}

// "" or what is wrong with one key's value.
std::string CheckKey(const StepKey& key, const Json& value) {
  return IsAcceptedValue(key, value)
             ? ""
             : absl::StrCat(ShownValue(value), " is not accepted; it takes ",
                            AcceptedStepText(key));
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

// Resize and letterbox: the mode must be one of the backend's.
void CheckMode(const std::string& path, const Json& step, std::vector<std::string>& problems) {
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

void CheckResize(const std::string& path, const Json& step, std::vector<std::string>& problems) {
  if (!step.contains("size") && (!step.contains("height") || !step.contains("width"))) {
    problems.push_back(absl::StrCat(path, ": resize takes size, or height and width"));
  }
  CheckMode(path, step, problems);
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
      problems.push_back(absl::StrCat(path, ".std: ", ShownValue(value), " is not above 0"));
    }
  }
}

const StepDef* FindStep(const Json& step) {
  for (const StepDef& candidate : kSteps) {
    const std::string& op = step["op"].as_string();
    if (step.is_object() && (op == candidate.op || op == SnakeCase(candidate.op))) {
      return &candidate;
    }
  }
  return nullptr;
}

// The key of `def` that is spelled `name` in one way or the other; null when there is none.
const StepKey* FindKey(const StepDef& def, absl::string_view name) {
  for (const StepKey& candidate : def.keys) {
    if (candidate.key == name || SnakeCase(candidate.key) == name) {
      return &candidate;
    }
  }
  return nullptr;
}

// The keys in the order of the table: equal steps become equal texts. Precondition: CheckKeys found
// nothing.
Json CanonicalStep(const StepDef& def, const Json& step) {
  Json canonical = Json::Object();
  canonical.Set("op", Json(def.op));
  for (const StepKey& key : def.keys) {
    for (const std::string& name : {std::string(key.key), SnakeCase(key.key)}) {
      if (step.contains(name)) {
        canonical.Set(key.key, step[name]);
      }
    }
  }
  return canonical;
}

// Required keys are there, no others than the step's own are, each once and with an accepted value.
void CheckKeys(const std::string& path, const StepDef& def, const Json& step,
               std::vector<std::string>& problems) {
  std::vector<std::string> keys;
  for (const StepKey& key : def.keys) {
    keys.emplace_back(key.key);
    if (key.required && !step.contains(key.key) && !step.contains(SnakeCase(key.key))) {
      problems.push_back(absl::StrCat(path, ": ", def.op, " needs ", key.key));
    }
  }
  for (const Json::Member& member : step.members()) {
    const std::string& name = member.first;
    if (name == "op" || problems.size() >= kMostConfigProblems) {
      continue;
    }
    const StepKey* key = FindKey(def, name);
    const bool twice = key != nullptr && name != key->key && step.contains(key->key);
    const std::string problem =
        twice ? absl::StrCat("'", key->key, "' is given in both spellings")
        : key == nullptr
            ? absl::StrCat("unknown key of ", def.op,
                           "; nearest: ", absl::StrJoin(NearestWords(name, keys, 3), ", "))
            : CheckKey(*key, member.second);
    if (!problem.empty()) {
      problems.push_back(absl::StrCat(path, ".", ShownKey(name), ": ", problem));
    }
  }
}

void CheckStep(const std::string& path, const Json& step, std::vector<std::string>& problems) {
  const StepDef* def = FindStep(step);
  if (def == nullptr) {
    const auto append_op = [](std::string* out, const StepDef& candidate) {
      absl::StrAppend(out, candidate.op);
    };
    problems.push_back(absl::StrCat(path, ": ", ShownValue(step.is_object() ? step["op"] : step),
                                    " is no step; {\"op\": NAME, ...} with NAME one of ",
                                    absl::StrJoin(kSteps, ", ", append_op), " is"));
    return;
  }
  const size_t before = problems.size();
  CheckKeys(path, *def, step, problems);
  if (problems.size() != before) {
    return;
  }
  const Json canonical = CanonicalStep(*def, step);
  if (def->op == "resize") {
    CheckResize(path, canonical, problems);
  } else if (def->op == "letterbox") {
    CheckMode(path, canonical, problems);
  } else if (def->op == "normalize") {
    CheckNormalize(path, canonical, problems);
  }
}

}  // namespace

absl::Span<const StepDef> AllSteps() { return kSteps; }

std::string AcceptedStepText(const StepKey& key) {
  const std::string choices =
      absl::StrJoin(absl::StrSplit(key.accepted, ' ', absl::SkipEmpty()), ", ");
  if (key.type == "size" || key.type == "offset") {
    return absl::StrCat("an integer from ", key.type == "size" ? 1 : 0, " to ", kLargestSize);
  }
  if (key.type == "numbers") {
    return "a list of numbers, one a channel";
  }
  if (key.type == "number") {
    return "a number";
  }
  return key.type == "bool" ? "true or false" : absl::StrCat("one of ", choices);
}

Json CanonicalPipeline(const Json& pipeline) {
  Json canonical = Json::Array();
  for (const Json& step : pipeline.items()) {
    const StepDef* def = FindStep(step);
    QB_CHECK(def != nullptr);
    canonical.Append(CanonicalStep(*def, step));
  }
  return canonical;
}

Json WithStepDefaults(const Json& pipeline) {
  Json complete = Json::Array();
  for (const Json& step : pipeline.items()) {
    const StepDef* def = FindStep(step);
    QB_CHECK(def != nullptr);
    Json item = step;
    for (const StepKey& key : def->keys) {
      if (!key.fallback.empty() && !step.contains(key.key)) {
        item.Set(key.key, *Json::Parse(key.fallback));
      }
    }
    complete.Append(std::move(item));
  }
  return complete;
}

void CheckPipeline(absl::string_view path, const Json& pipeline,
                   std::vector<std::string>& problems) {
  if (!pipeline.is_array()) {
    problems.push_back(absl::StrCat(path, ": ", ShownValue(pipeline), " is not a list of steps"));
    return;
  }
  for (size_t i = 0; i < pipeline.items().size() && problems.size() < kMostConfigProblems; ++i) {
    CheckStep(absl::StrCat(path, "[", i, "]"), pipeline.items()[i], problems);
  }
}

}  // namespace qb
