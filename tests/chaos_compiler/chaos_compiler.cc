// A stand-in for qbcompiler whose behaviour is written in the model file: see README.md.
//
// It takes the same command line and speaks the same JSONL, and does on request what a real
// compiler does only on a bad day: crash, hang, ignore signals, flood its output, leave processes
// behind.
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

#include "core/base/atomic_file.h"
#include "core/base/digest.h"
#include "core/base/json.h"

namespace qb::chaos {
namespace {

volatile sig_atomic_t g_interrupted = 0;  // NOLINT: a signal handler has no other place

void WriteAll(int fd, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written <= 0) {
      return;
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

// The output for a model: hex digits that depend on each of its bytes, `size` of them.
std::string OutputFor(const std::string& model, int64_t size) {
  std::string output;
  for (int64_t i = 0; static_cast<int64_t>(output.size()) < size; ++i) {
    output += Sha256Hex(absl::StrCat(model, i));
  }
  output.resize(static_cast<size_t>(size));
  return output;
}

// One run: the script's lines in order, then the result.
class Run {
 public:
  Run(std::string model, std::string output_path)
      : model_(std::move(model)), output_path_(std::move(output_path)) {}

  int Execute() {
    Emit(Json::Object().Set("type", "status").Set("state", "running").Set("stage", "import"));
    for (const absl::string_view line : absl::StrSplit(model_, '\n')) {
      if (line.empty() || line[0] == '#') {
        continue;
      }
      Step(line);
      if (g_interrupted != 0) {
        Error("CANCELLED", "interrupted");
        return 130;
      }
      if (exit_code_ >= 0) {
        return exit_code_;
      }
    }
    return Finish();
  }

 private:
  void Emit(Json message) {
    message.Set("seq", ++seq_);
    message.Set("ts", absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::Now(), absl::UTCTimeZone()));
    WriteAll(STDOUT_FILENO, message.Dump() + "\n");
  }
  void Log(absl::string_view text) {
    Emit(Json::Object()
             .Set("type", "log")
             .Set("level", "info")
             .Set("logger", "chaos")
             .Set("message", text));
  }
  void Error(absl::string_view code, absl::string_view message) {
    Emit(Json::Object()
             .Set("type", "error")
             .Set("code", code)
             .Set("message", message)
             .Set("details", Json::Object()));
  }

  void Step(absl::string_view line) {
    const std::vector<std::string> words = absl::StrSplit(line, absl::MaxSplits(' ', 1));
    const std::string argument = words.size() > 1 ? words[1] : "";
    int64_t number = 0;
    (void)absl::SimpleAtoi(argument, &number);
    if (!OutputStep(words[0], argument, number) && !ProcessStep(words[0], argument, number)) {
      Error("MODEL_PARSE_ERROR", absl::StrCat("unknown step '", words[0].substr(0, 40), "'"));
      exit_code_ = 1;
    }
  }

  // Steps that write something. False: not one of them.
  bool OutputStep(const std::string& word, const std::string& argument, int64_t number) {
    if (word == "progress") {
      Emit(Json::Object()
               .Set("type", "progress")
               .Set("stage", "calibrate")
               .Set("done", number)
               .Set("total", 100)
               .Set("unit", "sample")
               .Set("fraction", static_cast<double>(number) / 100));
    } else if (word == "stage") {
      Emit(Json::Object().Set("type", "status").Set("state", "running").Set("stage", argument));
    } else if (word == "log") {
      Log(argument);
    } else if (word == "stderr") {
      WriteAll(STDERR_FILENO, argument + "\n");
    } else if (word == "flood") {
      for (int64_t i = 0; i < number; ++i) {
        Log(absl::StrCat(i, " ", std::string(1000, 'x')));
      }
    } else if (word == "flood_stderr") {
      for (int64_t i = 0; i < number; ++i) {
        WriteAll(STDERR_FILENO, absl::StrCat(i, " ", std::string(1000, 'y'), "\n"));
      }
    } else if (word == "garbage") {
      WriteAll(STDOUT_FILENO, absl::string_view("\x00\xff{]not json\nnull\n{\"type\":7}\n", 29));
    } else if (word == "partial_line") {
      WriteAll(STDOUT_FILENO, R"({"type":"log","mess)");
    } else if (word == "seq_gap") {
      seq_ += 5;
    } else if (word == "write_output") {
      output_size_ = number;
    } else if (word == "second_result") {
      second_result_ = true;
    } else if (word == "lie") {
      lie_ = true;
    } else if (word == "no_output") {
      no_output_ = true;
    } else if (word == "link_output") {
      link_target_ = argument;
    } else {
      return false;
    }
    return true;
  }

  // Steps of a process on a bad day. False: not one of them.
  bool ProcessStep(const std::string& word, const std::string& argument, int64_t number) {
    if (word == "sleep_ms") {
      Sleep(number);
    } else if (word == "hang") {
      while (g_interrupted == 0) {
        Sleep(1000);
      }
    } else if (word == "crash") {
      Crash(argument);
    } else if (word == "exit") {
      Exit(argument);
    } else if (word == "ignore_sigterm") {
      ::signal(SIGTERM, SIG_IGN);
    } else if (word == "fork_child") {
      ForkChild(argument);
    } else if (word == "become") {
      Become(argument);
    } else {
      return false;
    }
    return true;
  }

  static void Sleep(int64_t ms) {
    const timespec time = {ms / 1000, static_cast<long>(ms % 1000) * 1'000'000};  // NOLINT
    ::nanosleep(&time, nullptr);  // a signal ends it early
  }

  static void Crash(const std::string& name) {
    static const auto* const signals = new std::map<std::string, int>{
        {"SIGSEGV", SIGSEGV}, {"SIGABRT", SIGABRT}, {"SIGBUS", SIGBUS},
        {"SIGFPE", SIGFPE},   {"SIGKILL", SIGKILL}, {"SIGTERM", SIGTERM}};
    const auto it = signals->find(name);
    const int number = it == signals->end() ? SIGABRT : it->second;
    ::signal(number, SIG_DFL);
    ::raise(number);
  }

  // "exit CODE [ERROR_CODE message]": without an error code nothing is said.
  void Exit(const std::string& argument) {
    const std::vector<std::string> words = absl::StrSplit(argument, absl::MaxSplits(' ', 2));
    if (!absl::SimpleAtoi(words[0], &exit_code_)) {
      exit_code_ = 1;
    }
    if (words.size() > 1) {
      Error(words[1], words.size() > 2 ? words[2] : "as the script says");
    }
  }

  // "PROGRAM ARGUMENT ...": goes on as a program that lies beside this one.
  void Become(const std::string& argument) {
    std::vector<std::string> words = absl::StrSplit(argument, ' ');
    std::vector<char> self(4096);
    const ssize_t size = ::readlink("/proc/self/exe", self.data(), self.size());
    const std::string own(self.data(), size > 0 ? static_cast<size_t>(size) : 0);
    words[0] = own.substr(0, own.rfind('/') + 1) + words[0];
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& one : words) {
      arguments.push_back(one.data());
    }
    arguments.push_back(nullptr);
    ::execv(arguments[0], arguments.data());
    exit_code_ = 126;
  }

  // "": of the same session; "setsid": of its own; "daemon": also orphaned by a second fork,
  // without the environment that tells where it comes from and without the pipes.
  static void ForkChild(const std::string& how) {
    if (::fork() == 0) {
      if (!how.empty()) {
        ::setsid();
      }
      ::signal(SIGTERM, SIG_IGN);
      if (how == "daemon") {
        if (::fork() != 0) {
          ::_exit(0);
        }
        ::clearenv();
        for (int fd = 0; fd < 3; ++fd) {
          ::close(fd);
        }
      }
      while (true) {
        ::pause();
      }
    }
  }

  int Finish() {
    const std::string bytes = OutputFor(model_, output_size_);
    if (!link_target_.empty()) {
      if (::symlink(link_target_.c_str(), output_path_.c_str()) != 0) {
        return 1;
      }
    } else if (!no_output_ && !WriteFileAtomically(output_path_, bytes).ok()) {
      Error("OUTPUT_WRITE_ERROR", "cannot write the output");
      return 1;
    }
    Json output = Json::Object();
    output.Set("path", output_path_);
    output.Set("sha256", lie_ ? std::string(64, '0') : Sha256Hex(bytes));
    output.Set("bytes", output_size_);
    Json result = Json::Object()
                      .Set("type", "result")
                      .Set("device", "cpu")
                      .Set("outputs", Json::Array().Append(output))
                      .Set("report", Json::Object().Set("steps", seq_));
    Emit(result);
    if (second_result_) {
      Emit(result);
    }
    return 0;
  }

  const std::string model_;
  const std::string output_path_;
  int64_t seq_ = 0;
  int64_t output_size_ = 1000;
  int exit_code_ = -1;
  bool second_result_ = false;
  bool lie_ = false;
  bool no_output_ = false;
  std::string link_target_;
};

int Main(int argc, char** argv) {
  std::map<std::string, std::string> flags;
  for (int i = 1; i + 1 < argc; ++i) {
    flags[argv[i]] = argv[i + 1];
  }
  if (argc > 1 && std::string(argv[1]) == "--version") {
    std::puts("chaos_compiler 1");
    return 0;
  }
  const absl::StatusOr<std::string> model = ReadFile(flags["--model"]);
  if (!model.ok() || flags["--output"].empty()) {
    std::fprintf(stderr, "chaos_compiler: no --model that can be read, or no --output\n");
    return 2;
  }
  struct sigaction action = {};
  action.sa_handler = [](int) { g_interrupted = 1; };
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigaction(SIGINT, &action, nullptr);
  return Run(*model, flags["--output"]).Execute();
}

}  // namespace
}  // namespace qb::chaos

int main(int argc, char** argv) { return qb::chaos::Main(argc, argv); }
