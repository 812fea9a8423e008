// Server-sent events made of the frames that gRPC streams send.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/strings/string_view.h"

#include "proto/qbc/v1/job_service.pb.h"
#include "server/http/http_message.h"
#include "server/runtime/frame_source.h"

namespace qb::server {

// A stream that ends in order sends "event: end" last, so that a page does not ask again; one that
// breaks off sends nothing, and the page asks for what follows the last id it has.

// "event: job", id: seq of the event, data: qbc.v1.JobEvent.
std::unique_ptr<HttpStream> JobEventStream(
    std::unique_ptr<FrameSource<qbc::v1::WatchJobResponse>> source);
// "event: jobs", id: revision, data: {"jobs": [qbc.v1.Job]}.
std::unique_ptr<HttpStream> JobsEventStream(
    std::unique_ptr<FrameSource<qbc::v1::WatchJobsResponse>> source);
// "event: log", id: offset of what follows, data: {"offset": bytes, "attempt", "text"}. Bytes that
// are not UTF-8 are replaced.
std::unique_ptr<HttpStream> LogEventStream(
    std::unique_ptr<FrameSource<qbc::v1::ReadLogResponse>> source);

// How many bytes at the end of `text` are the beginning of a character that is not complete: 0
// to 3.
size_t IncompleteTail(absl::string_view text);

}  // namespace qb::server
