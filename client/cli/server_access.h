// Which server a command talks to, and with what: flags, environment, what `qbc login` stored.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "client/cli/environment.h"
#include "core/base/flags.h"

namespace qb::client {

// --server, --context, --token-file, --tls-ca, --tls-cert, --tls-key.
absl::Span<const FlagDef> AccessFlags();

// The address of the server: the flag, QBC_SERVER, or the socket in the user's runtime folder.
std::string ServerAddress(const CliEnvironment& environment, const std::string& flag);

// Each part from its flag, else its variable (QBC_TOKEN_FILE, QBC_TOKEN, QBC_TLS_CA, QBC_TLS_CERT,
// QBC_TLS_KEY), else from the context, else from what was stored for this server. The trace context
// is that of TRACEPARENT. Errors: usage; those of the files.
absl::StatusOr<ServerAccess> ChooseAccess(const CliEnvironment& environment,
                                          const ParsedFlags& flags);

// The file of stored credentials, mode 0600: $XDG_CONFIG_HOME/qbc/credentials.json, else in
// $HOME/.config.
std::string StoredAccessPath(const CliEnvironment& environment);

// Remembers token and TLS files for the server, over what was there; without both, forgets it.
absl::Status StoreAccess(const CliEnvironment& environment, const ServerAccess& access);

}  // namespace qb::client
