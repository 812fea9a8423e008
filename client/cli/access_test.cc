// Credentials of qbc: where they come from, where they are kept, and that they never show.
#include <sys/stat.h>

#include "client/cli/testing/cli_fixture.h"

namespace qb::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class AccessCli : public CliFixture {
 protected:
  AccessCli() {
    variables_["XDG_CONFIG_HOME"] = dir_.File("config");
    variables_["QBC_SERVER"] = "farm.example:7410";
  }
  std::string SecretFile(const std::string& name, const std::string& text, mode_t mode = 0600) {
    std::string path = dir_.File(name);
    EXPECT_TRUE(WriteFileAtomically(path, text).ok());
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }
  std::string stored() const { return dir_.File("config/qbc/credentials.json"); }
};

TEST_F(AccessCli, TokenComesFromFlagThenFileVariableThenVariableThenStore) {
  input_ = "stored-token\n";
  ASSERT_EQ(Run({"login"}).code, 0);
  EXPECT_EQ(Run({"whoami"}).code, 0);
  EXPECT_EQ(access_.token, "stored-token");
  variables_["QBC_TOKEN"] = "of-variable";
  Run({"whoami"});
  EXPECT_EQ(access_.token, "of-variable");
  variables_["QBC_TOKEN_FILE"] = SecretFile("a", "of-file\n");
  Run({"whoami"});
  EXPECT_EQ(access_.token, "of-file");
  Run({"whoami", "--token-file", SecretFile("b", "of-flag")});
  EXPECT_EQ(access_.token, "of-flag");
}

TEST_F(AccessCli, LoginIsForOneServerAndForItsOwnerAlone) {
  input_ = "secret-token\n";
  const RunResult login = Run({"login", "--tls-ca", "/ca.pem"});
  EXPECT_EQ(login.code, 0) << login.err;
  EXPECT_THAT(login.out, HasSubstr("team-a at farm.example:7410: jobs:read"));
  EXPECT_THAT(login.out + login.err, Not(HasSubstr("secret-token")));
  struct stat info = {};
  ASSERT_EQ(stat(stored().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  Run({"whoami", "--server", "other.example:7410"});
  EXPECT_EQ(access_.token, "");
  Run({"whoami"});
  EXPECT_EQ(access_.token, "secret-token");
  EXPECT_EQ(access_.tls_ca, "/ca.pem");
  EXPECT_EQ(Run({"login", "--forget"}).code, 0);
  Run({"whoami"});
  EXPECT_EQ(access_.token, "");
}

TEST_F(AccessCli, ARefusedTokenIsNotStored) {
  {
    absl::MutexLock lock(&server_.mutex);
    server_.failures["GetCapabilities"] = {absl::UnauthenticatedError("no")};
  }
  input_ = "bad\n";
  EXPECT_EQ(Run({"login"}).code, 6);
  struct stat info = {};
  EXPECT_NE(stat(stored().c_str(), &info), 0);
}

TEST_F(AccessCli, FilesThatOthersMayReadAreRefused) {
  const RunResult result = Run({"whoami", "--token-file", SecretFile("open", "x", 0644)});
  EXPECT_NE(result.code, 0);
  EXPECT_THAT(result.err, HasSubstr("chmod 600"));
  SecretFile("config/qbc/credentials.json", "{}", 0640);
  EXPECT_THAT(Run({"whoami"}).err, HasSubstr("chmod 600"));
}

TEST_F(AccessCli, CertificateNeedsItsKey) {
  EXPECT_EQ(Run({"whoami", "--tls-cert", "c.pem"}).code, 2);
  EXPECT_EQ(Run({"whoami", "--tls-cert", "c.pem", "--tls-key", "k.pem"}).code, 0);
  EXPECT_EQ(access_.tls_key, "k.pem");
}

TEST_F(AccessCli, ShareNamesTheReaders) {
  SucceedEveryJob();
  ASSERT_EQ(Compile().code, 0);
  std::string id;
  {
    absl::MutexLock lock(&server_.mutex);
    id = server_.jobs.at(0).id();
  }
  EXPECT_EQ(Run({"share", id}).code, 2);
  EXPECT_EQ(Run({"share", id, "--with", "team-b"}).out, id + ": team-b\n");
  EXPECT_EQ(Run({"share", id, "--with", "team-c"}).out, id + ": team-b, team-c\n");
  EXPECT_EQ(Run({"share", id, "--with", "team-b", "--stop"}).out, id + ": team-c\n");
  EXPECT_EQ(Run({"share", id, "--with", "team-c", "--stop"}).out,
            id + ": read by its owner alone\n");
  EXPECT_EQ(Run({"share", "none", "--with", "team-b"}).code, 7);
}

}  // namespace
}  // namespace qb::client
