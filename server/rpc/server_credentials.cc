#include "server/rpc/server_credentials.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "core/base/atomic_file.h"
#include "core/base/status_macros.h"

namespace qb::server {
namespace {

constexpr int64_t kMaxPemBytes = int64_t{4} << 20;
constexpr unsigned kRefreshSeconds = 10;

absl::StatusOr<std::string> ReadPem(const std::string& path) {
  QB_ASSIGN_OR_RETURN(std::string text, ReadFile(path, kMaxPemBytes));
  if (!absl::StrContains(text, "-----BEGIN ")) {
    return absl::InvalidArgumentError(absl::StrCat("'", path, "': expected a PEM file"));
  }
  return text;
}

// The credentials that follow their files only log what is wrong with them. These do not follow
// and fail, so a start that could serve nobody is refused.
absl::Status CheckFiles(const TlsFiles& files) {
  grpc::SslServerCredentialsOptions options;
  QB_ASSIGN_OR_RETURN(std::string chain, ReadPem(files.certificate_chain));
  QB_ASSIGN_OR_RETURN(std::string key, ReadPem(files.private_key));
  options.pem_key_cert_pairs.push_back({std::move(key), std::move(chain)});
  if (!files.client_ca.empty()) {
    QB_ASSIGN_OR_RETURN(options.pem_root_certs, ReadPem(files.client_ca));
  }
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(options), &port);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    return absl::InvalidArgumentError(absl::StrCat("'", files.certificate_chain, "' and '",
                                                   files.private_key,
                                                   "': the key does not belong to the certificate, "
                                                   "or one of them cannot be read"));
  }
  server->Shutdown();
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeServerCredentials(
    const TlsFiles& files) {
  if (!files.enabled()) {
    return grpc::InsecureServerCredentials();
  }
  QB_RETURN_IF_ERROR(CheckFiles(files));
  namespace tls = grpc::experimental;
  // gRPC shares it with the credentials.
  const auto provider = std::make_shared<tls::FileWatcherCertificateProvider>(
      files.private_key, files.certificate_chain, files.client_ca, kRefreshSeconds);
  tls::TlsServerCredentialsOptions options(provider);
  options.watch_identity_key_cert_pairs();
  if (!files.client_ca.empty()) {
    options.watch_root_certs();
    options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  return tls::TlsServerCredentials(options);
}

}  // namespace qb::server
