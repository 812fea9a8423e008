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
  // A request that changes something: `method` is POST or DELETE. Add alone answers GET and HEAD.
  void Add(std::string method, std::string pattern, RouteHandler handler);
  // 404 as JSON below /api/, as text elsewhere; 405 with the methods that there are.
  HttpResponse Handle(const HttpRequest& request) const;

 private:
  struct Route {
    std::string method;  // "GET" for HEAD as well
    std::string pattern;
    std::vector<std::string> parts;
    RouteHandler handler;
  };
  std::vector<Route> routes_;
};

}  // namespace qb::server
