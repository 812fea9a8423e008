// Named servers of a user: address, token file, TLS files. No secret is in them.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "client/cli/environment.h"
#include "core/base/flags.h"

namespace qb::client {

struct NamedContext {
  std::string name;
  std::string server;      // never "" in a stored one
  std::string token_file;  // absolute, "": none; here and below
  std::string tls_ca;
  std::string tls_cert;
  std::string tls_key;
};

struct Contexts {
  std::string current;  // "": none is in use
  std::vector<NamedContext> all;

  // Null when there is none of this name.
  const NamedContext* Find(const std::string& name) const;
};

// A file of the user's configuration folder for qbc, $XDG_CONFIG_HOME/qbc or $HOME/.config/qbc; ""
// when neither variable is set.
std::string ConfigFile(const CliEnvironment& environment, const std::string& name);

// Those of contexts.json; none when there is no such file. Errors: FailedPrecondition for a damaged
// file.
absl::StatusOr<Contexts> ReadContexts(const CliEnvironment& environment);
// Replaces the file, mode 0600.
absl::Status WriteContexts(const CliEnvironment& environment, const Contexts& contexts);

// 1 to 40 letters, digits, - _ and dots, not "-" first.
absl::Status CheckContextName(const std::string& name);

// The one that a command uses: --context; else, when neither --server nor QBC_SERVER names a
// server, QBC_CONTEXT or the one in use; an empty one otherwise. Errors: usage for a name that is
// not there.
absl::StatusOr<NamedContext> ChooseContext(const CliEnvironment& environment,
                                           const ParsedFlags& flags);

}  // namespace qb::client
