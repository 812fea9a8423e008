#include "server/http/http_guard.h"

#include <algorithm>
#include <utility>

namespace qb::server {
namespace {

constexpr absl::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "frame-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

bool HasHeader(const HttpResponse& response, absl::string_view name) {
  return std::any_of(response.headers.begin(), response.headers.end(),
                     [name](const auto& header) { return header.first == name; });
}

void AddHeaders(HttpResponse& response) {
  response.SetHeader("X-Content-Type-Options", "nosniff");
  response.SetHeader("Referrer-Policy", "no-referrer");
  response.SetHeader("Cross-Origin-Opener-Policy", "same-origin");
  response.SetHeader("Cross-Origin-Resource-Policy", "same-origin");
  if (!HasHeader(response, "Content-Security-Policy")) {
    response.SetHeader("Content-Security-Policy", kPolicy);
  }
  if (!HasHeader(response, "Cache-Control")) {
    response.SetHeader("Cache-Control", "no-store");
  }
}

}  // namespace

bool IsLocalHost(absl::string_view host_header) {
  absl::string_view host = host_header;
  const size_t colon = host.rfind(':');
  if (colon != absl::string_view::npos && colon > 0 && host.back() != ']') {
    host = host.substr(0, colon);
  }
  return host == "127.0.0.1" || host == "localhost" || host == "[::1]";
}

HttpHandler Guarded(HttpHandler handler) {
  return [handler = std::move(handler)](const HttpRequest& request) {
    HttpResponse response;
    if (IsLocalHost(request.host)) {
      response = handler(request);
    } else {
      response.status = 421;  // Misdirected Request
      response.body = "this server answers to localhost only\n";
    }
    AddHeaders(response);
    return response;
  };
}

}  // namespace qb::server
