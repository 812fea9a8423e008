#include "server/http/http_router.h"

#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

#include "server/http/http_json.h"

namespace qb::server {
namespace {

bool IsPlace(const std::string& part) { return absl::StartsWith(part, "{"); }

std::optional<std::vector<std::string>> Match(const std::vector<std::string>& pattern,
                                              const std::vector<std::string>& path) {
  if (pattern.size() != path.size()) {
    return std::nullopt;
  }
  std::vector<std::string> found;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (IsPlace(pattern[i]) && !path[i].empty()) {
      found.push_back(path[i]);
    } else if (pattern[i] != path[i]) {
      return std::nullopt;
    }
  }
  return found;
}

}  // namespace

void HttpRouter::Add(std::string pattern, RouteHandler handler) {
  std::vector<std::string> parts = absl::StrSplit(pattern, '/');
  routes_.push_back({std::move(pattern), std::move(parts), std::move(handler)});
}

HttpResponse HttpRouter::Handle(const HttpRequest& request) const {
  const std::vector<std::string> path = absl::StrSplit(request.path, '/');
  for (const Route& route : routes_) {
    if (const auto parts = Match(route.parts, path); parts.has_value()) {
      HttpResponse response = route.handler(request, *parts);
      response.route = route.pattern;
      return response;
    }
  }
  if (absl::StartsWith(request.path, "/api/")) {
    return ErrorResponse(absl::NotFoundError("no such resource; see /api/v1/openapi.json"));
  }
  HttpResponse response;
  response.status = 404;
  response.body = "there is nothing at this address\n";
  return response;
}

std::vector<std::string> HttpRouter::Patterns() const {
  std::vector<std::string> patterns;
  for (const Route& route : routes_) {
    patterns.push_back(route.pattern);
  }
  return patterns;
}

}  // namespace qb::server
