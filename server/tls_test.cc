// Servers that strangers can reach: TLS, client certificates, workers on a listener of their own.
#include <cstdlib>

#include "core/base/atomic_file.h"
#include "core/base/testing/status_matchers.h"
#include "server/auth/credential_file.h"
#include "server/auth/token.h"
#include "server/runtime/durable_files.h"
#include "server/testing/server_fixture.h"

namespace qb::server {
namespace {

using ::qb::testing::StatusIs;
using ::testing::HasSubstr;
using enum grpc::StatusCode;

// Certificates of the test, made by openssl: <name>.pem and <name>.key, signed by <ca>.
class TlsTest : public ServerTest {
 protected:
  void SetUp() override {
    MakeCa("ca");
    MakeCa("worker-ca");
    MakeCa("stranger-ca");
    MakeCertificate("server", "ca", "IP:127.0.0.1");
    MakeCertificate("client", "ca", "URI:spiffe://farm/team-a");
    MakeCertificate("worker", "worker-ca", "DNS:worker-1");
    MakeCertificate("stranger", "stranger-ca", "URI:spiffe://farm/team-a");
  }

  std::string Pem(const std::string& name) { return folder_.File(name + ".pem"); }
  std::string Key(const std::string& name) { return folder_.File(name + ".key"); }

  void Shell(const std::string& command) {
    ASSERT_EQ(std::system((command + " >/dev/null 2>&1").c_str()), 0) << command;
  }
  void MakeCa(const std::string& name) {
    Shell(
        absl::StrCat("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days "
                     "2 -subj /CN=",
                     name, " -keyout ", Key(name), " -out ", Pem(name)));
  }
  void MakeCertificate(const std::string& name, const std::string& ca, const std::string& san) {
    Shell(absl::StrCat("openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=",
                       name, " -keyout ", Key(name), " -out ", folder_.File("request")));
    ASSERT_TRUE(WriteFileAtomically(folder_.File("ext"), "subjectAltName=" + san).ok());
    Shell(absl::StrCat("openssl x509 -req -days 2 -in ", folder_.File("request"), " -CA ", Pem(ca),
                       " -CAkey ", Key(ca), " -CAcreateserial -extfile ", folder_.File("ext"),
                       " -out ", Pem(name)));
  }

  ServerOptions TlsOptions() {
    ServerOptions options = Options();
    options.listen = "127.0.0.1:0";
    options.require_credentials = true;
    options.tls = {Pem("server"), Key("server"), ""};
    return options;
  }

  absl::Status Build(const ServerOptions& options) {
    auto server = BuildServer(options);
    if (!server.ok()) {
      return server.status();
    }
    server_ = *std::move(server);
    return absl::OkStatus();
  }

  std::string Register(const std::string& tenant, const ScopeSet& scopes,
                       const std::string& certificate = "") {
    const Token token = MakeToken();
    Credential credential;
    credential.id = token.id;
    credential.tenant = tenant;
    credential.scopes = scopes;
    credential.certificate = certificate;
    credential.sha256 = certificate.empty() ? TokenHash(token) : "";
    QB_EXPECT_OK(MakeFolders(Options().data_dir));
    QB_EXPECT_OK(EditCredentialFile(CredentialFilePath(Options().data_dir),
                                    [&](std::vector<Credential>& all) {
                                      all.push_back(credential);
                                      return absl::OkStatus();
                                    }));
    return token.Text();
  }

  // A channel that trusts `ca` and shows the certificate `name` ("": none).
  std::shared_ptr<grpc::Channel> Channel(const std::string& address, const std::string& ca,
                                         const std::string& name) {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = *ReadFile(Pem(ca));
    if (!name.empty()) {
      options.pem_cert_chain = *ReadFile(Pem(name));
      options.pem_private_key = *ReadFile(Key(name));
    }
    return grpc::CreateChannel(address, grpc::SslCredentials(options));
  }

  static grpc::Status WhoAmI(const std::shared_ptr<grpc::Channel>& channel,
                             const std::string& token, std::string* tenant) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
    if (!token.empty()) {
      context.AddMetadata("authorization", "Bearer " + token);
    }
    pb::GetCapabilitiesResponse response;
    grpc::Status status =
        pb::ServerInfo::NewStub(channel)->GetCapabilities(&context, {}, &response);
    *tenant = response.tenant();
    return status;
  }

  static grpc::Status SyncThrough(const std::shared_ptr<grpc::Channel>& channel,
                                  const std::string& token = "") {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
    if (!token.empty()) {
      context.AddMetadata("authorization", "Bearer " + token);
    }
    pb::SyncRequest request;
    request.set_worker_id("w");
    request.set_epoch(MakeUuidV7());
    request.mutable_capabilities()->set_slots(1);
    pb::SyncResponse response;
    return pb::WorkerService::NewStub(channel)->Sync(&context, request, &response);
  }
};

TEST_F(TlsTest, ATokenWorksOverTlsAndOnlyWithTheRightServer) {
  const std::string token = Register("team-a", {Scope::kJobsRead});
  QB_ASSERT_OK(Build(TlsOptions()));
  std::string tenant;
  EXPECT_TRUE(WhoAmI(Channel(server_->address(), "ca", ""), token, &tenant).ok());
  EXPECT_EQ(tenant, "team-a");
  EXPECT_EQ(WhoAmI(Channel(server_->address(), "ca", ""), "", &tenant).error_code(),
            UNAUTHENTICATED);
  EXPECT_EQ(WhoAmI(Channel(server_->address(), "stranger-ca", ""), token, &tenant).error_code(),
            UNAVAILABLE);
  EXPECT_EQ(WhoAmI(grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials()),
                   token, &tenant)
                .error_code(),
            UNAVAILABLE);
}

TEST_F(TlsTest, AClientCertificateOfTheRightCaIsAnIdentity) {
  Register("team-a", {Scope::kJobsRead}, "spiffe://farm/team-a");
  const std::string token = Register("team-b", {Scope::kJobsRead});
  ServerOptions options = TlsOptions();
  options.tls.client_ca = Pem("ca");
  QB_ASSERT_OK(Build(options));
  std::string tenant;
  EXPECT_TRUE(WhoAmI(Channel(server_->address(), "ca", "client"), "", &tenant).ok());
  EXPECT_EQ(tenant, "team-a");
  // The token decides when there are both; another CA, or none, does not get in at all.
  EXPECT_TRUE(WhoAmI(Channel(server_->address(), "ca", "client"), token, &tenant).ok());
  EXPECT_EQ(tenant, "team-b");
  EXPECT_FALSE(WhoAmI(Channel(server_->address(), "ca", "stranger"), token, &tenant).ok());
  EXPECT_FALSE(WhoAmI(Channel(server_->address(), "ca", ""), token, &tenant).ok());
}

TEST_F(TlsTest, WorkersHaveACaOfTheirOwn) {
  ServerOptions options = TlsOptions();
  options.tls.client_ca = Pem("ca");
  options.worker_listen = "127.0.0.1:0";
  options.worker_client_ca = Pem("worker-ca");
  QB_ASSERT_OK(Build(options));
  EXPECT_TRUE(SyncThrough(Channel(server_->worker_address(), "ca", "worker")).ok());
  EXPECT_FALSE(SyncThrough(Channel(server_->worker_address(), "ca", "client")).ok());
  EXPECT_FALSE(SyncThrough(Channel(server_->worker_address(), "ca", "")).ok());
  EXPECT_EQ(SyncThrough(Channel(server_->address(), "ca", "client")).error_code(), UNIMPLEMENTED);
  EXPECT_FALSE(SyncThrough(Channel(server_->address(), "ca", "worker")).ok());
}

TEST_F(TlsTest, OrWorkersShowATokenForWork) {
  const std::string worker = Register("", {Scope::kWork});
  const std::string user = Register("team-a", {Scope::kJobsRead, Scope::kJobsWrite});
  ServerOptions options = TlsOptions();
  options.worker_listen = "127.0.0.1:0";
  QB_ASSERT_OK(Build(options));
  const auto channel = Channel(server_->worker_address(), "ca", "");
  EXPECT_TRUE(SyncThrough(channel, worker).ok());
  EXPECT_EQ(SyncThrough(channel, user).error_code(), PERMISSION_DENIED);
  EXPECT_EQ(SyncThrough(channel).error_code(), UNAUTHENTICATED);
  std::string tenant;
  EXPECT_EQ(WhoAmI(Channel(server_->address(), "ca", ""), worker, &tenant).error_code(),
            PERMISSION_DENIED);
}

TEST_F(TlsTest, ARenewedCertificateNeedsNoRestart) {
  const std::string token = Register("team-a", {Scope::kJobsRead});
  QB_ASSERT_OK(Build(TlsOptions()));
  MakeCertificate("server", "worker-ca", "IP:127.0.0.1");
  std::string tenant;
  // gRPC looks at the files every 10 s.
  for (int i = 0; i < 40 && tenant.empty(); ++i) {
    WhoAmI(Channel(server_->address(), "worker-ca", ""), token, &tenant);
    absl::SleepFor(absl::Milliseconds(500));
  }
  EXPECT_EQ(tenant, "team-a");
}

TEST_F(TlsTest, StartsThatWouldLetStrangersInAreRefused) {
  const auto expect_refused = [&](const ServerOptions& options, const std::string& words) {
    EXPECT_THAT(Build(options), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(words)));
  };
  ServerOptions options = TlsOptions();
  options.listen = "0.0.0.0:0";
  options.tls = {};
  expect_refused(options, "--tls-cert");
  options = TlsOptions();
  options.listen = "0.0.0.0:0";
  options.require_credentials = false;
  expect_refused(options, "--auth required");
  options = TlsOptions();
  options.tls = {};
  options.worker_listen = "0.0.0.0:0";
  expect_refused(options, "--worker-listen");
  options = TlsOptions();
  options.tls.private_key = Key("client");
  expect_refused(options, "does not belong");
  options = TlsOptions();
  ASSERT_TRUE(WriteFileAtomically(Pem("server"), "no pem").ok());
  expect_refused(options, "PEM");
}

}  // namespace
}  // namespace qb::server
