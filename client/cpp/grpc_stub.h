// The stub that talks gRPC. Only grpc_stub.cc includes grpcpp.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "client/cpp/stub.h"

namespace qb::client {

// Gives the address in gRPC's form: "unix:PATH" for "unix:PATH", "unix://PATH" and "/PATH";
// "HOST:PORT" as it is. Errors: InvalidArgument for anything else, with the accepted forms.
absl::StatusOr<std::string> ParseServerAddress(absl::string_view address);

// Does not connect: the first call does. Errors: those of ParseServerAddress and of reading files.
absl::StatusOr<std::unique_ptr<Stub>> CreateGrpcStub(const ServerAccess& access);

}  // namespace qb::client
