// Answers as JSON.
#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "absl/status/status.h"

#include "core/base/json.h"
#include "server/http/http_message.h"

namespace qb::server {

// The protobuf JSON mapping with the fields' own names: 64-bit integers are strings, times RFC
// 3339, fields with their default value are left out.
std::string MessageJson(const google::protobuf::Message& message);

HttpResponse JsonResponse(std::string text);
HttpResponse MessageResponse(const google::protobuf::Message& message);
// {"error": {"code": 404, "status": "NOT_FOUND", "message": ...}} with the HTTP status that goes
// with the code.
HttpResponse ErrorResponse(const absl::Status& status);

}  // namespace qb::server
