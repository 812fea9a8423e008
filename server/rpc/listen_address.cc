#include "server/rpc/listen_address.h"

#include <sys/un.h>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace qb::server {

std::string ListenAddress::ToGrpc() const {
  return unix_path.empty() ? absl::StrCat(host, ":", port) : absl::StrCat("unix:", unix_path);
}

absl::StatusOr<ListenAddress> ParseListenAddress(absl::string_view flag, absl::string_view text) {
  ListenAddress address;
  absl::string_view rest = text;
  if (absl::ConsumePrefix(&rest, "unix:")) {
    absl::ConsumePrefix(&rest, "//");
    if (rest.empty() || rest[0] != '/' || rest.size() >= sizeof(sockaddr_un::sun_path)) {
      return absl::InvalidArgumentError(
          absl::StrCat(flag, ": '", text, "': expected unix: and an absolute path of at most ",
                       sizeof(sockaddr_un::sun_path) - 1, " bytes"));
    }
    address.unix_path = std::string(rest);
    return address;
  }
  const size_t colon = text.rfind(':');
  int port = 0;
  if (colon == absl::string_view::npos || !absl::SimpleAtoi(text.substr(colon + 1), &port) ||
      port < 0 || port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": '", text, "': expected unix:/path or HOST:PORT"));
  }
  const absl::string_view host = text.substr(0, colon);
  if (host.empty() || (absl::StrContains(host, ':') && host[0] != '[')) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": '", text, "': expected a host, 0.0.0.0 or [::] before the port"));
  }
  address.host = host == "localhost" ? "127.0.0.1" : std::string(host);
  address.loopback = address.host == "127.0.0.1" || address.host == "[::1]";
  address.port = port;
  return address;
}

}  // namespace qb::server
