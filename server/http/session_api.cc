#include "server/http/session_api.h"

#include <utility>

#include "core/base/json.h"
#include "server/http/http_json.h"

namespace qb::server {
namespace {

constexpr const char* kPattern = "/api/v1/session";

HttpResponse CallerResponse(const Caller& caller) {
  return JsonResponse(Json::Object()
                          .Set("tenant", caller.tenant)
                          .Set("needs_credential", !caller.credential.empty())
                          .Dump());
}

HttpResponse SignIn(Sessions& sessions, const Authenticate& authenticate,
                    const HttpRequest& request) {
  if (request.authorization.empty()) {
    return ErrorResponse(
        absl::UnauthenticatedError("signing in: no header Authorization, expected 'Bearer TOKEN'"));
  }
  absl::StatusOr<Caller> caller = authenticate(request);
  if (!caller.ok()) {
    return ErrorResponse(caller.status());
  }
  if (caller->credential.empty()) {
    return ErrorResponse(
        absl::FailedPreconditionError("signing in: this server asks for no credential"));
  }
  HttpResponse response = CallerResponse(*caller);
  response.SetHeader("Set-Cookie", sessions.Open(request, *std::move(caller)));
  return response;
}

}  // namespace

void AddSessionRoutes(Sessions& sessions, const Authenticate& authenticate, HttpRouter& router) {
  router.Add("POST", kPattern, [&sessions, authenticate](const HttpRequest& request, PathParts) {
    return SignIn(sessions, authenticate, request);
  });
  router.Add(kPattern, [authenticate](const HttpRequest& request, PathParts) {
    const absl::StatusOr<Caller> caller = authenticate(request);
    return caller.ok() ? CallerResponse(*caller) : ErrorResponse(caller.status());
  });
  router.Add("DELETE", kPattern, [&sessions](const HttpRequest& request, PathParts) {
    HttpResponse response = JsonResponse("{}");
    response.SetHeader("Set-Cookie", sessions.Close(request));
    return response;
  });
}

}  // namespace qb::server
