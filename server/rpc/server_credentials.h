// TLS of a listener.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace qb::server {

// PEM files. They are read again when they change, so a renewed certificate needs no restart.
struct TlsFiles {
  std::string certificate_chain;  // "": no TLS
  std::string private_key;
  std::string client_ca;  // certificates that clients must have one of; "": clients show none

  bool enabled() const { return !certificate_chain.empty(); }
};

// Errors: InvalidArgument when the key does not belong to the certificate or a file is no PEM;
// NotFound when one is not there.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeServerCredentials(
    const TlsFiles& files);

}  // namespace qb::server
