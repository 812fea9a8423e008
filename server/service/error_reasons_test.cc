#include "server/service/error_reasons.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "core/base/failure.h"

namespace qb::server {
namespace {

using ::testing::HasSubstr;

std::string TextOf(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::set<std::string> Names() {
  std::set<std::string> names;
  for (const ErrorReason& reason : AllErrorReasons()) {
    names.insert(std::string(reason.name));
  }
  return names;
}

// Every "REASON: " and "..._LIMIT" that the server's own sources write.
std::set<std::string> ReasonsInSources() {
  const std::regex literal("\"([A-Z][A-Z_]{2,})(: |_LIMIT\")");
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("server")) {
    const std::string name = entry.path().filename().string();
    const std::string extension = entry.path().extension().string();
    if ((extension != ".cc" && extension != ".h") || name.find("_test.cc") != std::string::npos ||
        entry.path().string().find("/testing/") != std::string::npos ||
        name == "error_reasons.cc") {
      continue;
    }
    const std::string text = TextOf(entry.path());
    for (std::sregex_iterator it(text.begin(), text.end(), literal), end; it != end; ++it) {
      const std::string reason = (*it)[1].str() + ((*it)[2] == ": " ? "" : "_LIMIT");
      if (FailureCodeFromName(reason) == FailureCode::kNone) {
        found.insert(reason);
      }
    }
  }
  return found;
}

TEST(ErrorReasons, AreThoseThatTheSourcesWrite) {
  std::set<std::string> written = ReasonsInSources();
  // What a job waits for: no call fails with it.
  EXPECT_EQ(written.erase("NO_CAPABLE_WORKER"), 1);
  EXPECT_EQ(written, Names());
}

TEST(ErrorReasons, AreDescribed) {
  const std::string page = TextOf("docs/troubleshooting.md");
  for (const std::string& name : Names()) {
    EXPECT_THAT(page, HasSubstr("`" + name + "`"));
  }
}

TEST(ErrorReasons, KnowsFailuresAndStatusCodesToo) {
  for (const char* reason : {"MISSING_BLOB", "CONFIG_ERROR", "INVALID_ARGUMENT", "NOT_FOUND"}) {
    EXPECT_TRUE(IsKnownReason(reason)) << reason;
  }
  for (const char* reason : {"", "OK", "missing_blob", "SOMETHING"}) {
    EXPECT_FALSE(IsKnownReason(reason)) << reason;
  }
}

}  // namespace
}  // namespace qb::server
