// qbc login and qbc whoami: what the caller shows a server, and who the server takes it for.
#include <array>
#include <istream>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "client/cli/command.h"
#include "client/cli/exit_code.h"
#include "client/cli/printable.h"
#include "core/base/status_macros.h"
#include "proto/qbc/v1/server_info.pb.h"

namespace qb::client {
namespace {

constexpr auto kFlags = std::to_array<FlagDef>({
    {"forget", 0, FlagKind::kSwitch, "", "Remove what is stored for this server."},
});

void TellIdentity(const qbc::v1::GetCapabilitiesResponse& capabilities, Session& session) {
  if (session.json()) {
    Json scopes = Json::Array();
    for (const std::string& scope : capabilities.scopes()) {
      scopes.Append(scope);
    }
    session.Answer(Json::Object()
                       .Set("type", "identity")
                       .Set("server", session.access().address)
                       .Set("tenant", capabilities.tenant())
                       .Set("scopes", std::move(scopes)));
    return;
  }
  session.AnswerText(absl::StrCat(PrintableLine(capabilities.tenant()), " at ",
                                  PrintableLine(session.access().address), ": ",
                                  PrintableLine(absl::StrJoin(capabilities.scopes(), ", ")), "\n"));
}

absl::StatusOr<int> RunWhoami(const ParsedFlags& flags, Session& session) {
  if (!flags.positionals().empty()) {
    return UsageError("whoami takes no argument");
  }
  QB_ASSIGN_OR_RETURN(Connection * connection, session.connection());
  QB_ASSIGN_OR_RETURN(const qbc::v1::GetCapabilitiesResponse capabilities,
                      connection->GetCapabilities());
  TellIdentity(capabilities, session);
  return kExitOk;
}

// What is to be stored: what the flags and variables name, with the token from standard input when
// they name none.
absl::StatusOr<ServerAccess> AccessToStore(const ParsedFlags& flags, Session& session) {
  ServerAccess access = session.access();
  const bool named = flags.Has("token-file") || flags.Has("tls-cert") ||
                     !session.environment().get_env("QBC_TOKEN_FILE").empty() ||
                     !session.environment().get_env("QBC_TOKEN").empty();
  if (!named) {
    std::string line;
    std::getline(*session.environment().in, line);
    access.token = std::string(absl::StripAsciiWhitespace(line));
    if (access.token.empty()) {
      return UsageError("login: expected a token on standard input, or --token-file");
    }
  }
  return access;
}

absl::StatusOr<int> RunLogin(const ParsedFlags& flags, Session& session) {
  if (!flags.positionals().empty()) {
    return UsageError("login takes no argument: a token is read from standard input");
  }
  if (flags.Has("forget")) {
    ServerAccess nothing;
    nothing.address = session.access().address;
    QB_RETURN_IF_ERROR(StoreAccess(session.environment(), nothing));
    return kExitOk;
  }
  QB_ASSIGN_OR_RETURN(const ServerAccess access, AccessToStore(flags, session));
  // What the server refuses is not stored.
  QB_ASSIGN_OR_RETURN(const std::unique_ptr<Stub> stub, session.environment().create_stub(access));
  CallOptions options;
  options.timeout = absl::Seconds(30);
  options.interruption = session.environment().interruption;
  QB_ASSIGN_OR_RETURN(const qbc::v1::GetCapabilitiesResponse capabilities,
                      stub->GetCapabilities(options));
  QB_RETURN_IF_ERROR(StoreAccess(session.environment(), access));
  TellIdentity(capabilities, session);
  return kExitOk;
}

}  // namespace

const Command& LoginCommand() {
  static const Command command = {
      .name = "login",
      .usage = "login --server ADDRESS [--forget]",
      .summary = "Store a token for a server",
      .help =
          R"(Reads a token from standard input (or --token-file), asks the server whether it is good, and
stores it with the --tls files in $XDG_CONFIG_HOME/qbc/credentials.json, mode 0600. Later commands with the
same address use it. A token never stands on a command line.

  qbc login --server farm.example:7410 < token
)",
      .flags = kFlags,
      .run = RunLogin,
  };
  return command;
}

const Command& WhoamiCommand() {
  static const Command command = {
      .name = "whoami",
      .usage = "whoami",
      .summary = "Show who the server takes you for",
      .help = "",
      .flags = {},
      .run = RunWhoami,
  };
  return command;
}

}  // namespace qb::client
