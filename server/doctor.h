// `qbc-server doctor`: what really works on this machine, by trying it.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace qb::server {

// `arguments` is what follows "doctor": flags of the server; without --data-dir a folder is not
// looked at. `own_path`: of this program. Returns the exit code: 0, 1 (something is wrong), 2
// (usage).
int RunDoctor(const std::vector<std::string>& arguments, const std::string& own_path,
              std::ostream& out, std::ostream& err);

}  // namespace qb::server
