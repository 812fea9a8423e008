#include "server/http/sessions.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "server/auth/token.h"

namespace qb::server {
namespace {

// By the port that the browser sees, so that servers on several ports of one host name do not
// sign each other out.
std::string CookieName(const HttpRequest& request) {
  const size_t colon = request.host.rfind(':');
  const absl::string_view host = request.host;
  return colon == std::string::npos || host.back() == ']'
             ? "qbc-session"
             : absl::StrCat("qbc-session-", host.substr(colon + 1));
}

std::string SessionId(const HttpRequest& request) {
  const std::string name = CookieName(request);
  for (const absl::string_view pair : absl::StrSplit(request.cookie, ';')) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(absl::StripAsciiWhitespace(pair), absl::MaxSplits('=', 1));
    if (parts.first == name) {
      return std::string(parts.second);
    }
  }
  return "";
}

std::string SetCookie(const HttpRequest& request, absl::string_view value, absl::string_view more) {
  return absl::StrCat(CookieName(request), "=", value, "; Path=/api/v1; HttpOnly; SameSite=Strict",
                      more);
}

}  // namespace

std::string Sessions::Open(const HttpRequest& request, Caller caller) {
  const std::string id = MakeToken().secret;
  const int64_t now_ms = clock_.MonotonicMs();
  absl::MutexLock lock(&mutex_);
  by_id_.erase(SessionId(request));
  RemoveOld(now_ms);
  by_id_[id] = {std::move(caller), now_ms};
  return SetCookie(request, id, "");
}

std::string Sessions::Close(const HttpRequest& request) {
  absl::MutexLock lock(&mutex_);
  by_id_.erase(SessionId(request));
  return SetCookie(request, "", "; Max-Age=0");
}

std::optional<Caller> Sessions::Find(const HttpRequest& request) const {
  // What browsers say about who made them ask; other programs say nothing.
  if (!request.fetch_site.empty() && request.fetch_site != "same-origin" &&
      request.fetch_site != "none") {
    return std::nullopt;
  }
  absl::ReaderMutexLock lock(&mutex_);
  const auto found = by_id_.find(SessionId(request));
  if (found == by_id_.end() ||
      clock_.MonotonicMs() - found->second.opened_ms >= limits_.lifetime_ms) {
    return std::nullopt;
  }
  return found->second.caller;
}

void Sessions::RemoveOld(int64_t now_ms) {
  absl::erase_if(by_id_, [&](const auto& session) {
    return now_ms - session.second.opened_ms >= limits_.lifetime_ms;
  });
  while (by_id_.size() >= limits_.most) {
    by_id_.erase(std::min_element(by_id_.begin(), by_id_.end(), [](const auto& a, const auto& b) {
      return a.second.opened_ms < b.second.opened_ms;
    }));
  }
}

}  // namespace qb::server
