#include "server/token_command.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

#include "core/base/flags.h"
#include "core/base/json.h"
#include "core/base/status_macros.h"
#include "server/auth/credential_file.h"
#include "server/auth/token.h"

namespace qb::server {
namespace {

constexpr ScopeSet kScopesOfUsers = {Scope::kJobsRead, Scope::kJobsWrite, Scope::kBlobsRead,
                                     Scope::kBlobsWrite, Scope::kShare};

constexpr auto kFlags = std::to_array<FlagDef>({
    {"data-dir", 0, FlagKind::kValue, "DIR", "The data folder of the server. Needed."},
    {"tenant", 0, FlagKind::kValue, "NAME",
     "create: who the caller is, 1 to 40 of a-z 0-9 -. Needed, but for a worker."},
    {"scopes", 0, FlagKind::kValue, "LIST",
     "create: what is allowed, comma separated. Default: jobs:read,jobs:write,blobs:read,"
     "blobs:write,share; admin sees the workers as well."},
    {"worker", 0, FlagKind::kSwitch, "",
     "create: for a worker agent. It serves every tenant and is none."},
    {"certificate", 0, FlagKind::kValue, "NAME",
     "create: instead of making a token, register a name in client certificates: a subject "
     "alternative name or the common name."},
    {"name", 0, FlagKind::kValue, "TEXT", "create: a note for people, at most 100 bytes."},
    {"expires-in", 0, FlagKind::kValue, "DURATION",
     "create: valid for this long, e.g. 720h. "
     "Default: until it is revoked."},
    {"json", 0, FlagKind::kSwitch, "", "list: one object a line."},
    {"help", 'h', FlagKind::kSwitch, "", "This text."},
});

std::string Usage() {
  return absl::StrCat(
      "Usage: qbc-server token create --data-dir DIR --tenant NAME [flags]\n"
      "       qbc-server token list   --data-dir DIR [--json]\n"
      "       qbc-server token revoke --data-dir DIR ID\n\n"
      "A new token is printed once; the server keeps its hash. A running server notices changes "
      "within a second.\n\n",
      FormatFlags(kFlags, 100));
}

int64_t NowMs() { return absl::ToUnixMillis(absl::Now()); }

absl::StatusOr<Credential> NewCredential(const ParsedFlags& flags, const Token& token) {
  Credential credential;
  credential.id = token.id;
  credential.name = flags.Get("name");
  credential.created_ms = NowMs();
  if (credential.name.size() > 100) {
    return absl::InvalidArgumentError("--name: expected at most 100 bytes");
  }
  if (flags.Has("worker")) {
    if (flags.Has("tenant") || flags.Has("scopes")) {
      return absl::InvalidArgumentError("--worker: has neither --tenant nor --scopes");
    }
    credential.scopes = {Scope::kWork};
  } else {
    credential.tenant = flags.Get("tenant");
    QB_RETURN_IF_ERROR(CheckTenantName(credential.tenant));
    credential.scopes = kScopesOfUsers;
    if (flags.Has("scopes")) {
      const std::vector<std::string> names =
          absl::StrSplit(flags.Get("scopes"), ',', absl::SkipEmpty());
      QB_ASSIGN_OR_RETURN(credential.scopes, ScopeSet::Parse(names));
    }
    if (credential.scopes.empty() || credential.scopes.Has(Scope::kWork)) {
      return absl::InvalidArgumentError("--scopes: expected at least one, and not work");
    }
  }
  if (flags.Has("expires-in")) {
    QB_ASSIGN_OR_RETURN(const absl::Duration life,
                        flags.GetDuration("expires-in", absl::ZeroDuration()));
    credential.expires_ms = credential.created_ms + absl::ToInt64Milliseconds(life);
  }
  if (flags.Has("certificate")) {
    credential.certificate = flags.Get("certificate");
    if (credential.certificate.empty() || credential.certificate.size() > 500) {
      return absl::InvalidArgumentError("--certificate: expected 1 to 500 bytes");
    }
  } else {
    credential.sha256 = TokenHash(token);
  }
  return credential;
}

absl::Status CheckCertificateIsFree(const std::vector<Credential>& credentials,
                                    const Credential& wanted) {
  for (const Credential& other : credentials) {
    if (!wanted.certificate.empty() && other.certificate == wanted.certificate &&
        other.revoked_ms == 0) {
      return absl::AlreadyExistsError(absl::StrCat("--certificate: '", wanted.certificate,
                                                   "' is registered with id ", other.id,
                                                   ": revoke that first"));
    }
  }
  return absl::OkStatus();
}

absl::Status Create(const std::string& path, const ParsedFlags& flags, std::ostream& out) {
  const Token token = MakeToken();
  QB_ASSIGN_OR_RETURN(const Credential credential, NewCredential(flags, token));
  QB_RETURN_IF_ERROR(
      EditCredentialFile(path, [&](std::vector<Credential>& credentials) -> absl::Status {
        QB_RETURN_IF_ERROR(CheckCertificateIsFree(credentials, credential));
        credentials.push_back(credential);
        return absl::OkStatus();
      }));
  out << (credential.sha256.empty() ? credential.id : token.Text()) << "\n";
  return absl::OkStatus();
}

std::string StateOf(const Credential& credential) {
  if (credential.revoked_ms != 0) {
    return "revoked";
  }
  return credential.expires_ms != 0 && credential.expires_ms <= NowMs() ? "expired" : "valid";
}

std::string Time(int64_t ms) {
  return ms == 0 ? "never"
                 : absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixMillis(ms),
                                    absl::UTCTimeZone());
}

absl::Status List(const std::string& path, const ParsedFlags& flags, std::ostream& out) {
  QB_ASSIGN_OR_RETURN(const std::vector<Credential> credentials, ReadCredentialFile(path));
  for (const Credential& credential : credentials) {
    const std::string scopes = absl::StrJoin(credential.scopes.Names(), ",");
    const std::string who = credential.tenant.empty() ? "(worker)" : credential.tenant;
    if (flags.Has("json")) {
      out << Json::Object()
                 .Set("id", credential.id)
                 .Set("tenant", credential.tenant)
                 .Set("state", StateOf(credential))
                 .Set("scopes", scopes)
                 .Set("certificate", credential.certificate)
                 .Set("name", credential.name)
                 .Set("created", Time(credential.created_ms))
                 .Set("expires", Time(credential.expires_ms))
                 .Dump()
          << "\n";
    } else {
      out << absl::StrFormat("%s  %-12s %-8s %-20s %s%s%s\n", credential.id, who,
                             StateOf(credential), Time(credential.expires_ms), scopes,
                             credential.certificate.empty()
                                 ? ""
                                 : absl::StrCat("  certificate ", credential.certificate),
                             credential.name.empty() ? "" : absl::StrCat("  ", credential.name));
    }
  }
  return absl::OkStatus();
}

absl::Status Revoke(const std::string& path, const ParsedFlags& flags) {
  if (flags.positionals().size() != 2) {
    return absl::InvalidArgumentError("revoke: expected the id of one token; see token list");
  }
  const std::string& id = flags.positionals()[1];
  return EditCredentialFile(path, [&](std::vector<Credential>& credentials) {
    for (Credential& credential : credentials) {
      if (credential.id == id) {
        credential.revoked_ms = credential.revoked_ms == 0 ? NowMs() : credential.revoked_ms;
        return absl::OkStatus();
      }
    }
    return absl::NotFoundError(absl::StrCat("revoke: no token has the id '", id, "'"));
  });
}

absl::Status Run(const ParsedFlags& flags, std::ostream& out) {
  const std::string what = flags.positionals().empty() ? "" : flags.positionals()[0];
  if (flags.Get("data-dir").empty()) {
    return absl::InvalidArgumentError("--data-dir: expected the folder that holds the jobs");
  }
  if (what != "revoke" && flags.positionals().size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", flags.positionals()[1], "': expected flags only; see --help"));
  }
  std::error_code error;
  if (!std::filesystem::is_directory(flags.Get("data-dir"), error)) {
    return absl::NotFoundError(
        absl::StrCat("--data-dir: '", flags.Get("data-dir"), "' is no folder"));
  }
  const std::string path = CredentialFilePath(flags.Get("data-dir"));
  if (what == "create") {
    return Create(path, flags, out);
  }
  if (what == "list") {
    return List(path, flags, out);
  }
  if (what == "revoke") {
    return Revoke(path, flags);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("token '", what, "': expected create, list or revoke; see --help"));
}

}  // namespace

int RunTokenCommand(const std::vector<std::string>& arguments, std::ostream& out,
                    std::ostream& err) {
  const absl::StatusOr<ParsedFlags> flags = ParseFlags(kFlags, arguments);
  if (flags.ok() && flags->Has("help")) {
    out << Usage();
    return 0;
  }
  const absl::Status status = flags.ok() ? Run(*flags, out) : flags.status();
  if (status.ok()) {
    return 0;
  }
  err << "qbc-server token: " << status.message() << "\n";
  return absl::IsInvalidArgument(status) ? 2 : 1;
}

}  // namespace qb::server
