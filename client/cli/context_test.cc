// Contexts of qbc: which server and which files a command uses.
#include <sys/stat.h>

#include "client/cli/testing/cli_fixture.h"

namespace qb::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ContextCli : public CliFixture {
 protected:
  ContextCli() {
    variables_["XDG_CONFIG_HOME"] = dir_.File("config");
    variables_["XDG_RUNTIME_DIR"] = "/run/user/1";
  }
  std::string Secret(const std::string& name, const std::string& text) {
    const std::string path = dir_.File(name);
    EXPECT_TRUE(WriteFileAtomically(path, text).ok());
    EXPECT_EQ(chmod(path.c_str(), 0600), 0);
    return path;
  }
  void MakeTwo() {
    ASSERT_EQ(Run({"context", "set", "farm", "--server", "farm.example:7410", "--token-file",
                   Secret("token", "of-farm"), "--tls-ca", "/etc/ca.pem"})
                  .code,
              0);
    ASSERT_EQ(Run({"context", "set", "here", "--server", "unix:/run/qbc.sock"}).code, 0);
  }
};

TEST_F(ContextCli, UsesTheServerAndTheFilesOfTheOneInUse) {
  MakeTwo();
  Run({"status"});
  EXPECT_EQ(address_, "unix:/run/user/1/qbc.sock") << "none is in use yet";
  EXPECT_EQ(Run({"context", "use", "farm"}).code, 0);
  Run({"status"});
  EXPECT_EQ(address_, "farm.example:7410");
  EXPECT_EQ(access_.token, "of-farm");
  EXPECT_EQ(access_.tls_ca, "/etc/ca.pem");
  EXPECT_EQ(Run({"context", "clear"}).code, 0);
  Run({"status"});
  EXPECT_EQ(address_, "unix:/run/user/1/qbc.sock");
  EXPECT_EQ(access_.token, "");
}

TEST_F(ContextCli, FlagsAndVariablesWin) {
  MakeTwo();
  Run({"context", "use", "farm"});
  variables_["QBC_CONTEXT"] = "here";
  Run({"status"});
  EXPECT_EQ(address_, "unix:/run/qbc.sock");
  variables_["QBC_SERVER"] = "other:1";
  Run({"status"});
  EXPECT_EQ(address_, "other:1");
  EXPECT_EQ(access_.token, "") << "the token of a context is for its own server";
  Run({"status", "--context", "farm"});
  EXPECT_EQ(address_, "farm.example:7410");
  Run({"status", "--context", "farm", "--token-file", Secret("mine", "mine")});
  EXPECT_EQ(access_.token, "mine");
  Run({"status", "--server", "third:1"});
  EXPECT_EQ(address_, "third:1");
}

TEST_F(ContextCli, ListsShowsChangesAndRemoves) {
  MakeTwo();
  Run({"context", "use", "farm"});
  EXPECT_EQ(
      Run({"context"}).out,
      "* farm                 farm.example:7410\n  here                 unix:/run/qbc.sock\n");
  EXPECT_EQ(Run({"context", "set", "farm", "--server", "new.example:1"}).code, 0);
  const RunResult shown = Run({"context", "show"});
  EXPECT_THAT(shown.out, HasSubstr("server:      new.example:1\n"));
  EXPECT_THAT(shown.out, HasSubstr("token file:  " + dir_.File("token")));
  EXPECT_THAT(shown.out, Not(HasSubstr("of-farm")));
  const std::vector<Json> lines = Lines(Run({"context", "list", "--json"}).out);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0]["contexts"].items().at(0)["name"].as_string(), "farm");
  EXPECT_TRUE(lines[0]["contexts"].items().at(0)["current"].as_bool());
  EXPECT_EQ(Run({"context", "remove", "farm"}).code, 0);
  EXPECT_EQ(Run({"context"}).out, "  here                 unix:/run/qbc.sock\n");
  struct stat info = {};
  ASSERT_EQ(stat(dir_.File("config/qbc/contexts.json").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(ContextCli, SaysWhatIsWrong) {
  EXPECT_EQ(Run({"context", "use", "nowhere"}).code, 7);
  EXPECT_EQ(Run({"context", "set", "farm"}).code, 2);
  EXPECT_EQ(Run({"context", "set", "-x", "--server", "a:1"}).code, 2);
  EXPECT_EQ(Run({"context", "set", "a b", "--server", "a:1"}).code, 2);
  EXPECT_EQ(Run({"context", "set", "a", "--server", "a:1", "--tls-cert", "c"}).code, 2);
  EXPECT_EQ(Run({"context", "dance"}).code, 2);
  MakeTwo();
  const RunResult result = Run({"status", "--context", "fram"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("there is no context 'fram'; there are: farm, here"));
}

TEST_F(ContextCli, ABrokenChoiceCanBeRepaired) {
  MakeTwo();
  Run({"context", "use", "farm"});
  variables_["QBC_CONTEXT"] = "gone";
  EXPECT_EQ(Run({"status"}).code, 2);
  EXPECT_EQ(Run({"context", "list"}).code, 0);
  EXPECT_EQ(Run({"context", "clear"}).code, 0);
  EXPECT_EQ(Run({"version"}).code, 0);
}

TEST_F(ContextCli, ATraceOfTheCallerGoesAlong) {
  variables_["TRACEPARENT"] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  Run({"status"});
  EXPECT_EQ(access_.traceparent, variables_["TRACEPARENT"]);
  variables_["TRACEPARENT"] = "no trace";
  Run({"status"});
  EXPECT_EQ(access_.traceparent, "");
}

}  // namespace
}  // namespace qb::client
