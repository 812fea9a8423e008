// Which handler answers which path.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/types/span.h"

#include "server/http/http_message.h"

namespace qb::server {

// What stood in the places of a pattern's {names}, in order.
using PathParts = absl::Span<const std::string>;
using RouteHandler = std::function<HttpResponse(const HttpRequest&, PathParts)>;

// Not changed once it serves.
class HttpRouter {
 public:
  // `pattern`: "/api/v1/jobs/{job}"; a {name} stands for one part of a path, never for an empty
  // one.
  void Add(std::string pattern, RouteHandler handler);
  // 404 as JSON below /api/, as text elsewhere.
  HttpResponse Handle(const HttpRequest& request) const;
  std::vector<std::string> Patterns() const;

 private:
  struct Route {
    std::string pattern;
    std::vector<std::string> parts;
    RouteHandler handler;
  };
  std::vector<Route> routes_;
};

}  // namespace qb::server
