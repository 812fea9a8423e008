// What can be read from PEM files of TLS without using them.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace qb {

struct CertificateFacts {
  std::string subject;  // "CN = farm.example"
  absl::Time not_before;
  absl::Time not_after;
};

// Of the first certificate in `pem`. Errors: InvalidArgument when there is none.
absl::StatusOr<CertificateFacts> ReadCertificate(absl::string_view pem);

// Errors: InvalidArgument when `key_pem` holds no private key without a passphrase, or one of
// another certificate than the first in `certificate_pem`.
absl::Status CheckKeyFits(absl::string_view certificate_pem, absl::string_view key_pem);

}  // namespace qb
