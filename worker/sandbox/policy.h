// What a sandbox is to be: the command line of qbc-sandbox as a value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "worker/sandbox/layers.h"

namespace qb::sandbox {

// All paths are absolute. The process sees them under the same names.
struct Policy {
  LayerSet layers;
  std::string root;  // an empty folder on which the new root is built; needed for the layer mount
  std::vector<std::string> programs;   // may be read and executed
  std::vector<std::string> read_only;  // may be read
  std::vector<std::string> writable;   // may be read and changed, not executed
  std::vector<std::string> devices;    // nodes in /dev
  std::string working_dir;
  std::string temporary;  // appears as /tmp; one of `writable`
  // Files that the process group joins by writing its number into them (cgroup.procs).
  std::vector<std::string> groups;
  // Limits of one process, 0: none.
  uint64_t max_file_bytes = 0;
  uint64_t max_address_bytes = 0;
  uint64_t max_cpu_seconds = 0;
  uint64_t max_processes = 512;
  uint64_t max_open_files = 256;
};

// What stands between "run" and the program of the command line, "--" included.
std::vector<std::string> ToArguments(const Policy& policy);

// Takes the arguments after "run" apart; `program` gets what follows "--". Returns "" or what is
// wrong.
std::string FromArguments(const std::vector<std::string>& arguments, Policy& policy,
                          std::vector<std::string>& program);

}  // namespace qb::sandbox
