#include "server/auth/credential_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/atomic_file.h"
#include "core/base/digest.h"
#include "core/base/json.h"
#include "core/base/status_macros.h"
#include "server/runtime/durable_files.h"

namespace qb::server {
namespace {

constexpr int64_t kMaxFileBytes = int64_t{64} << 20;
constexpr size_t kMaxTenantBytes = 40;

Json ToJson(const Credential& credential) {
  Json scopes = Json::Array();
  for (const std::string& name : credential.scopes.Names()) {
    scopes.Append(name);
  }
  Json json = Json::Object();
  json.Set("id", credential.id).Set("name", credential.name).Set("tenant", credential.tenant);
  json.Set("scopes", std::move(scopes));
  if (credential.sha256.empty()) {
    json.Set("certificate", credential.certificate);
  } else {
    json.Set("sha256", credential.sha256);
  }
  return json.Set("created_ms", credential.created_ms)
      .Set("expires_ms", credential.expires_ms)
      .Set("revoked_ms", credential.revoked_ms);
}

absl::StatusOr<Credential> FromJson(const Json& json) {
  Credential credential;
  credential.id = json["id"].as_string();
  credential.name = json["name"].as_string();
  credential.tenant = json["tenant"].as_string();
  credential.sha256 = json["sha256"].as_string();
  credential.certificate = json["certificate"].as_string();
  credential.created_ms = json["created_ms"].as_int();
  credential.expires_ms = json["expires_ms"].as_int();
  credential.revoked_ms = json["revoked_ms"].as_int();
  std::vector<std::string> scopes;
  for (const Json& scope : json["scopes"].items()) {
    scopes.push_back(scope.as_string());
  }
  QB_ASSIGN_OR_RETURN(credential.scopes, ScopeSet::Parse(scopes));
  if (credential.scopes != ScopeSet{Scope::kWork}) {
    QB_RETURN_IF_ERROR(CheckTenantName(credential.tenant));
  }
  if (credential.id.empty() || credential.scopes.empty() ||
      credential.certificate.empty() != IsSha256Hex(credential.sha256)) {
    return absl::InvalidArgumentError(
        "expected id, scopes, and either the sha256 of a token or the name in a certificate");
  }
  return credential;
}

absl::Status Write(const std::string& path, const std::vector<Credential>& credentials) {
  Json list = Json::Array();
  for (const Credential& credential : credentials) {
    list.Append(ToJson(credential));
  }
  const mode_t mask = umask(0077);
  absl::Status status =
      WriteFileAtomically(path, Json::Object().Set("credentials", std::move(list)).Dump(1) + "\n");
  umask(mask);
  return status;
}

// A lock that waits for its turn.
class EditLock {
 public:
  explicit EditLock(const std::string& path)
      : fd_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)) {
    held_ = fd_ >= 0 && flock(fd_, LOCK_EX) == 0;
    error_ = held_ ? 0 : errno;
  }
  ~EditLock() {
    if (fd_ >= 0) {
      close(fd_);
    }
  }
  EditLock(const EditLock&) = delete;
  EditLock& operator=(const EditLock&) = delete;

  bool held() const { return held_; }
  int error() const { return error_; }

 private:
  const int fd_;
  bool held_ = false;
  int error_ = 0;
};

}  // namespace

std::string CredentialFilePath(const std::string& data_dir) {
  return data_dir + "/credentials.json";
}

absl::Status CheckTenantName(absl::string_view name) {
  const bool good = !name.empty() && name.size() <= kMaxTenantBytes && name[0] != '-' &&
                    std::all_of(name.begin(), name.end(), [](char c) {
                      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
                    });
  return good ? absl::OkStatus()
              : absl::InvalidArgumentError(absl::StrCat("tenant '", name, "': expected 1 to ",
                                                        kMaxTenantBytes,
                                                        " of a-z 0-9 -, not - first"));
}

absl::StatusOr<std::vector<Credential>> ReadCredentialFile(const std::string& path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) {
      return std::vector<Credential>();
    }
    return FileError(errno, "read", path);
  }
  if ((info.st_mode & 0077) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("'", path, "' may be read by others: chmod 600 it"));
  }
  QB_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxFileBytes));
  const absl::StatusOr<Json> json = Json::Parse(text);
  if (!json.ok() || !(*json)["credentials"].is_array()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", path, "': expected {\"credentials\": [...]}: ", json.status().message()));
  }
  std::vector<Credential> credentials;
  std::set<std::string> ids;
  for (const Json& item : (*json)["credentials"].items()) {
    absl::StatusOr<Credential> credential = FromJson(item);
    if (!credential.ok() || !ids.insert(credential->id).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", path, "': credential ", credentials.size() + 1, ": ",
          credential.ok() ? "its id occurs twice" : std::string(credential.status().message())));
    }
    credentials.push_back(*std::move(credential));
  }
  return credentials;
}

absl::Status EditCredentialFile(
    const std::string& path,
    absl::FunctionRef<absl::Status(std::vector<Credential>& credentials)> change) {
  const EditLock lock(path + ".lock");
  if (!lock.held()) {
    return FileError(lock.error(), "lock", path + ".lock");
  }
  QB_ASSIGN_OR_RETURN(std::vector<Credential> credentials, ReadCredentialFile(path));
  QB_RETURN_IF_ERROR(change(credentials));
  return Write(path, credentials);
}

}  // namespace qb::server
