#include "server/auth/authenticator.h"

#include <sys/stat.h>

#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"

#include "core/base/status_macros.h"
#include "server/auth/token.h"

namespace qb::server {
namespace {

absl::Status Refused() {
  return absl::UnauthenticatedError(
      "UNAUTHENTICATED: expected a valid token in the header 'authorization: Bearer ...' or a "
      "registered client certificate");
}

Caller CallerOf(const Credential& credential) {
  return Caller{credential.tenant.empty() ? kWorkerTenant : credential.tenant, credential.scopes,
                credential.id};
}

}  // namespace

absl::StatusOr<std::unique_ptr<Authenticator>> Authenticator::Create(std::string path,
                                                                     const Clock& clock) {
  auto authenticator = std::unique_ptr<Authenticator>(new Authenticator(std::move(path), clock));
  QB_RETURN_IF_ERROR(authenticator->Refresh());
  return authenticator;
}

Authenticator::Stamp Authenticator::StampOfFile() const {
  struct stat info = {};
  return stat(path_.c_str(), &info) == 0 ? Stamp{info.st_ino, info.st_ctim, info.st_size} : Stamp{};
}

absl::Status Authenticator::Refresh() {
  // Before the read: a change in between is read again.
  const Stamp stamp = StampOfFile();
  {
    absl::MutexLock lock(&mutex_);
    if (stamp == stamp_) {
      return absl::OkStatus();
    }
  }
  QB_ASSIGN_OR_RETURN(std::vector<Credential> credentials, ReadCredentialFile(path_));
  absl::MutexLock lock(&mutex_);
  stamp_ = stamp;
  by_id_.clear();
  id_by_certificate_.clear();
  for (Credential& credential : credentials) {
    if (!credential.certificate.empty() && IsLive(credential)) {
      id_by_certificate_[credential.certificate] = credential.id;
    }
    const std::string id = credential.id;
    by_id_.emplace(id, std::move(credential));
  }
  return absl::OkStatus();
}

bool Authenticator::IsLive(const Credential& credential) const {
  return credential.revoked_ms == 0 &&
         (credential.expires_ms == 0 || clock_.WallMs() < credential.expires_ms);
}

const Credential* Authenticator::FindToken(absl::string_view authorization) const {
  constexpr absl::string_view kScheme = "Bearer ";
  if (!absl::StartsWithIgnoreCase(authorization, kScheme)) {
    return nullptr;
  }
  const std::optional<Token> token =
      ParseToken(absl::StripAsciiWhitespace(authorization.substr(kScheme.size())));
  if (!token.has_value()) {
    return nullptr;
  }
  const auto found = by_id_.find(token->id);
  const bool good = found != by_id_.end() && !found->second.sha256.empty() &&
                    EqualSecrets(TokenHash(*token), found->second.sha256) && IsLive(found->second);
  return good ? &found->second : nullptr;
}

absl::StatusOr<Caller> Authenticator::Authenticate(const Presented& presented) const {
  absl::ReaderMutexLock lock(&mutex_);
  if (!presented.authorization.empty()) {
    const Credential* credential = FindToken(presented.authorization);
    if (credential == nullptr) {
      return Refused();
    }
    return CallerOf(*credential);
  }
  for (const absl::string_view name : presented.certificate_names) {
    const auto id = id_by_certificate_.find(name);
    if (id != id_by_certificate_.end() && IsLive(by_id_.at(id->second))) {
      return CallerOf(by_id_.at(id->second));
    }
  }
  return Refused();
}

bool Authenticator::StillGood(const Caller& caller) const {
  if (caller.credential.empty()) {
    return true;
  }
  absl::ReaderMutexLock lock(&mutex_);
  const auto found = by_id_.find(caller.credential);
  return found != by_id_.end() && IsLive(found->second);
}

}  // namespace qb::server
