#include "server/http/site.h"

#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "server/dashboard/dashboard_files.h"
#include "server/http/http_guard.h"
#include "server/http/http_json.h"
#include "server/http/session_api.h"

namespace qb::server {
namespace {

HttpResponse StateResponse(const absl::Status& status) {
  HttpResponse response;
  response.status = status.ok() ? 200 : 503;
  response.body = status.ok() ? "ok\n" : absl::StrCat(std::string(status.message()), "\n");
  return response;
}

HttpResponse MetricsResponse(absl::StatusOr<std::string> text) {
  if (!text.ok()) {
    return StateResponse(text.status());
  }
  HttpResponse response;
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  response.body = *std::move(text);
  return response;
}

HttpResponse FileResponse(const DashboardFile& file, const HttpRequest& request) {
  HttpResponse response;
  response.content_type = std::string(file.content_type);
  response.SetHeader("ETag", file.etag);
  // Below /static/ another version has another path.
  response.SetHeader("Cache-Control", absl::StartsWith(file.path, "/static/")
                                          ? "public, max-age=31536000, immutable"
                                          : "no-cache");
  if (request.if_none_match == file.etag) {
    response.status = 304;
  } else {
    response.body = std::string(file.bytes);
  }
  return response;
}

void AddPages(HttpRouter& router) {
  for (const DashboardFile& file : DashboardFiles()) {
    const auto answer = [&file](const HttpRequest& request, PathParts /*path*/) {
      return FileResponse(file, request);
    };
    if (file.path == "/index.html") {
      // One document; which page it shows depends on its address.
      for (const char* page : {"/", "/jobs", "/jobs/{job}", "/compare"}) {
        router.Add(page, answer);
      }
    } else {
      router.Add(std::string(file.path), answer);
    }
  }
}

}  // namespace

HttpRouter MakeRouter(const SiteParts& parts) {
  HttpRouter router;
  router.Add("/healthz", [alive = parts.alive](const HttpRequest&, PathParts) {
    return StateResponse(alive());
  });
  router.Add("/readyz", [ready = parts.ready](const HttpRequest&, PathParts) {
    return StateResponse(ready());
  });
  router.Add("/metrics", [metrics = parts.metrics](const HttpRequest&, PathParts) {
    return MetricsResponse(metrics());
  });
  AddApiRoutes(parts.api, router);
  AddSessionRoutes(parts.sessions, parts.api.authenticate, router);
  AddPages(router);
  return router;
}

HttpHandler MakeSite(const SiteParts& parts) {
  auto router = std::make_shared<const HttpRouter>(MakeRouter(parts));
  return Guarded([router](const HttpRequest& request) { return router->Handle(request); });
}

}  // namespace qb::server
