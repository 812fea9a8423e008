// What holds for every answer: who may ask, and what a browser may do with it.
#pragma once

#include "absl/strings/string_view.h"

#include "server/http/http_message.h"

namespace qb::server {

// Whether a request was sent to a name of this machine. A web page from elsewhere whose host name
// was made to resolve to 127.0.0.1 says another one ("DNS rebinding").
bool IsLocalHost(absl::string_view host_header);

// Refuses other hosts, asks `handler`, and adds the headers that every answer has: no content
// sniffing, no referrer, nothing from other origins, and, unless the handler has set one, a content
// security policy that allows scripts and styles of this server only, none of them inline.
HttpHandler Guarded(HttpHandler handler);

}  // namespace qb::server
