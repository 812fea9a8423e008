#include "server/http/http_message.h"

namespace qb::server {

std::string HttpRequest::Query(absl::string_view name) const {
  std::string found;
  for (const auto& [key, value] : query) {
    if (key == name) {
      found = value;
    }
  }
  return found;
}

std::vector<std::string> HttpRequest::QueryAll(absl::string_view name) const {
  std::vector<std::string> found;
  for (const auto& [key, value] : query) {
    if (key == name) {
      found.push_back(value);
    }
  }
  return found;
}

void HttpResponse::SetHeader(absl::string_view name, absl::string_view value) {
  for (auto& [key, old] : headers) {
    if (key == name) {
      old = std::string(value);
      return;
    }
  }
  headers.emplace_back(name, value);
}

}  // namespace qb::server
