#include "server/token_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "absl/strings/strip.h"

#include "core/base/atomic_file.h"
#include "core/base/testing/temp_dir.h"
#include "server/auth/credential_file.h"
#include "server/auth/token.h"

namespace qb::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class TokenCommand : public ::testing::Test {
 protected:
  int Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--data-dir", folder_.path()});
    std::ostringstream out;
    std::ostringstream err;
    const int code = RunTokenCommand(arguments, out, err);
    out_ = out.str();
    err_ = err.str();
    return code;
  }

  qb::testing::TempDir folder_;
  std::string out_;
  std::string err_;
};

TEST_F(TokenCommand, TheTokenIsPrintedOnceAndStoredNowhere) {
  ASSERT_EQ(Run({"create", "--tenant", "team-a", "--name", "ci"}), 0) << err_;
  const std::string text(absl::StripSuffix(out_, "\n"));
  const auto token = ParseToken(text);
  ASSERT_TRUE(token.has_value()) << out_;
  const auto file = ReadFile(CredentialFilePath(folder_.path()));
  ASSERT_TRUE(file.ok());
  EXPECT_THAT(*file, Not(HasSubstr(token->secret)));
  EXPECT_THAT(*file, HasSubstr(TokenHash(*token)));
  ASSERT_EQ(Run({"list"}), 0);
  EXPECT_THAT(out_, HasSubstr(token->id));
  EXPECT_THAT(out_, HasSubstr("team-a"));
  EXPECT_THAT(out_, HasSubstr("jobs:read,jobs:write,blobs:read,blobs:write,share"));
  EXPECT_THAT(out_, Not(HasSubstr(token->secret)));
}

TEST_F(TokenCommand, RevokeIsByIdAndIsShown) {
  ASSERT_EQ(Run({"create", "--tenant", "a"}), 0);
  const std::string id = ParseToken(absl::StripSuffix(out_, "\n"))->id;
  EXPECT_EQ(Run({"revoke", "0"}), 1);
  EXPECT_EQ(Run({"revoke", id}), 0) << err_;
  Run({"list", "--json"});
  EXPECT_THAT(out_, HasSubstr("\"state\":\"revoked\""));
}

TEST_F(TokenCommand, ACertificateHasOneLiveRegistration) {
  ASSERT_EQ(Run({"create", "--tenant", "a", "--certificate", "farm"}), 0) << err_;
  const std::string id(absl::StripSuffix(out_, "\n"));
  EXPECT_EQ(Run({"create", "--tenant", "b", "--certificate", "farm"}), 1);
  EXPECT_THAT(err_, HasSubstr(id));
  ASSERT_EQ(Run({"revoke", id}), 0);
  EXPECT_EQ(Run({"create", "--tenant", "b", "--certificate", "farm"}), 0) << err_;
}

TEST_F(TokenCommand, SaysWhatIsWrong) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{}, "create, list or revoke"},
      {{"destroy"}, "create, list or revoke"},
      {{"create"}, "tenant ''"},
      {{"create", "--tenant", "A"}, "tenant 'A'"},
      {{"create", "--tenant", "a", "--scopes", "root"}, "scope 'root'"},
      {{"create", "--tenant", "a", "--scopes", "work"}, "not work"},
      {{"create", "--tenant", "a", "--worker"}, "--worker"},
      {{"create", "--tenant", "a", "--expires-in", "soon"}, "expires-in"},
      {{"revoke"}, "id of one token"},
  };
  for (const auto& [arguments, words] : cases) {
    EXPECT_EQ(Run(arguments), 2) << words;
    EXPECT_THAT(err_, HasSubstr(words));
  }
}

TEST_F(TokenCommand, AWorkerHasNoTenantAndAnExpiry) {
  ASSERT_EQ(Run({"create", "--worker", "--expires-in", "1h"}), 0) << err_;
  const auto all = ReadCredentialFile(CredentialFilePath(folder_.path()));
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->at(0).tenant, "");
  EXPECT_EQ(all->at(0).scopes, ScopeSet{Scope::kWork});
  EXPECT_EQ(all->at(0).expires_ms - all->at(0).created_ms, 3'600'000);
}

}  // namespace
}  // namespace qb::server
