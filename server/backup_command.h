// `qbc-server backup`: a copy of everything, while the server runs or not.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace qb::server {

// `arguments` is what follows "backup". Returns the exit code: 0, 1 (failed), 2 (usage).
int RunBackupCommand(const std::vector<std::string>& arguments, std::ostream& out,
                     std::ostream& err);

}  // namespace qb::server
