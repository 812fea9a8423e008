// A program that tries to do one thing that a compiler has no business to do. Exit code 0: it
// worked. 1: it was refused. 2: wrong use. Ended by a signal: the kernel did not even answer.
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace {

// The value of a line of /proc/self/status, e.g. of "CapBnd:".
std::string StatusLine(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == name) {
      status >> word;
      return word;
    }
  }
  return "";
}

// "net=net:[4026531840]": are we still there?
bool InNamespace(const std::string& argument) {
  const size_t equals = argument.find('=');
  const std::string path = "/proc/self/ns/" + argument.substr(0, equals);
  std::array<char, 256> link = {};
  const ssize_t size = readlink(path.c_str(), link.data(), link.size());
  return size > 0 &&
         argument.substr(equals + 1) == std::string(link.data(), static_cast<size_t>(size));
}

// A program that it has written itself.
bool RunWritten(const std::string& path) {
  std::ifstream source("/proc/self/exe", std::ios::binary);
  std::ofstream copy(path, std::ios::binary);
  copy << source.rdbuf();
  copy.close();
  chmod(path.c_str(), 0755);
  const pid_t child = fork();
  if (child == 0) {
    execl(path.c_str(), path.c_str(), "nothing", nullptr);
    _exit(99);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool OpenManyFiles() {
  int count = 0;
  while (count < 1000 && open("/dev/null", O_RDONLY) >= 0) {
    ++count;
  }
  return count == 1000;
}

bool WriteFile(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT, 0644);
  return fd >= 0 && write(fd, "x", 1) == 1;
}

bool ReadFile(const std::string& path) { return open(path.c_str(), O_RDONLY) >= 0; }

bool WriteMuch(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT, 0644);
  const std::vector<char> block(1 << 20, 'x');
  for (int i = 0; i < 64; ++i) {
    if (write(fd, block.data(), block.size()) != static_cast<ssize_t>(block.size())) {
      return false;
    }
  }
  return fd >= 0;
}

bool Connect(const std::string& port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(atoi(port.c_str())));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return fd >= 0 && connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
}

// Leaves processes behind that ignore SIGTERM, in sessions of their own, each with its number in
// `folder`, then goes on as `then` says: "exit" or "stay".
bool LeaveProcesses(const std::string& argument) {
  const size_t comma = argument.find(',');
  const std::string folder = argument.substr(0, comma);
  signal(SIGTERM, SIG_IGN);
  for (int i = 0; i < 4; ++i) {
    if (fork() == 0) {
      setsid();
      if (fork() == 0) {
        clearenv();
        std::ofstream(folder + "/" + std::to_string(i)) << "started";
        while (true) {
          pause();
        }
      }
      _exit(0);
    }
  }
  usleep(100'000);
  while (argument.substr(comma + 1) == "stay") {
    pause();
  }
  return true;
}

bool ForkBomb() {
  int children = 0;
  for (; children < 1000; ++children) {
    const pid_t child = fork();
    if (child < 0) {
      return false;
    }
    if (child == 0) {
      pause();
      _exit(0);
    }
  }
  return true;
}

bool EatMemory(const std::string& mebibytes) {
  for (int i = 0; i < atoi(mebibytes.c_str()); ++i) {
    void* block =
        mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) {
      return false;
    }
    memset(block, 1, 1 << 20);
  }
  return true;
}

// Small files without end, as many as the argument says.
bool MakeFiles(const std::string& argument) {
  const size_t comma = argument.find(',');
  for (int i = 0; i < atoi(argument.substr(comma + 1).c_str()); ++i) {
    if (!WriteFile(argument.substr(0, comma) + "/" + std::to_string(i))) {
      return false;
    }
  }
  return true;
}

bool BurnCpu(const std::string& seconds) {
  const clock_t end = clock() + atoi(seconds.c_str()) * CLOCKS_PER_SEC;
  while (clock() < end) {
  }
  return true;
}

bool Flood(const std::string& mebibytes) {
  const std::vector<char> block(1 << 20, 'x');
  for (int i = 0; i < atoi(mebibytes.c_str()); ++i) {
    if (write(STDOUT_FILENO, block.data(), block.size()) < 0) {
      return false;
    }
  }
  return true;
}

// Beyond the three that every program has.
bool HasOtherDescriptors() {
  for (int fd = 3; fd < 256; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) {
      return true;
    }
  }
  return false;
}

const std::map<std::string, std::function<bool(const std::string&)>>& Deeds() {
  static const auto& deeds = *new std::map<std::string, std::function<bool(const std::string&)>>({
      {"nothing", [](const std::string&) { return true; }},
      {"in_namespace", InNamespace},
      {"signal", [](const std::string& pid) { return kill(atoi(pid.c_str()), 0) == 0; }},
      {"see", [](const std::string& path) { return access(path.c_str(), F_OK) == 0; }},
      {"read", ReadFile},
      {"write", WriteFile},
      {"write_much", WriteMuch},
      {"may_regain_capabilities",
       [](const std::string&) { return strtoull(StatusLine("CapBnd:").c_str(), nullptr, 16) != 0; }},
      {"may_gain_privileges",
       [](const std::string&) { return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0; }},
      {"host_name",
       [](const std::string& name) {
         std::array<char, 256> own = {};
         return gethostname(own.data(), own.size() - 1) == 0 && name == own.data();
       }},
      {"run_written", RunWritten},
      {"be_traced",
       [](const std::string&) { return ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0; }},
      {"system_call",
       [](const std::string& number) {
         return syscall(atoi(number.c_str()), 0, 0, 0, 0, 0, 0) >= 0 || errno != EPERM;
       }},
      {"many_files", [](const std::string&) { return OpenManyFiles(); }},
      {"connect", Connect},
      {"leave_processes", LeaveProcesses},
      {"fork_bomb", [](const std::string&) { return ForkBomb(); }},
      {"eat_memory", EatMemory},
      {"burn_cpu", BurnCpu},
      {"make_files", MakeFiles},
      {"flood", Flood},
      {"link", [](const std::string& path) { return symlink("/etc/passwd", path.c_str()) == 0; }},
      {"descriptors", [](const std::string&) { return HasOtherDescriptors(); }},
      {"environment", [](const std::string& name) { return getenv(name.c_str()) != nullptr; }},
  });
  return deeds;
}

}  // namespace

int main(int argc, char** argv) {
  const auto deed = argc > 1 ? Deeds().find(argv[1]) : Deeds().end();
  if (deed == Deeds().end()) {
    fputs("usage: hostile_child DEED [ARGUMENT]\n", stderr);
    return 2;
  }
  return deed->second(argc > 2 ? argv[2] : "") ? 0 : 1;
}
