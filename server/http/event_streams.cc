#include "server/http/event_streams.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/json.h"
#include "core/base/status_macros.h"
#include "server/http/http_json.h"

namespace qb::server {
namespace {

constexpr absl::string_view kAlive = ": alive\n\n";
constexpr absl::string_view kEnd = "event: end\ndata: {}\n\n";

void AppendEvent(std::string& out, absl::string_view event, int64_t id, absl::string_view json) {
  absl::StrAppend(&out, "event: ", event, "\nid: ", id, "\ndata: ", json, "\n\n");
}

// `Format(frame, text)` appends what a frame says.
template <typename Frame, typename Format>
class EventStream final : public HttpStream {
 public:
  EventStream(std::unique_ptr<FrameSource<Frame>> source, Format format)
      : source_(std::move(source)), format_(std::move(format)) {}

  absl::StatusOr<StreamStep> Next(std::string& piece) override {
    if (ended_) {
      return StreamStep::kEnd;
    }
    QB_ASSIGN_OR_RETURN(const StreamStep step, source_->Next(frame_));
    if (step == StreamStep::kEnd) {
      ended_ = true;
      format_(Frame(), piece);  // what it has kept
      absl::StrAppend(&piece, kEnd);
      return StreamStep::kSend;
    }
    if (step == StreamStep::kSend) {
      format_(frame_, piece);
      if (piece.empty()) {
        piece = std::string(kAlive);
      }
    }
    return step;
  }

 private:
  const std::unique_ptr<FrameSource<Frame>> source_;
  Format format_;
  Frame frame_;
  bool ended_ = false;
};

template <typename Frame, typename Format>
std::unique_ptr<HttpStream> MakeStream(std::unique_ptr<FrameSource<Frame>> source, Format format) {
  return std::make_unique<EventStream<Frame, Format>>(std::move(source), std::move(format));
}

// Puts the pieces of a log together so that no character is cut.
class LogFormat {
 public:
  void operator()(const qbc::v1::ReadLogResponse& frame, std::string& piece) {
    const bool last = frame.data().empty();
    if (!last && frame.offset() != offset_ + static_cast<int64_t>(kept_.size())) {
      Emit(kept_, frame.attempt(), piece);  // the middle of the log was dropped
      kept_.clear();
      offset_ = frame.offset();
    }
    std::string text = std::exchange(kept_, "") + frame.data();
    kept_ = last ? "" : text.substr(text.size() - IncompleteTail(text));
    text.resize(text.size() - kept_.size());
    Emit(text, frame.attempt(), piece);
  }

 private:
  void Emit(const std::string& text, int attempt, std::string& piece) {
    if (text.empty()) {
      return;
    }
    Json json = Json::Object();
    json.Set("offset", offset_).Set("attempt", attempt).Set("text", text);
    offset_ += static_cast<int64_t>(text.size());
    AppendEvent(piece, "log", offset_, json.Dump());
  }

  int64_t offset_ = -1;
  std::string kept_;
};

}  // namespace

size_t IncompleteTail(absl::string_view text) {
  const size_t most = std::min<size_t>(3, text.size());
  for (size_t back = 1; back <= most; ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0U) == 0x80U) {
      continue;  // inside of a character
    }
    const size_t length = byte >= 0xF0U ? 4 : byte >= 0xE0U ? 3 : byte >= 0xC0U ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

std::unique_ptr<HttpStream> JobEventStream(
    std::unique_ptr<FrameSource<qbc::v1::WatchJobResponse>> source) {
  return MakeStream(std::move(source),
                    [](const qbc::v1::WatchJobResponse& frame, std::string& piece) {
                      for (const qbc::v1::JobEvent& event : frame.events()) {
                        AppendEvent(piece, "job", event.seq(), MessageJson(event));
                      }
                    });
}

std::unique_ptr<HttpStream> JobsEventStream(
    std::unique_ptr<FrameSource<qbc::v1::WatchJobsResponse>> source) {
  return MakeStream(std::move(source),
                    [](const qbc::v1::WatchJobsResponse& frame, std::string& piece) {
                      if (frame.jobs_size() > 0) {
                        AppendEvent(piece, "jobs", frame.revision(), MessageJson(frame));
                      }
                    });
}

std::unique_ptr<HttpStream> LogEventStream(
    std::unique_ptr<FrameSource<qbc::v1::ReadLogResponse>> source) {
  return MakeStream(std::move(source), LogFormat());
}

}  // namespace qb::server
