#include "core/base/certificate.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <time.h>

#include <memory>

#include "core/base/status_macros.h"

namespace qb {
namespace {

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using BioPtr = std::unique_ptr<BIO, Free>;
using CertificatePtr = std::unique_ptr<X509, Free>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Free>;

BioPtr Open(absl::string_view text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Never asks a terminal for a passphrase.
int NoPassphrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*data*/) { return 0; }

absl::StatusOr<CertificatePtr> Parse(absl::string_view pem) {
  const BioPtr bio = Open(pem);
  CertificatePtr certificate(PEM_read_bio_X509(bio.get(), nullptr, NoPassphrase, nullptr));
  if (certificate == nullptr) {
    return absl::InvalidArgumentError("there is no PEM certificate in it");
  }
  return certificate;
}

absl::Time ToTime(const ASN1_TIME* time) {
  tm parts = {};
  return ASN1_TIME_to_tm(time, &parts) == 1 ? absl::FromTM(parts, absl::UTCTimeZone())
                                            : absl::InfinitePast();
}

}  // namespace

absl::StatusOr<CertificateFacts> ReadCertificate(absl::string_view pem) {
  QB_ASSIGN_OR_RETURN(const CertificatePtr certificate, Parse(pem));
  CertificateFacts facts;
  facts.not_before = ToTime(X509_get0_notBefore(certificate.get()));
  facts.not_after = ToTime(X509_get0_notAfter(certificate.get()));
  const BioPtr out(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(out.get(), X509_get_subject_name(certificate.get()), 0,
                     XN_FLAG_ONELINE & ~ASN1_STRFLGS_ESC_MSB);
  char* text = nullptr;
  const auto size = BIO_get_mem_data(out.get(), &text);
  facts.subject.assign(text, static_cast<size_t>(size));
  return facts;
}

absl::Status CheckKeyFits(absl::string_view certificate_pem, absl::string_view key_pem) {
  QB_ASSIGN_OR_RETURN(const CertificatePtr certificate, Parse(certificate_pem));
  const BioPtr bio = Open(key_pem);
  const KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassphrase, nullptr));
  if (key == nullptr) {
    return absl::InvalidArgumentError("there is no PEM private key without a passphrase in it");
  }
  return X509_check_private_key(certificate.get(), key.get()) == 1
             ? absl::OkStatus()
             : absl::InvalidArgumentError("the private key is that of another certificate");
}

}  // namespace qb
