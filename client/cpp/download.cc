#include "client/cpp/download.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/atomic_file.h"
#include "core/base/digest.h"
#include "core/base/status_macros.h"
#include "proto/qbc/v1/blob_service.pb.h"

namespace qb::client {
namespace {

constexpr int64_t kUnknownSize = -1;

// A download under way: what has arrived is in `file` and in `digest`.
struct Arrival {
  AtomicFile file;
  Sha256 digest;
  int64_t size_bytes = 0;
  bool complete = false;
};

absl::Status Append(const qbc::v1::ReadBlobResponse& response, int64_t expected_bytes,
                    Arrival& arrival) {
  if (response.offset() != arrival.size_bytes) {
    return absl::DataLossError(absl::StrCat("the server sent bytes from ", response.offset(),
                                            " where ", arrival.size_bytes, " was next"));
  }
  const auto size = static_cast<int64_t>(response.data().size());
  if (expected_bytes != kUnknownSize && size > expected_bytes - arrival.size_bytes) {
    return absl::DataLossError(
        absl::StrCat("the server sent more than the ", expected_bytes, " bytes of the artifact"));
  }
  QB_RETURN_IF_ERROR(arrival.file.Append(response.data()));
  arrival.digest.Update(response.data());
  arrival.size_bytes += size;
  return absl::OkStatus();
}

// One stream, from where the last one ended. Errors: those of the stream; Unavailable when it ended
// early.
absl::Status ReadOnce(Connection& connection, const qbc::v1::Artifact& artifact,
                      const DownloadListener& listener, Arrival& arrival) {
  qbc::v1::ReadBlobRequest request;
  request.set_sha256(artifact.sha256());
  request.set_offset(arrival.size_bytes);
  QB_RETURN_IF_ERROR(connection.stub().ReadBlob(
      request, connection.StreamOptions(), [&](const qbc::v1::ReadBlobResponse& response) {
        absl::Status appended = Append(response, artifact.size_bytes(), arrival);
        if (appended.ok() && listener) {
          listener(arrival.size_bytes, artifact.size_bytes());
        }
        return appended;
      }));
  arrival.complete =
      artifact.size_bytes() == kUnknownSize || arrival.size_bytes == artifact.size_bytes();
  return arrival.complete
             ? absl::OkStatus()
             : absl::UnavailableError(absl::StrCat("the server sent ", arrival.size_bytes, " of ",
                                                   artifact.size_bytes(), " bytes"));
}

}  // namespace

absl::Status DownloadArtifact(Connection& connection, const qbc::v1::Artifact& artifact,
                              const std::string& path, const DownloadListener& listener) {
  QB_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  Arrival arrival = {std::move(file), Sha256()};
  arrival.complete = artifact.size_bytes() == 0;
  Backoff backoff = connection.NewBackoff();
  while (!arrival.complete) {
    const int64_t before = arrival.size_bytes;
    const absl::Status status = ReadOnce(connection, artifact, listener, arrival);
    if (arrival.size_bytes > before) {
      backoff.Reset();
    }
    if (!status.ok()) {
      QB_RETURN_IF_ERROR(backoff.WaitAfter(status));
    }
  }
  const std::string digest = arrival.digest.FinishHex();
  if (digest != artifact.sha256()) {
    return absl::DataLossError(absl::StrCat("the downloaded bytes have SHA-256 ", digest,
                                            ", what was asked for has ", artifact.sha256()));
  }
  return arrival.file.Commit();
}

absl::Status DownloadBlob(Connection& connection, const std::string& sha256,
                          const std::string& path) {
  qbc::v1::Artifact blob;
  blob.set_sha256(sha256);
  blob.set_size_bytes(kUnknownSize);
  return DownloadArtifact(connection, blob, path, nullptr);
}

}  // namespace qb::client
