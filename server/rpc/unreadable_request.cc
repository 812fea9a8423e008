#include "server/rpc/unreadable_request.h"

#include <google/protobuf/descriptor.h>
#include <grpcpp/grpcpp.h>

#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "server/rpc/status_conversion.h"

namespace qb::server {
namespace {

using ::grpc::experimental::InterceptionHookPoints;

class Answer final : public grpc::experimental::Interceptor {
 public:
  explicit Answer(bool method_is_served) : method_is_served_(method_is_served) {}

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    if (method_is_served_ &&
        methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
      const grpc::Status status = methods->GetSendStatus();
      // Handlers of ours never say so: each of their errors has a message.
      if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED &&
          status.error_message().empty()) {
        methods->ModifySendStatus(ToGrpcStatus(
            absl::InvalidArgumentError("request: its bytes are no message of this method's type"),
            nullptr));
      }
    }
    methods->Proceed();
  }

 private:
  const bool method_is_served_;
};

class AnswerFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit AnswerFactory(std::set<std::string> methods) : methods_(std::move(methods)) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override {
    return new Answer(methods_.contains(info->method()));  // gRPC deletes it with the call
  }

 private:
  const std::set<std::string> methods_;  // "/qbc.v1.JobService/GetJob"
};

}  // namespace

std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
UnreadableRequestAnswers(absl::Span<const absl::string_view> services) {
  std::set<std::string> methods;
  for (const absl::string_view name : services) {
    const google::protobuf::ServiceDescriptor* service =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(std::string(name));
    for (int i = 0; service != nullptr && i < service->method_count(); ++i) {
      methods.insert(absl::StrCat("/", name, "/", service->method(i)->name()));
    }
  }
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> factories;
  factories.push_back(std::make_unique<AnswerFactory>(std::move(methods)));
  return factories;
}

}  // namespace qb::server
