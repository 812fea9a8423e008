#include "client/cpp/grpc_stub.h"

#include "absl/time/clock.h"

#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"
#include "proto/qbc/v1/job_service.pb.h"

namespace qb::client {
namespace {

using ::qb::testing::StatusIs;
using ::testing::HasSubstr;

ServerAccess AccessTo(const std::string& address) {
  ServerAccess access;
  access.address = address;
  return access;
}

TEST(ParseServerAddress, AcceptsSocketsAndHostsWithPort) {
  EXPECT_EQ(*ParseServerAddress("unix:/run/qbc.sock"), "unix:/run/qbc.sock");
  EXPECT_EQ(*ParseServerAddress("unix:///run/qbc.sock"), "unix:/run/qbc.sock");
  EXPECT_EQ(*ParseServerAddress("/run/qbc.sock"), "unix:/run/qbc.sock");
  EXPECT_EQ(*ParseServerAddress("127.0.0.1:7410"), "127.0.0.1:7410");
  EXPECT_EQ(*ParseServerAddress("[::1]:7410"), "[::1]:7410");
}

TEST(ParseServerAddress, RefusesTheRest) {
  for (const char* address :
       {"", "host", "host:", ":1", "host:0", "host:70000", "host:x", "unix:", "http://host:1/x"}) {
    EXPECT_THAT(ParseServerAddress(address),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("accepted are")))
        << address;
  }
}

TEST(GrpcStub, NamesTheCertificateFileThatIsMissing) {
  for (const char* address : {"farm.example:7410", "127.0.0.1:7410"}) {
    ServerAccess access = AccessTo(address);
    access.tls_ca = "/none.pem";
    EXPECT_THAT(CreateGrpcStub(access).status(),
                StatusIs(absl::StatusCode::kNotFound, HasSubstr("/none.pem")))
        << address;
  }
}

TEST(GrpcStub, TellsThatNobodyListens) {
  qb::testing::TempDir dir;
  auto stub = CreateGrpcStub(AccessTo(dir.File("none.sock")));
  QB_ASSERT_OK(stub.status());
  EXPECT_THAT((*stub)->GetJob({}, {.timeout = absl::Seconds(20)}),
              StatusIs(absl::StatusCode::kUnavailable, ::testing::_));
}

TEST(GrpcStub, InterruptionEndsACall) {
  qb::testing::TempDir dir;
  Interruption interruption;
  interruption.Raise();
  auto stub = CreateGrpcStub(AccessTo(dir.File("none.sock")));
  QB_ASSERT_OK(stub.status());
  EXPECT_THAT((*stub)->GetJob({}, {.interruption = &interruption}),
              StatusIs(absl::StatusCode::kCancelled, ::testing::_));
}

}  // namespace
}  // namespace qb::client
