#include "client/cli/server_access.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"

#include "client/cli/contexts.h"
#include "client/cli/exit_code.h"
#include "core/base/atomic_file.h"
#include "core/base/json.h"
#include "core/base/secret_file.h"
#include "core/base/status_macros.h"
#include "core/base/traceparent.h"

namespace qb::client {
namespace {

constexpr int64_t kMaxStoredBytes = 1 << 20;

constexpr auto kFlags = std::to_array<FlagDef>({
    {"server", 0, FlagKind::kValue, "ADDRESS",
     "The compile server: unix:/path, /path or host:port. Default: $QBC_SERVER, else that of the "
     "context in use, else the socket qbc.sock in $XDG_RUNTIME_DIR (in /tmp/qbc-<uid> without "
     "that). Other hosts than this machine are called with TLS."},
    {"context", 0, FlagKind::kValue, "NAME",
     "Use the server and the files of this context (see qbc context). Default: $QBC_CONTEXT, else "
     "the one in use; not looked at when --server or $QBC_SERVER names a server."},
    {"token-file", 0, FlagKind::kValue, "FILE",
     "Token for the server, mode 0600. Default: $QBC_TOKEN_FILE, $QBC_TOKEN, or what qbc login "
     "stored."},
    {"tls-ca", 0, FlagKind::kValue, "FILE",
     "Whose certificates the server may have, PEM. Default: $QBC_TLS_CA, else the system's."},
    {"tls-cert", 0, FlagKind::kValue, "FILE", "Your certificate, PEM. Default: $QBC_TLS_CERT."},
    {"tls-key", 0, FlagKind::kValue, "FILE", "Its private key, PEM. Default: $QBC_TLS_KEY."},
});

// The flag, else the variable.
std::string Choose(const CliEnvironment& environment, const ParsedFlags& flags,
                   const std::string& flag, const std::string& variable) {
  return flags.Has(flag) ? flags.Get(flag) : environment.get_env(variable);
}

absl::StatusOr<Json> ReadStored(const CliEnvironment& environment) {
  const std::string path = StoredAccessPath(environment);
  struct stat info = {};
  if (path.empty() || stat(path.c_str(), &info) != 0) {
    return Json::Object();
  }
  if ((info.st_mode & 0077) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("'", path, "' may be read by others: chmod 600 it"));
  }
  QB_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxStoredBytes));
  absl::StatusOr<Json> stored = Json::Parse(text);
  if (!stored.ok() || !stored->is_object()) {
    return absl::FailedPreconditionError(
        absl::StrCat("'", path, "' is damaged: remove it and use qbc login again"));
  }
  return stored;
}

absl::Status ReadToken(const CliEnvironment& environment, const ParsedFlags& flags,
                       const NamedContext& context, const Json& stored, ServerAccess& access) {
  std::string file = Choose(environment, flags, "token-file", "QBC_TOKEN_FILE");
  access.token = file.empty() ? environment.get_env("QBC_TOKEN") : "";
  if (file.empty() && access.token.empty()) {
    file = context.token_file;
  }
  if (!file.empty()) {
    QB_ASSIGN_OR_RETURN(access.token, ReadSecretFile(file));
    return absl::OkStatus();
  }
  if (access.token.empty()) {
    access.token = stored["token"].as_string();
  }
  return absl::OkStatus();
}

}  // namespace

absl::Span<const FlagDef> AccessFlags() { return kFlags; }

std::string ServerAddress(const CliEnvironment& environment, const std::string& flag) {
  if (!flag.empty()) {
    return flag;
  }
  if (std::string address = environment.get_env("QBC_SERVER"); !address.empty()) {
    return address;
  }
  const std::string folder = environment.get_env("XDG_RUNTIME_DIR");
  return absl::StrCat("unix:", folder.empty() ? absl::StrCat("/tmp/qbc-", ::getuid()) : folder,
                      "/qbc.sock");
}

absl::StatusOr<ServerAccess> ChooseAccess(const CliEnvironment& environment,
                                          const ParsedFlags& flags) {
  ServerAccess access;
  QB_ASSIGN_OR_RETURN(const NamedContext context, ChooseContext(environment, flags));
  const bool own = flags.Get("server").empty() && !context.server.empty();
  access.address = own ? context.server : ServerAddress(environment, flags.Get("server"));
  if (const std::string trace = environment.get_env("TRACEPARENT"); IsTraceparent(trace)) {
    access.traceparent = trace;
  }
  QB_ASSIGN_OR_RETURN(const Json all, ReadStored(environment));
  const Json& stored = all[access.address];
  QB_RETURN_IF_ERROR(ReadToken(environment, flags, context, stored, access));
  const std::array<std::pair<const char*, std::string*>, 3> files = {{
      {"ca", &access.tls_ca},
      {"cert", &access.tls_cert},
      {"key", &access.tls_key},
  }};
  for (const auto& [name, value] : files) {
    const bool is_ca = value == &access.tls_ca;
    const std::string variable = is_ca                       ? "QBC_TLS_CA"
                                 : value == &access.tls_cert ? "QBC_TLS_CERT"
                                                             : "QBC_TLS_KEY";
    *value = Choose(environment, flags, absl::StrCat("tls-", name), variable);
    if (value->empty()) {
      *value = is_ca                       ? context.tls_ca
               : value == &access.tls_cert ? context.tls_cert
                                           : context.tls_key;
    }
    if (value->empty()) {
      *value = stored[absl::StrCat("tls_", name)].as_string();
    }
  }
  if (access.tls_cert.empty() != access.tls_key.empty()) {
    return UsageError("--tls-cert and --tls-key: expected both or neither");
  }
  return access;
}

std::string StoredAccessPath(const CliEnvironment& environment) {
  return ConfigFile(environment, "credentials.json");
}

absl::Status StoreAccess(const CliEnvironment& environment, const ServerAccess& access) {
  const std::string path = StoredAccessPath(environment);
  if (path.empty()) {
    return absl::FailedPreconditionError("neither XDG_CONFIG_HOME nor HOME is set");
  }
  QB_ASSIGN_OR_RETURN(const Json stored, ReadStored(environment));
  Json changed = Json::Object();
  for (const auto& [server, entry] : stored.members()) {
    if (server != access.address) {
      changed.Set(server, entry);
    }
  }
  if (!access.token.empty() || !access.tls_cert.empty()) {
    Json entry = Json::Object();
    entry.Set("token", access.token).Set("tls_ca", access.tls_ca);
    changed.Set(access.address,
                entry.Set("tls_cert", access.tls_cert).Set("tls_key", access.tls_key));
  }
  const mode_t mask = ::umask(0077);
  absl::Status status = WriteFileAtomically(path, changed.Dump(1) + "\n");
  ::umask(mask);
  return status;
}

}  // namespace qb::client
