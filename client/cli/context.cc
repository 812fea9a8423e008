// qbc context: servers by name.
#include <algorithm>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "client/cli/command.h"
#include "client/cli/contexts.h"
#include "client/cli/exit_code.h"
#include "client/cli/printable.h"
#include "core/base/status_macros.h"

namespace qb::client {
namespace {

Json ToJson(const NamedContext& context, const Contexts& contexts) {
  return Json::Object()
      .Set("name", context.name)
      .Set("current", context.name == contexts.current)
      .Set("server", context.server)
      .Set("token_file", context.token_file)
      .Set("tls_ca", context.tls_ca)
      .Set("tls_cert", context.tls_cert)
      .Set("tls_key", context.tls_key);
}

void List(const Contexts& contexts, Session& session) {
  if (session.json()) {
    Json all = Json::Array();
    for (const NamedContext& context : contexts.all) {
      all.Append(ToJson(context, contexts));
    }
    session.Answer(Json::Object().Set("type", "contexts").Set("contexts", std::move(all)));
    return;
  }
  for (const NamedContext& context : contexts.all) {
    session.AnswerText(absl::StrFormat("%s %-20s %s\n",
                                       context.name == contexts.current ? "*" : " ",
                                       PrintableLine(context.name), PrintableLine(context.server)));
  }
}

void Show(const NamedContext& context, const Contexts& contexts, Session& session) {
  if (session.json()) {
    session.Answer(ToJson(context, contexts).Set("type", "context"));
    return;
  }
  std::string text;
  for (const auto& [key, value] :
       {std::pair("name", context.name), std::pair("server", context.server),
        std::pair("token file", context.token_file), std::pair("tls ca", context.tls_ca),
        std::pair("tls cert", context.tls_cert), std::pair("tls key", context.tls_key)}) {
    if (!value.empty()) {
      absl::StrAppendFormat(&text, "%-12s %s\n", absl::StrCat(key, ":"), PrintableLine(value));
    }
  }
  session.AnswerText(text);
}

// The context is used from other folders too.
std::string Absolute(const std::string& path) {
  return path.empty() ? "" : std::filesystem::absolute(path).lexically_normal().string();
}

absl::Status Set(const std::string& name, const ParsedFlags& flags, Contexts& contexts) {
  QB_RETURN_IF_ERROR(CheckContextName(name));
  const NamedContext* found = contexts.Find(name);
  NamedContext context = found != nullptr ? *found : NamedContext();
  context.name = name;
  if (flags.Has("server")) {
    context.server = flags.Get("server");
  }
  for (const auto& [flag, value] :
       {std::pair("token-file", &context.token_file), std::pair("tls-ca", &context.tls_ca),
        std::pair("tls-cert", &context.tls_cert), std::pair("tls-key", &context.tls_key)}) {
    if (flags.Has(flag)) {
      *value = Absolute(flags.Get(flag));
    }
  }
  if (context.server.empty()) {
    return UsageError("context set: --server is missing");
  }
  if (context.tls_cert.empty() != context.tls_key.empty()) {
    return UsageError("--tls-cert and --tls-key: expected both or neither");
  }
  if (found != nullptr) {
    contexts.all[static_cast<size_t>(found - contexts.all.data())] = context;
  } else {
    contexts.all.push_back(context);
  }
  return absl::OkStatus();
}

absl::StatusOr<NamedContext> Named(const std::string& name, const Contexts& contexts) {
  const NamedContext* found = contexts.Find(name);
  if (found == nullptr) {
    return WithExitCode(absl::NotFoundError(absl::StrCat("there is no context '", name, "'")),
                        kExitNotFound);
  }
  return *found;
}

// Changes `contexts`, or only prints. Returns whether they changed.
absl::StatusOr<bool> Apply(const ParsedFlags& flags, Contexts& contexts, Session& session) {
  const std::vector<std::string>& words = flags.positionals();
  const std::string what = words.empty() ? "list" : words[0];
  const std::string name = words.size() > 1 ? words[1] : "";
  const bool takes_name = what != "list" && what != "clear";
  if (words.size() > 2 || (!takes_name && !name.empty())) {
    return UsageError(absl::StrCat("context: '", words.back(), "' is one too many"));
  }
  if (what == "list") {
    List(contexts, session);
    return false;
  }
  if (what == "clear") {
    contexts.current = "";
    return true;
  }
  if (what == "set") {
    QB_RETURN_IF_ERROR(Set(name, flags, contexts));
    return true;
  }
  if (what != "show" && what != "use" && what != "remove") {
    return UsageError(
        absl::StrCat("context: '", what, "': expected list, show, set, use, clear or remove"));
  }
  QB_ASSIGN_OR_RETURN(const NamedContext context,
                      Named(what == "show" && name.empty() ? contexts.current : name, contexts));
  if (what == "show") {
    Show(context, contexts, session);
    return false;
  }
  if (what == "use") {
    contexts.current = name;
    return true;
  }
  contexts.all.erase(std::remove_if(contexts.all.begin(), contexts.all.end(),
                                    [&name](const NamedContext& one) { return one.name == name; }),
                     contexts.all.end());
  contexts.current = contexts.current == name ? "" : contexts.current;
  return true;
}

absl::StatusOr<int> RunContext(const ParsedFlags& flags, Session& session) {
  QB_ASSIGN_OR_RETURN(Contexts contexts, ReadContexts(session.environment()));
  QB_ASSIGN_OR_RETURN(const bool changed, Apply(flags, contexts, session));
  if (changed) {
    QB_RETURN_IF_ERROR(WriteContexts(session.environment(), contexts));
  }
  return kExitOk;
}

}  // namespace

const Command& ContextCommand() {
  static const Command command = {
      .name = "context",
      .usage =
          "context [list | show [NAME] | set NAME --server ADDRESS [flags] | use NAME | clear | "
          "remove NAME]",
      .summary = "Servers by name: address, token file, TLS files",
      .help =
          R"(Contexts are kept in $XDG_CONFIG_HOME/qbc/contexts.json. `set` makes one or changes what its flags
name; `use` makes it the one that commands use when nothing else names a server; `clear` ends that. Flags
and variables win over what a context says. Tokens are not in it: it names the file that has one, or `qbc
login` keeps one for the address.

Examples:
  qbc context set farm --server farm.example:7410 --token-file ~/.secrets/farm
  qbc context use farm
  qbc status --context farm
)",
      .flags = {},
      .run = RunContext,
      .asks_server = false,
  };
  return command;
}

}  // namespace qb::client
