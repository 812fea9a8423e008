// Which library computes in float, for reports and bug reports.
#pragma once

#include <string>

namespace qb {

struct ComputeLibrary {
  std::string name;          // "oneDNN"
  std::string version;       // "2.6.3"
  std::string instructions;  // the widest that it uses on this CPU: "avx2"
};
ComputeLibrary FloatLibrary();

}  // namespace qb
