#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

#include "core/base/thread_pool.h"
#include "core/compiler/version.h"
#include "core/config/schema.h"
#include "core/execute/compute_library.h"
#include "core/frontends/all_frontends.h"
#include "core/target/target_spec.h"
#include "worker/qbcompiler/command.h"

namespace qb::worker {
namespace {

void AddLibrary(Json& answer, std::string& text) {
  const ComputeLibrary library = FloatLibrary();
  answer.Set("libraries", Json::Array().Append(Json::Object()
                                                   .Set("name", library.name)
                                                   .Set("version", library.version)
                                                   .Set("instructions", library.instructions)));
  absl::StrAppendFormat(&text, "library          %s %s (%s)\n", library.name, library.version,
                        library.instructions);
}

absl::Status Run(CommandContext& context) {
  Json answer = Json::Object();
  answer.Set("version", CompilerVersion());
  answer.Set("threads", AvailableThreads());
  answer.Set("device", "cpu");
  std::string text = absl::StrFormat(
      "qbcompiler %s\nthreads          %d\ndevice           cpu (no "
      "GPU support is built)\n",
      CompilerVersion(), AvailableThreads());
  AddLibrary(answer, text);
  Json targets = Json::Array();
  for (const TargetSpec& target : AllTargets()) {
    targets.Append(Json(target.name));
    const auto append_name = [](std::string* out, CoreMode mode) {
      absl::StrAppend(out, CoreModeName(mode));
    };
    absl::StrAppendFormat(&text, "target           %s: %s\n", target.name,
                          absl::StrJoin(target.modes, ", ", append_name));
  }
  answer.Set("targets", std::move(targets));
  Json backends = Json::Array();
  for (const Frontend& frontend : AllFrontends()) {
    if (frontend.import != nullptr) {
      backends.Append(Json(frontend.name));
      absl::StrAppendFormat(&text, "backend          %s\n", frontend.name);
    }
  }
  answer.Set("backends", std::move(backends));
  Json refused = Json::Array();
  for (const FieldDef& field : ConfigFields()) {
    if (field.support == FieldSupport::kRefused) {
      refused.Append(Json(field.path));
      absl::StrAppendFormat(&text, "not supported    %s\n", field.path);
    } else if (!field.refused.empty()) {
      refused.Append(
          Json(absl::StrCat(field.path, "=", absl::StrReplaceAll(field.refused, {{" ", "|"}}))));
      absl::StrAppendFormat(&text, "not supported    %s = %s\n", field.path,
                            absl::StrReplaceAll(field.refused, {{" ", ", "}}));
    }
  }
  answer.Set("refused_config", std::move(refused));
  context.reporter.Result(answer, text);
  return absl::OkStatus();
}

}  // namespace

const Command& CheckCommand() {
  static constexpr Command kCommand = {
      "check",
      "versions and capabilities",
      "Prints the version, the devices and libraries found, targets, backends and the settings "
      "that are refused because their part "
      "does not exist yet. Example: qbcompiler check",
      {},
      Run};
  return kCommand;
}

}  // namespace qb::worker
