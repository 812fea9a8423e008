#include "client/cli/contexts.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "client/cli/exit_code.h"
#include "core/base/atomic_file.h"
#include "core/base/json.h"
#include "core/base/status_macros.h"

namespace qb::client {
namespace {

constexpr int64_t kMaxBytes = 1 << 20;
constexpr size_t kMaxNameBytes = 40;

constexpr auto kFields = std::to_array<std::pair<const char*, std::string NamedContext::*>>({
    {"server", &NamedContext::server},
    {"token_file", &NamedContext::token_file},
    {"tls_ca", &NamedContext::tls_ca},
    {"tls_cert", &NamedContext::tls_cert},
    {"tls_key", &NamedContext::tls_key},
});

}  // namespace

const NamedContext* Contexts::Find(const std::string& name) const {
  const auto found = std::find_if(all.begin(), all.end(), [&name](const NamedContext& context) {
    return context.name == name;
  });
  return found == all.end() ? nullptr : &*found;
}

std::string ConfigFile(const CliEnvironment& environment, const std::string& name) {
  std::string folder = environment.get_env("XDG_CONFIG_HOME");
  if (folder.empty()) {
    const std::string home = environment.get_env("HOME");
    folder = home.empty() ? "" : absl::StrCat(home, "/.config");
  }
  return folder.empty() ? "" : absl::StrCat(folder, "/qbc/", name);
}

absl::StatusOr<Contexts> ReadContexts(const CliEnvironment& environment) {
  const std::string path = ConfigFile(environment, "contexts.json");
  struct stat info = {};
  if (path.empty() || stat(path.c_str(), &info) != 0) {
    return Contexts();
  }
  QB_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxBytes));
  const absl::StatusOr<Json> json = Json::Parse(text);
  if (!json.ok() || !json->is_object()) {
    return absl::FailedPreconditionError(
        absl::StrCat("'", path, "' is damaged: remove it and use qbc context set again"));
  }
  Contexts contexts;
  contexts.current = (*json)["current"].as_string();
  for (const auto& [name, entry] : (*json)["contexts"].members()) {
    NamedContext& context = contexts.all.emplace_back();
    context.name = name;
    for (const auto& [field, member] : kFields) {
      context.*member = entry[field].as_string();
    }
  }
  return contexts;
}

absl::Status WriteContexts(const CliEnvironment& environment, const Contexts& contexts) {
  const std::string path = ConfigFile(environment, "contexts.json");
  if (path.empty()) {
    return absl::FailedPreconditionError("neither XDG_CONFIG_HOME nor HOME is set");
  }
  Json all = Json::Object();
  for (const NamedContext& context : contexts.all) {
    Json entry = Json::Object();
    for (const auto& [field, member] : kFields) {
      if (!(context.*member).empty()) {
        entry.Set(field, context.*member);
      }
    }
    all.Set(context.name, std::move(entry));
  }
  const Json json = Json::Object().Set("current", contexts.current).Set("contexts", std::move(all));
  const mode_t mask = ::umask(0077);
  const absl::Status status = WriteFileAtomically(path, json.Dump(1) + "\n");
  ::umask(mask);
  return status;
}

absl::Status CheckContextName(const std::string& name) {
  const bool good = !name.empty() && name.size() <= kMaxNameBytes && name[0] != '-' &&
                    std::all_of(name.begin(), name.end(), [](unsigned char c) {
                      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                             (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
                    });
  return good ? absl::OkStatus()
              : UsageError(absl::StrCat("context '", name,
                                        "': expected 1 to 40 letters, digits, - _ and ."));
}

absl::StatusOr<NamedContext> ChooseContext(const CliEnvironment& environment,
                                           const ParsedFlags& flags) {
  std::string name = flags.Get("context");
  const bool asked = !name.empty();
  if (!asked && (flags.Has("server") || !environment.get_env("QBC_SERVER").empty())) {
    return NamedContext();
  }
  QB_ASSIGN_OR_RETURN(const Contexts contexts, ReadContexts(environment));
  if (name.empty()) {
    name = environment.get_env("QBC_CONTEXT");
  }
  if (name.empty()) {
    name = contexts.current;
  }
  if (name.empty()) {
    return NamedContext();
  }
  const NamedContext* found = contexts.Find(name);
  if (found == nullptr) {
    const auto append = [](std::string* out, const NamedContext& context) {
      out->append(context.name);
    };
    return UsageError(
        absl::StrCat("there is no context '", name, "'; there are: ",
                     contexts.all.empty() ? "none" : absl::StrJoin(contexts.all, ", ", append)));
  }
  return *found;
}

}  // namespace qb::client
