#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <utility>

#include "core/base/testing/status_matchers.h"
#include "server/http/event_streams.h"
#include "server/http/http_guard.h"
#include "server/http/http_router.h"
#include "server/http/job_query.h"

namespace qb::server {
namespace {

using ::qb::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(IsLocalHost, KnowsTheNamesOfThisMachineAndNoOther) {
  for (const char* host :
       {"localhost", "localhost:80", "127.0.0.1", "127.0.0.1:8080", "[::1]", "[::1]:1"}) {
    EXPECT_TRUE(IsLocalHost(host)) << host;
  }
  for (const char* host : {"", "localhost.evil.example", "evil.example:80", "127.0.0.1.nip.io",
                           "127.0.0.2", "::1", ":80", "localhost:80:90"}) {
    EXPECT_FALSE(IsLocalHost(host)) << host;
  }
}

HttpRequest Asked(std::string path) {
  HttpRequest request;
  request.method = "GET";
  request.path = std::move(path);
  request.host = "localhost";
  return request;
}

TEST(HttpRouter, FillsThePlacesOfAPattern) {
  HttpRouter router;
  router.Add("/jobs/{job}/artifacts/{name}", [](const HttpRequest&, PathParts parts) {
    HttpResponse response;
    response.body = parts[0] + "+" + parts[1];
    return response;
  });
  const HttpResponse response = router.Handle(Asked("/jobs/7/artifacts/a.b"));
  EXPECT_EQ(response.body, "7+a.b");
  EXPECT_EQ(response.route, "/jobs/{job}/artifacts/{name}");
  for (const char* path :
       {"/jobs/7/artifacts/", "/jobs/7/artifacts/a/b", "/jobs//artifacts/a", "/", "", "/jobs"}) {
    EXPECT_EQ(router.Handle(Asked(path)).status, 404) << path;
  }
  EXPECT_EQ(router.Handle(Asked("/api/v1/x")).content_type, "application/json");
}

TEST(HttpRouter, TellsMethodsApart) {
  HttpRouter router;
  const auto answer = [](const char* text) {
    return [text](const HttpRequest&, PathParts) {
      HttpResponse response;
      response.body = text;
      return response;
    };
  };
  router.Add("/session", answer("read"));
  router.Add("POST", "/session", answer("made"));
  router.Add("/jobs", answer("jobs"));
  HttpRequest request = Asked("/session");
  EXPECT_EQ(router.Handle(request).body, "read");
  request.method = "HEAD";
  EXPECT_EQ(router.Handle(request).body, "read");
  request.method = "POST";
  EXPECT_EQ(router.Handle(request).body, "made");
  request.method = "DELETE";
  EXPECT_EQ(router.Handle(request).status, 405);
  EXPECT_EQ(router.Handle(request).body, "expected GET, HEAD, POST\n");
  request = Asked("/jobs");
  request.method = "POST";
  EXPECT_EQ(router.Handle(request).status, 405);
}

TEST(Guarded, AddsItsHeadersAndKeepsAPolicyThatIsThere) {
  const HttpHandler site = Guarded([](const HttpRequest& request) {
    HttpResponse response;
    if (request.path == "/own") {
      response.SetHeader("Content-Security-Policy", "sandbox");
    }
    return response;
  });
  const auto header = [](const HttpResponse& response, const char* name) {
    for (const auto& [key, value] : response.headers) {
      if (key == name) {
        return value;
      }
    }
    return std::string();
  };
  EXPECT_THAT(header(site(Asked("/")), "Content-Security-Policy"), HasSubstr("default-src 'none'"));
  EXPECT_EQ(header(site(Asked("/own")), "Content-Security-Policy"), "sandbox");
  HttpRequest foreign = Asked("/");
  foreign.host = "evil.example";
  EXPECT_EQ(site(foreign).status, 421);
  EXPECT_EQ(header(site(foreign), "X-Content-Type-Options"), "nosniff");
}

TEST(ParseJobQuery, ReadsFiltersAndNamesWhatIsWrong) {
  HttpRequest request = Asked("/api/v1/jobs");
  request.query = {{"state", "failed"},
                   {"state", "retry_wait"},
                   {"target", "aries-rb"},
                   {"created_after", "2026-05-31T12:00:00Z"},
                   {"page_size", "7"}};
  QB_ASSERT_OK_AND_ASSIGN(const qbc::v1::ListJobsRequest list, ParseJobQuery(request));
  EXPECT_EQ(list.page_size(), 7);
  EXPECT_EQ(list.filter().states_size(), 2);
  EXPECT_EQ(list.filter().created_after().seconds(), 1780228800);
  for (const auto& [name, value] : {std::pair("state", "unspecified"),
                                    {"state", ""},
                                    {"page_size", "x"},
                                    {"page_size", "9999999999"},
                                    {"created_before", "noon"}}) {
    HttpRequest bad = Asked("/api/v1/jobs");
    bad.query = {{name, value}};
    EXPECT_THAT(ParseJobQuery(bad), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(name)));
  }
}

TEST(IncompleteTail, CountsTheBytesOfACharacterThatIsCut) {
  EXPECT_EQ(IncompleteTail(""), 0u);
  EXPECT_EQ(IncompleteTail("abc"), 0u);
  EXPECT_EQ(IncompleteTail("\xe2\x82\xac"), 0u);  // a whole euro sign
  EXPECT_EQ(IncompleteTail("a\xe2\x82"), 2u);
  EXPECT_EQ(IncompleteTail("a\xe2"), 1u);
  EXPECT_EQ(IncompleteTail("\xf0\x9f\x98"), 3u);
  EXPECT_EQ(IncompleteTail("\x80\x80\x80\x80"), 0u);  // no character at all: replaced, not kept
}

class LogFrames final : public FrameSource<qbc::v1::ReadLogResponse> {
 public:
  explicit LogFrames(std::deque<std::pair<int64_t, std::string>> frames)
      : frames_(std::move(frames)) {}
  absl::StatusOr<StreamStep> Next(qbc::v1::ReadLogResponse& frame) override {
    if (frames_.empty()) {
      return StreamStep::kEnd;
    }
    frame.set_offset(frames_.front().first);
    frame.set_attempt(1);
    frame.set_data(frames_.front().second);
    frames_.pop_front();
    return StreamStep::kSend;
  }

 private:
  std::deque<std::pair<int64_t, std::string>> frames_;
};

std::string Whole(std::unique_ptr<HttpStream> stream) {
  std::string all;
  while (true) {
    std::string piece;
    const absl::StatusOr<StreamStep> step = stream->Next(piece);
    if (!step.ok() || *step == StreamStep::kEnd) {
      return all;
    }
    all += piece;
  }
}

TEST(LogEventStream, CutsNoCharacterAndTellsOffsets) {
  const std::string text =
      Whole(LogEventStream(std::make_unique<LogFrames>(std::deque<std::pair<int64_t, std::string>>{
          {10, "a\xe2"}, {12, "\x82\xac\nb"}, {100, "later"}})));
  EXPECT_THAT(text, HasSubstr("id: 11\ndata: {\"offset\":10,\"attempt\":1,\"text\":\"a\"}"));
  EXPECT_THAT(
      text, HasSubstr("id: 16\ndata: {\"offset\":11,\"attempt\":1,\"text\":\"\xe2\x82\xac\\nb\"}"));
  EXPECT_THAT(text, HasSubstr("\"offset\":100"));
  EXPECT_THAT(text, HasSubstr("event: end\n"));
  EXPECT_THAT(text, Not(HasSubstr("\xef\xbf\xbd")));
}

}  // namespace
}  // namespace qb::server
