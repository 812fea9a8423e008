#include "server/http/http_router.h"

#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
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

bool Answers(absl::string_view route_method, absl::string_view method) {
  return route_method == method || (route_method == "GET" && method == "HEAD");
}

HttpResponse MethodNotAllowed(const std::vector<std::string>& allowed) {
  HttpResponse response;
  response.status = 405;
  const std::string methods = absl::StrJoin(allowed, ", ");
  response.body = absl::StrCat("expected ", methods, "\n");
  response.SetHeader("Allow", methods);
  return response;
}

}  // namespace

void HttpRouter::Add(std::string pattern, RouteHandler handler) {
  Add("GET", std::move(pattern), std::move(handler));
}

void HttpRouter::Add(std::string method, std::string pattern, RouteHandler handler) {
  std::vector<std::string> parts = absl::StrSplit(pattern, '/');
  routes_.push_back({std::move(method), std::move(pattern), std::move(parts), std::move(handler)});
}

HttpResponse HttpRouter::Handle(const HttpRequest& request) const {
  const std::vector<std::string> path = absl::StrSplit(request.path, '/');
  std::vector<std::string> allowed;
  for (const Route& route : routes_) {
    const auto parts = Match(route.parts, path);
    if (parts.has_value() && Answers(route.method, request.method)) {
      HttpResponse response = route.handler(request, *parts);
      response.route = route.pattern;
      return response;
    }
    if (parts.has_value()) {
      allowed.push_back(route.method == "GET" ? "GET, HEAD" : route.method);
    }
  }
  if (!allowed.empty()) {
    return MethodNotAllowed(allowed);
  }
  if (absl::StartsWith(request.path, "/api/")) {
    return ErrorResponse(absl::NotFoundError("no such resource; see /api/v1/openapi.json"));
  }
  HttpResponse response;
  response.status = 404;
  response.body = "there is nothing at this address\n";
  return response;
}

}  // namespace qb::server
