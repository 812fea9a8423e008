#include "server/auth/authenticator.h"

#include <gtest/gtest.h>

#include <set>

#include "absl/strings/str_cat.h"

#include "core/base/atomic_file.h"
#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"
#include "server/auth/token.h"
#include "server/testing/fake_clock.h"

namespace qb::server {
namespace {

using ::qb::testing::StatusIs;
using ::testing::HasSubstr;

class AuthenticatorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto authenticator = Authenticator::Create(path_, clock_);
    ASSERT_TRUE(authenticator.ok()) << authenticator.status();
    authenticator_ = *std::move(authenticator);
  }

  // Adds a token (or, with a name, a certificate) and returns the token's text.
  std::string Add(const std::string& tenant, int64_t expires_ms = 0,
                  const std::string& certificate = "") {
    const Token token = MakeToken();
    Credential credential;
    credential.id = token.id;
    credential.tenant = tenant;
    credential.scopes = {Scope::kJobsRead};
    credential.expires_ms = expires_ms;
    credential.certificate = certificate;
    credential.sha256 = certificate.empty() ? TokenHash(token) : "";
    QB_EXPECT_OK(EditCredentialFile(path_, [&](std::vector<Credential>& all) {
      all.push_back(credential);
      return absl::OkStatus();
    }));
    QB_EXPECT_OK(authenticator_->Refresh());
    return token.Text();
  }

  absl::StatusOr<Caller> With(const std::string& authorization,
                              std::vector<absl::string_view> names = {}) {
    return authenticator_->Authenticate({authorization, std::move(names)});
  }

  qb::testing::TempDir folder_;
  const std::string path_ = folder_.File("credentials.json");
  testing::FakeClock clock_;
  std::unique_ptr<Authenticator> authenticator_;
};

TEST_F(AuthenticatorTest, ATokenSaysTenantAndScopes) {
  const std::string token = Add("team-a");
  for (const char* scheme : {"Bearer ", "bearer ", "Bearer   "}) {
    QB_ASSERT_OK_AND_ASSIGN(const Caller caller, With(absl::StrCat(scheme, token)));
    EXPECT_EQ(caller.tenant, "team-a");
    EXPECT_EQ(caller.scopes, ScopeSet{Scope::kJobsRead});
    EXPECT_NE(caller.credential, "");
  }
}

TEST_F(AuthenticatorTest, WhateverIsWrongTheAnswerIsTheSame) {
  std::string token = Add("team-a");
  const std::string expired = Add("team-a", clock_.WallMs());
  std::string other_secret = token;
  other_secret.back() = other_secret.back() == '0' ? '1' : '0';
  std::set<std::string> messages;
  for (const std::string& text :
       {std::string(), std::string("Bearer"), "Bearer " + MakeToken().Text(),
        "Bearer " + other_secret, "Bearer " + expired, "Basic " + token, token}) {
    const absl::StatusOr<Caller> caller = With(text);
    EXPECT_THAT(caller, StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr(""))) << text;
    messages.insert(std::string(caller.status().message()));
  }
  EXPECT_EQ(messages.size(), 1u);
}

TEST_F(AuthenticatorTest, TokensExpireByTheClock) {
  const std::string token = Add("team-a", clock_.WallMs() + 1000);
  QB_ASSERT_OK_AND_ASSIGN(const Caller caller, With("Bearer " + token));
  EXPECT_TRUE(authenticator_->StillGood(caller));
  clock_.AdvanceMs(1000);
  EXPECT_FALSE(authenticator_->StillGood(caller));
  EXPECT_FALSE(With("Bearer " + token).ok());
}

TEST_F(AuthenticatorTest, ACertificateCountsOnlyWhenItIsRegistered) {
  Add("team-c", 0, "spiffe://builders.example/c");
  EXPECT_FALSE(With("", {"spiffe://builders.example/d", "c"}).ok());
  QB_ASSERT_OK_AND_ASSIGN(const Caller caller,
                          With("", {"spiffe://builders.example/d", "spiffe://builders.example/c"}));
  EXPECT_EQ(caller.tenant, "team-c");
  // A bad token is not made good by a certificate.
  EXPECT_FALSE(With("Bearer x", {"spiffe://builders.example/c"}).ok());
}

TEST_F(AuthenticatorTest, RevocationIsSeenAndADamagedFileKeepsWhatWasKnown) {
  const std::string token = Add("team-a");
  QB_ASSERT_OK_AND_ASSIGN(const Caller caller, With("Bearer " + token));
  QB_ASSERT_OK(EditCredentialFile(path_, [](std::vector<Credential>& all) {
    all[0].revoked_ms = 1;
    return absl::OkStatus();
  }));
  EXPECT_TRUE(authenticator_->StillGood(caller));
  QB_ASSERT_OK(authenticator_->Refresh());
  EXPECT_FALSE(authenticator_->StillGood(caller));
  EXPECT_FALSE(With("Bearer " + token).ok());
  const std::string other = Add("team-b");
  ASSERT_TRUE(WriteFileAtomically(path_, "damaged").ok());
  EXPECT_FALSE(authenticator_->Refresh().ok());
  EXPECT_TRUE(With("Bearer " + other).ok());
}

TEST_F(AuthenticatorTest, CallersWithoutCredentialStayGood) {
  EXPECT_TRUE(authenticator_->StillGood(Caller()));
}

}  // namespace
}  // namespace qb::server
