#include "server/http/artifact_stream.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"

namespace qb::server {
namespace {

constexpr absl::string_view kPagePolicy =
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'";
constexpr absl::string_view kFilePolicy = "sandbox; default-src 'none'; frame-ancestors 'none'";

class BlobPieces final : public HttpStream {
 public:
  explicit BlobPieces(std::unique_ptr<FrameSource<pb::ReadBlobResponse>> source)
      : source_(std::move(source)) {}

  absl::StatusOr<StreamStep> Next(std::string& piece) override {
    QB_ASSIGN_OR_RETURN(const StreamStep step, source_->Next(frame_));
    if (step == StreamStep::kSend) {
      piece = std::move(*frame_.mutable_data());
      // An empty file has one empty frame.
      return piece.empty() ? StreamStep::kEnd : StreamStep::kSend;
    }
    return step;
  }

 private:
  const std::unique_ptr<FrameSource<pb::ReadBlobResponse>> source_;
  pb::ReadBlobResponse frame_;
};

std::string SafeFileName(absl::string_view name) {
  std::string safe;
  for (const char c : name) {
    safe.push_back(
        absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' ? c : '_');
  }
  return safe;
}

}  // namespace

absl::StatusOr<HttpResponse> ArtifactResponse(BlobService& blobs, const Caller& caller,
                                              const qbc::v1::Artifact& artifact,
                                              const HttpRequest& request) {
  const std::string& name = artifact.name();
  const bool page = request.Query("view") == "1" && absl::EndsWith(name, ".html");
  HttpResponse response;
  response.content_type = page                            ? "text/html; charset=utf-8"
                          : absl::EndsWith(name, ".json") ? "application/json"
                                                          : "application/octet-stream";
  response.SetHeader("Content-Security-Policy", page ? kPagePolicy : kFilePolicy);
  if (!page) {
    response.SetHeader("Content-Disposition",
                       absl::StrCat("attachment; filename=\"", SafeFileName(name), "\""));
  }
  const std::string tag = absl::StrCat("\"", artifact.sha256(), page ? "-page\"" : "\"");
  response.SetHeader("ETag", tag);
  response.SetHeader("Cache-Control", "private, no-cache");
  if (request.if_none_match == tag) {
    response.status = 304;
    return response;
  }
  pb::ReadBlobRequest read;
  read.set_sha256(artifact.sha256());
  QB_ASSIGN_OR_RETURN(auto source, blobs.ReadBlob(caller, read));
  response.stream = std::make_shared<BlobPieces>(std::move(source));
  response.stream_bytes = artifact.size_bytes();
  return response;
}

}  // namespace qb::server
