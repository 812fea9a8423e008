#include "server/config_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <sstream>

#include "absl/strings/str_cat.h"

#include "core/base/atomic_file.h"
#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"
#include "server/jobs/sqlite_connection.h"
#include "server/jobs/sqlite_schema.h"

namespace qb::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ConfigCheck : public ::testing::Test {
 protected:
  // Returns the exit code.
  int Check(std::vector<std::string> arguments) {
    arguments.push_back("--data-dir=" + folder_.File("data"));
    const absl::StatusOr<ServerFlags> flags = ParseServerFlags(arguments, "/opt/qbc/bin");
    EXPECT_TRUE(flags.ok()) << flags.status();
    std::ostringstream out;
    std::ostringstream err;
    const int code = RunConfigCheck(*flags, out, err);
    out_ = out.str();
    err_ = err.str();
    return code;
  }

  std::string Pem(const std::string& name) { return folder_.File(name + ".pem"); }
  std::string Key(const std::string& name) { return folder_.File(name + ".key"); }
  void MakeCertificate(const std::string& name, int days) {
    const std::string command = absl::StrCat(
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days ", days,
        " -subj /CN=", name, " -keyout ", Key(name), " -out ", Pem(name), " >/dev/null 2>&1");
    ASSERT_EQ(std::system(command.c_str()), 0);
  }

  qb::testing::TempDir folder_;
  std::string out_;
  std::string err_;
};

TEST_F(ConfigCheck, AFolderThatIsNotThereYetIsGood) {
  EXPECT_EQ(Check({}), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("the configuration is good"));
  EXPECT_THAT(err_, IsEmpty());
  struct stat info = {};
  EXPECT_NE(stat(folder_.File("data").c_str(), &info), 0) << "it changes nothing";
}

TEST_F(ConfigCheck, TellsEverythingThatIsWrongAtOnce) {
  ASSERT_TRUE(WriteFileAtomically(Pem("a"), "no certificate").ok());
  ASSERT_TRUE(WriteFileAtomically(folder_.File("data/credentials.json"), "no json").ok());
  ASSERT_EQ(chmod(folder_.File("data/credentials.json").c_str(), 0600), 0);
  EXPECT_EQ(Check({"--listen=0.0.0.0:7410", "--auth=required", "--tls-cert=" + Pem("a"),
                   "--tls-key=" + Key("none"), "--worker-listen=nonsense",
                   "--http-listen=0.0.0.0:80", "--local-workers=1", "--port-file=/nowhere/port"}),
            2);
  EXPECT_THAT(
      err_,
      AllOf(HasSubstr("--worker-listen: "), HasSubstr("--http-listen: '0.0.0.0:80'"),
            HasSubstr("--tls-cert: '" + Pem("a")), HasSubstr("--tls-key: "),
            HasSubstr("credentials: "), HasSubstr("--worker-binary: '/opt/qbc/bin/qbc-worker'"),
            HasSubstr("--compiler-binary: "), HasSubstr("--port-file: '/nowhere' is not a folder"),
            HasSubstr("8 problems")));
}

TEST_F(ConfigCheck, CertificatesAreLookedInto) {
  MakeCertificate("good", 90);
  MakeCertificate("soon", 2);
  MakeCertificate("other", 90);
  const std::vector<std::string> common = {"--listen=127.0.0.1:0", "--auth=required"};
  const auto with = [&](const std::string& cert, const std::string& key) {
    std::vector<std::string> all = common;
    all.push_back("--tls-cert=" + cert);
    all.push_back("--tls-key=" + key);
    return all;
  };
  EXPECT_EQ(Check(with(Pem("good"), Key("good"))), 0) << err_;
  EXPECT_EQ(Check(with(Pem("soon"), Key("soon"))), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("(CN = soon) expires soon"));
  EXPECT_EQ(Check(with(Pem("good"), Key("other"))), 2);
  EXPECT_THAT(err_, HasSubstr("the private key is that of another certificate"));
  EXPECT_EQ(Check(with(Pem("good"), Pem("good"))), 2);
  EXPECT_THAT(err_, HasSubstr("no PEM private key"));
}

TEST_F(ConfigCheck, ADatabaseOfANewerProgramIsRefused) {
  ASSERT_TRUE(WriteFileAtomically(folder_.File("data/x"), "").ok());
  {
    QB_ASSERT_OK_AND_ASSIGN(const auto db, SqliteConnection::Open(folder_.File("data/qbc.db"),
                                                                  SqliteConnection::Mode::kWriter));
    QB_ASSERT_OK(MigrateSchema(*db));
    EXPECT_EQ(Check({}), 0) << err_;
    QB_ASSERT_OK(db->Execute("PRAGMA user_version=999"));
  }
  EXPECT_EQ(Check({}), 2);
  EXPECT_THAT(err_, HasSubstr("schema version 999 is newer than this qbc-server"));
}

TEST_F(ConfigCheck, AFileInThePlaceOfTheFolderIsTold) {
  ASSERT_TRUE(WriteFileAtomically(folder_.File("data"), "a file").ok());
  EXPECT_EQ(Check({}), 2);
  EXPECT_THAT(err_, HasSubstr("is not a folder"));
}

TEST_F(ConfigCheck, WhatIsOpenToAllIsNoted) {
  EXPECT_EQ(Check({"--auth=none"}), 0);
  EXPECT_THAT(out_, HasSubstr("note: --auth: none"));
  EXPECT_EQ(Check({"--auth=required"}), 0);
  EXPECT_THAT(out_, HasSubstr("nobody may call"));
}

}  // namespace
}  // namespace qb::server
