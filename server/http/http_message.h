// One HTTP request and its answer, as handlers see them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

#include "server/runtime/frame_source.h"

namespace qb::server {

struct HttpRequest {
  std::string
      method;        // GET, HEAD, POST or DELETE: the server refuses others itself; without a body
  std::string path;  // percent-decoded, begins with '/'
  std::vector<std::pair<std::string, std::string>> query;  // percent-decoded, in order
  std::string host;                                        // headers; "" when absent
  std::string authorization;
  std::string cookie;
  std::string if_none_match;
  std::string last_event_id;
  std::string fetch_site;  // Sec-Fetch-Site: which page made a browser ask
  // For streams: to be called, by any thread, when HttpResponse::stream has more to give.
  std::function<void()> wake;

  // The last value of a query parameter, or "".
  std::string Query(absl::string_view name) const;
  std::vector<std::string> QueryAll(absl::string_view name) const;
};

// Pieces of a body, made one at a time.
using HttpStream = FrameSource<std::string>;

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;  // besides the content type
  // When set, the body comes from here.
  std::shared_ptr<HttpStream> stream;
  std::optional<int64_t> stream_bytes;  // when it is known
  // What was asked for, without the parts that differ from request to request; for metrics.
  std::string route;

  // Sets a header, over one of the same name.
  void SetHeader(absl::string_view name, absl::string_view value);
};

// Runs on a thread that may wait.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

}  // namespace qb::server
