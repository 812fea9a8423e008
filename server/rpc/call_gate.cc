#include "server/rpc/call_gate.h"

#include <vector>

#include "absl/strings/string_view.h"

#include "core/base/traceparent.h"

namespace qb::server {
namespace {

absl::string_view View(const grpc::string_ref& text) { return {text.data(), text.size()}; }

}  // namespace

Caller WorkerCaller() { return Caller{kWorkerTenant, {Scope::kWork}, ""}; }

absl::StatusOr<Caller> CallGate::Admit(const grpc::CallbackServerContext& context) const {
  if (authenticator_ == nullptr) {
    return everybody_;
  }
  Presented presented;
  const auto header = context.client_metadata().find("authorization");
  if (header != context.client_metadata().end()) {
    presented.authorization = View(header->second);
  }
  // Only of certificates that TLS has verified against --tls-client-ca: gRPC shows no others.
  const std::shared_ptr<const grpc::AuthContext> peer = context.auth_context();
  std::vector<grpc::string_ref> names;
  if (peer != nullptr && peer->IsPeerAuthenticated()) {
    for (const char* property : {"x509_subject_alternative_name", "x509_common_name"}) {
      for (const grpc::string_ref& name : peer->FindPropertyValues(property)) {
        presented.certificate_names.push_back(View(name));
      }
    }
  }
  return authenticator_->Authenticate(presented);
}

std::string TraceparentOf(const grpc::CallbackServerContext& context) {
  const auto header = context.client_metadata().find("traceparent");
  if (header == context.client_metadata().end() || !IsTraceparent(View(header->second))) {
    return "";
  }
  return std::string(View(header->second));
}

bool CallGate::StillGood(const Caller& caller) const {
  return authenticator_ == nullptr || authenticator_->StillGood(caller);
}

}  // namespace qb::server
