#include "core/config/cross_check.h"

#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "core/config/field_check.h"

namespace qb {
namespace {

using Getter = std::function<const Json&(absl::string_view)>;

class CrossCheck {
 public:
  CrossCheck(const Getter& get, std::vector<std::string>& problems)
      : get_(get), problems_(problems) {}

  void Run() {
    CheckVersion();
    CheckSplit();
    CheckWeightMemory();
    CheckHessian();
    CheckWeightBits();
    CheckRequired("loadScale.apply", "loadScale.path");
    CheckRequired("equivalentTransformation.HeadOutChRotation.apply",
                  "equivalentTransformation.HeadOutChRotation.matrixPath");
    CheckRequired("extraOutput.apply", "extraOutput.layers");
    if (get_("llm.apply").as_bool()) {
      CheckLanguageModel();
    }
  }

 private:
  template <typename... Parts>
  void Problem(absl::string_view path, const Parts&... parts) {
    problems_.push_back(absl::StrCat(path, ": ", parts...));
  }

  void CheckVersion() {
    const std::string& version = get_("configVersion").as_string();
    if (!absl::StartsWith(version, "1.")) {
      Problem("configVersion", "\"", ShownKey(version),
              "\" is not the version of a schema that this ", "compiler reads; accepted: 1.x.y");
    }
  }

  void CheckSplit() {
    const Json& blocks = get_("splitBlocks");
    const Json& parts = get_("splitParts");
    if (!blocks.items().empty() && parts.as_int() > 0) {
      Problem("splitParts", parts.as_int(), " is given together with splitBlocks ",
              ShownValue(blocks), "; a model is split by one of them");
    }
  }

  void CheckWeightMemory() {
    const auto count =
        static_cast<int64_t>(get_("resourceManagement.weightMemory.methodList").items().size());
    const int64_t method = get_("resourceManagement.weightMemory.method").as_int();
    if (method >= count) {
      Problem("resourceManagement.weightMemory.method", method, " is no index into methodList, ",
              "which has ", count, " entries");
    }
  }

  void CheckHessian() {
    const int64_t group = get_("hessianQuant.attributes.groupSize").as_int();
    const std::string& solver = get_("hessianQuant.solver").as_string();
    const bool rescomp = get_("hessianQuant.rescomp").as_bool();
    if (group > 0 && (solver != "symmetric" || rescomp)) {
      Problem("hessianQuant.attributes.groupSize", group, " with solver ", solver, " and rescomp ",
              rescomp ? "true" : "false",
              "; above 0 it needs the solver symmetric and rescomp false");
    }
  }

  // One layer cannot have weights of two widths. Globs that overlap are found when names are known.
  void CheckWeightBits() {
    std::set<std::string> seen;
    for (const char* list : {"weight16Bits", "weight8Bits", "weight4Bits"}) {
      std::set<std::string> own;
      for (const Json& name : get_(absl::StrCat("bit.layerOverrides.", list)).items()) {
        if (seen.contains(name.as_string())) {
          Problem(absl::StrCat("bit.layerOverrides.", list), ShownValue(name),
                  " stands in another list of weight bits too; a layer takes one");
        }
        own.insert(name.as_string());
      }
      seen.merge(own);
    }
  }

  void CheckRequired(absl::string_view apply, absl::string_view path) {
    const Json& value = get_(path);
    if (get_(apply).as_bool() && value.as_string().empty() && value.items().empty()) {
      Problem(path, "empty; ", apply, " needs it");
    }
  }

  void CheckLanguageModel() {
    const auto length = [&](absl::string_view name) {
      return get_(absl::StrCat("llm.attributes.", name)).as_int();
    };
    const int64_t cache = length("maxCacheLength");
    const int64_t batch = length("runtime.batchSize");
    const auto at_least = [&](absl::string_view name) {
      if (cache < length(name)) {
        Problem("llm.attributes.maxCacheLength", cache, " with batchSize ", batch,
                "; it must be at least ", name, ", which is ", length(name));
      }
    };
    if (batch == 1) {
      at_least("maxSequenceLength");
      return;
    }
    at_least("maxDataLength");
    at_least("maxCoreDataLength");
    const std::string& scheme = get_("inferenceScheme").as_string();
    if (scheme != "single" && scheme != "global4" && scheme != "global8") {
      Problem("inferenceScheme", "\"", scheme, "\" with llm.attributes.runtime.batchSize ", batch,
              "; a batch above 1 takes single, global4 or global8");
    }
  }

  const Getter& get_;
  std::vector<std::string>& problems_;
};

}  // namespace

void CheckFieldsTogether(const Getter& get, std::vector<std::string>& problems) {
  CrossCheck(get, problems).Run();
}

}  // namespace qb
