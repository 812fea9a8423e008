// `qbc-server token create|list|revoke`: who may call a server.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace qb::server {

// `arguments` is what follows "token". A new token goes to `out`, once, and nowhere else. Works
// beside a running server, which notices within a second. Returns the exit code: 0, 1 (failed), 2
// (usage).
int RunTokenCommand(const std::vector<std::string>& arguments, std::ostream& out,
                    std::ostream& err);

}  // namespace qb::server
