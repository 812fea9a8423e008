#include "server/http/http_json.h"

#include <google/protobuf/util/json_util.h>

#include <utility>

namespace qb::server {
namespace {

int HttpStatusOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kOk:
      return 200;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kFailedPrecondition:
      return 400;
    case absl::StatusCode::kUnauthenticated:
      return 401;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kAborted:
      return 409;
    case absl::StatusCode::kResourceExhausted:
      return 429;
    case absl::StatusCode::kUnimplemented:
      return 501;
    case absl::StatusCode::kUnavailable:
      return 503;
    case absl::StatusCode::kDeadlineExceeded:
      return 504;
    default:
      return 500;
  }
}

}  // namespace

std::string MessageJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(message, &text, options);
  return status.ok() ? text : "{}";
}

HttpResponse JsonResponse(std::string text) {
  HttpResponse response;
  response.content_type = "application/json";
  response.body = std::move(text);
  return response;
}

HttpResponse MessageResponse(const google::protobuf::Message& message) {
  return JsonResponse(MessageJson(message));
}

HttpResponse ErrorResponse(const absl::Status& status) {
  const int code = HttpStatusOf(status.code());
  Json error = Json::Object();
  error.Set("code", code)
      .Set("status", absl::StatusCodeToString(status.code()))
      .Set("message", status.message());
  HttpResponse response = JsonResponse(Json::Object().Set("error", std::move(error)).Dump());
  response.status = code;
  if (status.code() == absl::StatusCode::kUnauthenticated) {
    response.SetHeader("WWW-Authenticate", "Bearer");
  }
  return response;
}

}  // namespace qb::server
