#include "server/http/job_api.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "server/http/artifact_stream.h"
#include "server/http/event_streams.h"
#include "server/http/http_json.h"
#include "server/http/job_query.h"
#include "server/http/overview.h"

namespace qb::server {
namespace {

HttpResponse EventsResponse(std::unique_ptr<HttpStream> stream) {
  HttpResponse response;
  response.content_type = "text/event-stream";
  response.stream = std::move(stream);
  return response;
}

// Where a stream goes on: what the browser has, else the parameter `name`.
absl::StatusOr<int64_t> StartAfter(const HttpRequest& request, absl::string_view name) {
  int64_t last = 0;
  if (absl::SimpleAtoi(request.last_event_id, &last)) {
    return last;
  }
  return ParseNumber(request, name, 0);
}

// Breaks off when the credential of the caller no longer counts.
class CheckedStream final : public HttpStream {
 public:
  CheckedStream(std::shared_ptr<HttpStream> stream, Caller caller, StillGood still_good)
      : stream_(std::move(stream)),
        caller_(std::move(caller)),
        still_good_(std::move(still_good)) {}

  absl::StatusOr<StreamStep> Next(std::string& frame) override {
    if (!still_good_(caller_)) {
      return absl::UnauthenticatedError("the credential has expired or was revoked");
    }
    return stream_->Next(frame);
  }

 private:
  const std::shared_ptr<HttpStream> stream_;
  const Caller caller_;
  const StillGood still_good_;
};

class Api {
 public:
  explicit Api(ApiParts parts)
      : parts_(std::move(parts)),
        overview_(parts_.jobs, parts_.info, parts_.statistics, parts_.clock) {}

  void AddTo(HttpRouter& router, const std::shared_ptr<Api>& self) const {
    const auto add = [&](const char* pattern, absl::StatusOr<HttpResponse> (Api::*method)(
                                                  const Caller&, const HttpRequest&, PathParts)) {
      router.Add(absl::StrCat("/api/v1", pattern), [self, method](const HttpRequest& request,
                                                                  PathParts path) {
        const absl::StatusOr<Caller> caller = self->parts_.authenticate(request);
        if (!caller.ok()) {
          return ErrorResponse(caller.status());
        }
        absl::StatusOr<HttpResponse> response = (self.get()->*method)(*caller, request, path);
        if (!response.ok()) {
          return ErrorResponse(response.status());
        }
        if (response->stream != nullptr) {
          response->stream = std::make_shared<CheckedStream>(std::move(response->stream), *caller,
                                                             self->parts_.still_good);
        }
        return *std::move(response);
      });
    };
    add("/server", &Api::Server);
    add("/overview", &Api::Overview);
    add("/events", &Api::Events);
    add("/jobs", &Api::Jobs);
    add("/jobs/{job}", &Api::Job);
    add("/jobs/{job}/events", &Api::JobEvents);
    add("/jobs/{job}/log", &Api::JobLog);
    add("/jobs/{job}/artifacts/{name}", &Api::Artifact);
  }

 private:
  absl::StatusOr<HttpResponse> Server(const Caller& caller, const HttpRequest& /*request*/,
                                      PathParts /*path*/) {
    qbc::v1::GetCapabilitiesResponse answer;
    QB_RETURN_IF_ERROR(parts_.info.GetCapabilities(caller, answer));
    return MessageResponse(answer);
  }

  absl::StatusOr<HttpResponse> Overview(const Caller& caller, const HttpRequest& /*request*/,
                                        PathParts /*path*/) {
    QB_ASSIGN_OR_RETURN(const Json json, overview_.Read(caller));
    return JsonResponse(json.Dump());
  }

  absl::StatusOr<HttpResponse> Events(const Caller& caller, const HttpRequest& request,
                                      PathParts /*path*/) {
    qbc::v1::WatchJobsRequest watch;
    QB_ASSIGN_OR_RETURN(const int64_t after, StartAfter(request, "after"));
    watch.set_after_revision(after);
    watch.mutable_filter()->set_target_device(request.Query("target"));
    QB_ASSIGN_OR_RETURN(auto source, parts_.jobs.WatchJobs(caller, watch, request.wake));
    return EventsResponse(JobsEventStream(std::move(source)));
  }

  absl::StatusOr<HttpResponse> Jobs(const Caller& caller, const HttpRequest& request,
                                    PathParts /*path*/) {
    QB_ASSIGN_OR_RETURN(const qbc::v1::ListJobsRequest list, ParseJobQuery(request));
    qbc::v1::ListJobsResponse answer;
    QB_RETURN_IF_ERROR(parts_.jobs.ListJobs(caller, list, answer));
    return MessageResponse(answer);
  }

  absl::StatusOr<qbc::v1::Job> Find(const Caller& caller, const std::string& id) {
    qbc::v1::GetJobRequest get;
    get.set_job_id(id);
    qbc::v1::Job job;
    QB_RETURN_IF_ERROR(parts_.jobs.GetJob(caller, get, job));
    return job;
  }

  absl::StatusOr<HttpResponse> Job(const Caller& caller, const HttpRequest& /*request*/,
                                   PathParts path) {
    QB_ASSIGN_OR_RETURN(const qbc::v1::Job job, Find(caller, path[0]));
    return MessageResponse(job);
  }

  absl::StatusOr<HttpResponse> JobEvents(const Caller& caller, const HttpRequest& request,
                                         PathParts path) {
    qbc::v1::WatchJobRequest watch;
    watch.set_job_id(path[0]);
    QB_ASSIGN_OR_RETURN(const int64_t after, StartAfter(request, "after"));
    watch.set_after_seq(after);
    watch.set_compact(request.Query("compact") == "1");
    QB_ASSIGN_OR_RETURN(auto source, parts_.jobs.WatchJob(caller, watch, request.wake));
    return EventsResponse(JobEventStream(std::move(source)));
  }

  absl::StatusOr<HttpResponse> JobLog(const Caller& caller, const HttpRequest& request,
                                      PathParts path) {
    qbc::v1::ReadLogRequest read;
    read.set_job_id(path[0]);
    QB_ASSIGN_OR_RETURN(const int64_t offset, StartAfter(request, "offset"));
    QB_ASSIGN_OR_RETURN(const int64_t limit, ParseNumber(request, "limit", 0));
    QB_ASSIGN_OR_RETURN(const int64_t attempt, ParseNumber(request, "attempt", 0));
    read.set_offset(offset);
    read.set_limit(limit);
    read.set_attempt(static_cast<int32_t>(attempt));
    read.set_follow(request.Query("follow") == "1");
    QB_ASSIGN_OR_RETURN(auto source, parts_.jobs.ReadLog(caller, read, request.wake));
    return EventsResponse(LogEventStream(std::move(source)));
  }

  absl::StatusOr<HttpResponse> Artifact(const Caller& caller, const HttpRequest& request,
                                        PathParts path) {
    QB_ASSIGN_OR_RETURN(const qbc::v1::Job job, Find(caller, path[0]));
    for (const qbc::v1::Artifact& artifact : job.artifacts()) {
      if (artifact.name() == path[1]) {
        return ArtifactResponse(parts_.blobs, caller, artifact, request);
      }
    }
    return absl::NotFoundError("the job has no such artifact");
  }

  const ApiParts parts_;
  OverviewReader overview_;
};

}  // namespace

void AddApiRoutes(const ApiParts& parts, HttpRouter& router) {
  const auto api = std::make_shared<Api>(parts);
  api->AddTo(router, api);
}

}  // namespace qb::server
