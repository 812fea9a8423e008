#include "core/package/mxq_stages.h"

#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

#include "core/base/status_macros.h"

namespace qb {
namespace {

using Entries = std::map<std::string, absl::string_view>;

constexpr char kProgramFolder[] = "program/";
constexpr size_t kMostStages = 1 << 12;
constexpr size_t kMostSizes = 1 << 10;
constexpr size_t kMostValues = 1 << 16;

absl::Status Damaged(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("manifest.json: ", what));
}

absl::StatusOr<absl::string_view> EntryOf(const Entries& entries, const std::string& name) {
  const auto found = entries.find(name);
  if (found == entries.end()) {
    return absl::DataLossError(absl::StrCat("the package has no '", name, "'"));
  }
  return found->second;
}

std::map<std::string, absl::string_view> ProgramsIn(const Entries& entries,
                                                    const std::string& folder) {
  std::map<std::string, absl::string_view> programs;
  const std::string prefix = absl::StrCat(folder, kProgramFolder);
  for (auto entry = entries.lower_bound(prefix); entry != entries.end(); ++entry) {
    absl::string_view mode = entry->first;
    if (!absl::ConsumePrefix(&mode, prefix)) {
      break;
    }
    if (absl::ConsumeSuffix(&mode, ".pb")) {
      programs[std::string(mode)] = entry->second;
    }
  }
  return programs;
}

absl::StatusOr<std::vector<ValueRef>> ReadRefs(const Json& list, absl::string_view what) {
  if (!list.is_array() || list.items().size() > kMostValues) {
    return Damaged(absl::StrCat(what, " is no list of values"));
  }
  std::vector<ValueRef> refs;
  for (const Json& item : list.items()) {
    if (!item.is_array() || item.items().size() != 2 || !item.items()[0].is_int() ||
        !item.items()[1].is_int() || item.items()[1].as_int() < 0) {
      return Damaged(absl::StrCat(what, " has something else than [stage, index]"));
    }
    refs.push_back({item.items()[0].as_int(), item.items()[1].as_int()});
  }
  return refs;
}

// Values of stages before `end` and of the model's inputs only.
absl::Status CheckRefs(const std::vector<ValueRef>& refs, int64_t end, size_t inputs,
                       absl::string_view what) {
  for (const ValueRef& ref : refs) {
    if (ref.stage < -1 || ref.stage >= end ||
        (ref.stage == -1 && ref.index >= static_cast<int64_t>(inputs))) {
      return Damaged(absl::StrCat(what, " takes value ", ref.index, " of stage ", ref.stage,
                                  ", which does not exist then"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<MxqBorder> ReadBorder(const Json& json) {
  std::vector<int64_t> dims;
  for (const Json& dim : json["shape"].items()) {
    if (!dim.is_int()) {
      return Damaged("an input has a dimension that is no number");
    }
    dims.push_back(dim.as_int());
  }
  const std::optional<DType> dtype = DTypeFromName(json["dtype"].as_string());
  if (!dtype.has_value() || SizeBytes(*dtype) == 0 || dims.size() > 16 ||
      !CheckedElements(dims).ok() || !json["name"].is_string()) {
    return Damaged("an input has no name, a bad type or a bad shape");
  }
  return MxqBorder{json["name"].as_string(), {*dtype, Shape(dims)}};
}

absl::StatusOr<std::vector<MxqBorder>> ReadBorders(const Json& list) {
  std::vector<MxqBorder> borders;
  for (const Json& item : list.items()) {
    QB_ASSIGN_OR_RETURN(MxqBorder border, ReadBorder(item));
    borders.push_back(std::move(border));
  }
  return borders;
}

absl::StatusOr<MxqStage> ReadStage(const Json& json, const std::string& folder, bool is_first_npu,
                                   const Entries& entries) {
  MxqStage stage;
  stage.name = json["name"].as_string();
  stage.npu = json["device"].as_string() == "npu";
  QB_ASSIGN_OR_RETURN(stage.inputs, ReadRefs(json["inputs"], "a stage's 'inputs'"));
  if (stage.npu) {
    const std::string own = StageFolder(folder, stage.name, is_first_npu);
    stage.programs = ProgramsIn(entries, own);
    stage.weights_name = WeightsEntry(own);
    if (stage.programs.empty()) {
      return absl::DataLossError(absl::StrCat("stage '", stage.name, "' has no program"));
    }
  } else {
    stage.weights_name = CpuWeightsEntry(folder, stage.name);
    QB_ASSIGN_OR_RETURN(stage.model, EntryOf(entries, CpuModelEntry(folder, stage.name)));
  }
  QB_ASSIGN_OR_RETURN(stage.weights, EntryOf(entries, stage.weights_name));
  return stage;
}

absl::Status ReadStages(const Json& json, const std::string& folder, const Entries& entries,
                        MxqSize& size) {
  if (!json["stages"].is_array() || json["stages"].items().size() > kMostStages) {
    return Damaged("'stages' is no list");
  }
  QB_ASSIGN_OR_RETURN(size.inputs, ReadBorders(json["inputs"]));
  bool npu_seen = false;
  for (const Json& item : json["stages"].items()) {
    QB_ASSIGN_OR_RETURN(MxqStage stage, ReadStage(item, folder, !npu_seen, entries));
    npu_seen = npu_seen || stage.npu;
    QB_RETURN_IF_ERROR(CheckRefs(stage.inputs, static_cast<int64_t>(size.stages.size()),
                                 size.inputs.size(), absl::StrCat("stage '", stage.name, "'")));
    size.stages.push_back(std::move(stage));
  }
  if (!npu_seen) {
    return absl::DataLossError("the package has no program");
  }
  QB_ASSIGN_OR_RETURN(size.results, ReadRefs(json["results"], "'results'"));
  return CheckRefs(size.results, static_cast<int64_t>(size.stages.size()), size.inputs.size(),
                   "'results'");
}

absl::StatusOr<MxqSize> ReadSize(const Json& json, const std::string& folder,
                                 const Entries& entries) {
  MxqSize size;
  for (const Json& output : json["outputs"].items()) {
    size.outputs.push_back(output["name"].as_string());
  }
  if (json.contains("stages")) {
    QB_RETURN_IF_ERROR(ReadStages(json, folder, entries, size));
    if (size.results.size() != size.outputs.size()) {
      return Damaged(absl::StrCat("there are ", size.results.size(), " results and ",
                                  size.outputs.size(), " outputs"));
    }
    return size;
  }
  MxqStage only;
  only.name = "npu_body";
  only.programs = ProgramsIn(entries, folder);
  only.weights_name = WeightsEntry(folder);
  if (only.programs.empty()) {
    return absl::DataLossError("the package has no program");
  }
  QB_ASSIGN_OR_RETURN(only.weights, EntryOf(entries, only.weights_name));
  size.stages.push_back(std::move(only));
  return size;
}

}  // namespace

std::string ProgramEntry(absl::string_view folder, absl::string_view mode) {
  return absl::StrCat(folder, kProgramFolder, mode, ".pb");
}
std::string WeightsEntry(absl::string_view folder) { return absl::StrCat(folder, "weights.bin"); }
std::string CpuModelEntry(absl::string_view folder, absl::string_view stage) {
  return absl::StrCat(folder, stage, ".onnx");
}
std::string CpuWeightsEntry(absl::string_view folder, absl::string_view stage) {
  return absl::StrCat(folder, stage, ".weights.bin");
}
std::string StageFolder(absl::string_view folder, absl::string_view stage, bool is_first_npu) {
  return is_first_npu ? std::string(folder) : absl::StrCat(folder, stage, "/");
}

Json ValueRefsJson(const std::vector<ValueRef>& refs) {
  Json list = Json::Array();
  for (const ValueRef& ref : refs) {
    list.Append(Json::Array().Append(Json(ref.stage)).Append(Json(ref.index)));
  }
  return list;
}

absl::StatusOr<std::vector<MxqSize>> ReadSizes(const Json& manifest, const Entries& entries) {
  std::vector<MxqSize> sizes;
  if (!manifest.contains("sizes")) {
    QB_ASSIGN_OR_RETURN(MxqSize size, ReadSize(manifest, "", entries));
    size.input_list = manifest["inputs"];
    sizes.push_back(std::move(size));
    return sizes;
  }
  if (manifest["sizes"].items().empty() || manifest["sizes"].items().size() > kMostSizes) {
    return Damaged("'sizes' is no list of sizes");
  }
  for (const Json& item : manifest["sizes"].items()) {
    const std::string& folder = item["folder"].as_string();
    if (!folder.empty() && !absl::EndsWith(folder, "/")) {
      return Damaged("a size has a folder without '/'");
    }
    QB_ASSIGN_OR_RETURN(MxqSize size, ReadSize(item, folder, entries));
    size.input_list = item["inputs"];
    if (size.inputs.empty()) {  // one program; the choice of a size needs its shapes
      QB_ASSIGN_OR_RETURN(size.inputs, ReadBorders(item["inputs"]));
    }
    sizes.push_back(std::move(size));
  }
  return sizes;
}

}  // namespace qb
