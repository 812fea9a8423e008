// The file that says who may call: <data-dir>/credentials.json, mode 0600. It holds hashes of
// tokens, never a token. `qbc-server token` changes it while a server runs; the server notices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "server/auth/authorize.h"

namespace qb::server {

// A token or a name in client certificates.
struct Credential {
  std::string id;      // of the token; 16 hex characters for certificates too
  std::string name;    // for people, may be ""
  std::string tenant;  // "" with the scope work alone
  ScopeSet scopes;
  std::string sha256;       // of the token's text; "" for a certificate
  std::string certificate;  // a subject alternative name or the common name; "" for a token
  int64_t created_ms = 0;   // wall clock, here and below
  int64_t expires_ms = 0;   // 0: never
  int64_t revoked_ms = 0;   // 0: not revoked
};

// Where it is in the data folder of a server.
std::string CredentialFilePath(const std::string& data_dir);

// 1 to 40 of a-z 0-9 -, not "-" first: tenants stand in file names.
absl::Status CheckTenantName(absl::string_view name);

// "" when there is no such file. Errors: InvalidArgument with what is wrong in the file;
// FailedPrecondition when others may read it.
absl::StatusOr<std::vector<Credential>> ReadCredentialFile(const std::string& path);

// Changes the file as a whole, under a lock: two commands at once lose nothing. An error of
// `change` leaves it as it was.
absl::Status EditCredentialFile(
    const std::string& path,
    absl::FunctionRef<absl::Status(std::vector<Credential>& credentials)> change);

}  // namespace qb::server
