#include "server/auth/credential_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>

#include "absl/strings/str_cat.h"

#include "core/base/atomic_file.h"
#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"

namespace qb::server {
namespace {

using ::qb::testing::StatusIs;
using ::testing::HasSubstr;

Credential MakeOne(const std::string& id) {
  Credential credential;
  credential.id = id;
  credential.tenant = "team-a";
  credential.scopes = {Scope::kJobsRead, Scope::kShare};
  credential.sha256 = std::string(64, 'a');
  credential.expires_ms = 17;
  return credential;
}

class CredentialFile : public ::testing::Test {
 protected:
  absl::Status Add(const Credential& credential) {
    return EditCredentialFile(path_, [&](std::vector<Credential>& all) {
      all.push_back(credential);
      return absl::OkStatus();
    });
  }
  qb::testing::TempDir folder_;
  const std::string path_ = folder_.File("credentials.json");
};

TEST_F(CredentialFile, NoFileIsNoCredentials) {
  QB_ASSERT_OK_AND_ASSIGN(const std::vector<Credential> all, ReadCredentialFile(path_));
  EXPECT_TRUE(all.empty());
}

TEST_F(CredentialFile, GivesBackWhatWasWrittenAndIsForItsOwnerAlone) {
  QB_ASSERT_OK(Add(MakeOne("1")));
  Credential certificate = MakeOne("2");
  certificate.sha256 = "";
  certificate.certificate = "spiffe://builders.example/x";
  QB_ASSERT_OK(Add(certificate));
  QB_ASSERT_OK_AND_ASSIGN(const std::vector<Credential> all, ReadCredentialFile(path_));
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].tenant, "team-a");
  EXPECT_EQ(all[0].expires_ms, 17);
  EXPECT_TRUE(all[0].scopes.Has(Scope::kShare));
  EXPECT_FALSE(all[0].scopes.Has(Scope::kJobsWrite));
  EXPECT_EQ(all[1].certificate, "spiffe://builders.example/x");
  struct stat info = {};
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(CredentialFile, FileThatOthersMayReadIsRefused) {
  QB_ASSERT_OK(Add(MakeOne("1")));
  chmod(path_.c_str(), 0640);
  EXPECT_THAT(ReadCredentialFile(path_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("chmod 600")));
}

TEST_F(CredentialFile, SaysWhatIsWrongInIt) {
  for (const auto& [text, words] : std::vector<std::pair<std::string, std::string>>{
           {"", "expected"},
           {"{}", "expected {\"credentials\""},
           {R"({"credentials": [{}]})", "credential 1"},
           {R"({"credentials": [{"id": "1", "scopes": ["root"]}]})", "scope 'root'"},
           {R"({"credentials": [{"id": "1", "tenant": "A/B", "scopes": ["share"]}]})", "'A/B'"},
           {R"({"credentials": [{"id": "1", "tenant": "a", "scopes": ["share"]}]})", "sha256"}}) {
    ASSERT_TRUE(WriteFileAtomically(path_, text).ok());
    chmod(path_.c_str(), 0600);
    EXPECT_THAT(ReadCredentialFile(path_),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(words)))
        << text;
  }
  ASSERT_TRUE(WriteFileAtomically(path_, "{\"credentials\": []}").ok());
  chmod(path_.c_str(), 0600);
  QB_ASSERT_OK(Add(MakeOne("1")));
  QB_ASSERT_OK(Add(MakeOne("1")));
  EXPECT_THAT(ReadCredentialFile(path_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("twice")));
}

TEST_F(CredentialFile, EditsAtTheSameTimeLoseNothing) {
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        QB_EXPECT_OK(Add(MakeOne(absl::StrCat(t, "-", i))));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  QB_ASSERT_OK_AND_ASSIGN(const std::vector<Credential> all, ReadCredentialFile(path_));
  EXPECT_EQ(all.size(), 40u);
}

TEST_F(CredentialFile, AFailedEditChangesNothing) {
  QB_ASSERT_OK(Add(MakeOne("1")));
  EXPECT_EQ(EditCredentialFile(path_,
                               [](std::vector<Credential>& all) {
                                 all.clear();
                                 return absl::NotFoundError("x");
                               })
                .code(),
            absl::StatusCode::kNotFound);
  QB_ASSERT_OK_AND_ASSIGN(const std::vector<Credential> all, ReadCredentialFile(path_));
  EXPECT_EQ(all.size(), 1u);
}

TEST(CheckTenantName, KeepsNamesOutOfPathsAndOfTheWorkers) {
  for (const char* good : {"a", "team-a", "0", "default"}) {
    QB_EXPECT_OK(CheckTenantName(good));
  }
  for (const std::string& bad :
       {std::string(), std::string("A"), std::string("a.b"), std::string("../x"), std::string("-a"),
        std::string("a b"), std::string(kWorkerTenant), std::string(41, 'a')}) {
    EXPECT_FALSE(CheckTenantName(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace qb::server
