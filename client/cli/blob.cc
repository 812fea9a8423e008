// qbc blob: files on the server, by their SHA-256.
#include <sys/stat.h>

#include <array>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "client/cli/command.h"
#include "client/cli/exit_code.h"
#include "client/cli/printable.h"
#include "client/cpp/download.h"
#include "client/cpp/manifest.h"
#include "client/cpp/upload.h"
#include "core/base/digest.h"
#include "core/base/status_macros.h"
#include "proto/qbc/v1/blob_service.pb.h"

namespace qb::client {
namespace {

constexpr auto kFlags = std::to_array<FlagDef>({
    {"output", 'o', FlagKind::kValue, "FILE", "get: where the bytes go. Required."},
});

// What a word of the command line stands for.
struct NamedBlob {
  std::string name;  // as it was given
  LocalBlob blob;    // `file` is "" for a digest
};

absl::StatusOr<NamedBlob> ReadFileArgument(const std::string& path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return WithExitCode(absl::NotFoundError(absl::StrCat("'", path, "' is not a file")),
                        kExitInvalidInput);
  }
  NamedBlob named;
  named.name = path;
  named.blob.file = path;
  named.blob.size_bytes = info.st_size;
  QB_ASSIGN_OR_RETURN(named.blob.sha256, Sha256HexOfFile(path));
  return named;
}

absl::StatusOr<std::vector<NamedBlob>> ReadArguments(const ParsedFlags& flags, bool digests) {
  std::vector<NamedBlob> blobs;
  for (size_t i = 1; i < flags.positionals().size(); ++i) {
    const std::string& word = flags.positionals()[i];
    if (digests && IsSha256Hex(word)) {
      blobs.push_back({word, {word, 0, "", ""}});
      continue;
    }
    QB_ASSIGN_OR_RETURN(NamedBlob named, ReadFileArgument(word));
    blobs.push_back(std::move(named));
  }
  if (blobs.empty()) {
    return UsageError(absl::StrCat("blob ", flags.positionals()[0], ": expected ",
                                   digests ? "files or digests" : "files"));
  }
  return blobs;
}

void Tell(const NamedBlob& named, const char* state, Session& session) {
  if (session.json()) {
    session.Answer(Json::Object()
                       .Set("type", "blob")
                       .Set("sha256", named.blob.sha256)
                       .Set("name", named.name)
                       .Set("state", state));
  } else {
    session.AnswerText(
        absl::StrCat(named.blob.sha256, "  ", state, "  ", PrintableLine(named.name), "\n"));
  }
}

absl::StatusOr<int> Put(const ParsedFlags& flags, Session& session) {
  QB_ASSIGN_OR_RETURN(const std::vector<NamedBlob> blobs, ReadArguments(flags, /*digests=*/false));
  QB_ASSIGN_OR_RETURN(Connection * connection, session.connection());
  std::vector<const LocalBlob*> wanted;
  wanted.reserve(blobs.size());
  for (const NamedBlob& named : blobs) {
    wanted.push_back(&named.blob);
  }
  QB_RETURN_IF_ERROR(UploadMissing(*connection, wanted, session.upload_listener()));
  session.view().Clear();
  for (const NamedBlob& named : blobs) {
    Tell(named, "stored", session);
  }
  return kExitOk;
}

absl::StatusOr<int> Check(const ParsedFlags& flags, Session& session) {
  QB_ASSIGN_OR_RETURN(const std::vector<NamedBlob> blobs, ReadArguments(flags, /*digests=*/true));
  QB_ASSIGN_OR_RETURN(Connection * connection, session.connection());
  qbc::v1::FindMissingBlobsRequest request;
  for (const NamedBlob& named : blobs) {
    request.add_blobs()->set_sha256(named.blob.sha256);
  }
  QB_ASSIGN_OR_RETURN(const qbc::v1::FindMissingBlobsResponse response,
                      connection->FindMissingBlobs(request));
  std::set<std::string> missing;
  for (const auto& blob : response.missing()) {
    missing.insert(blob.sha256());
  }
  for (const NamedBlob& named : blobs) {
    Tell(named, missing.count(named.blob.sha256) > 0 ? "missing" : "stored", session);
  }
  return missing.empty() ? kExitOk : kExitNotFound;
}

absl::StatusOr<int> Get(const ParsedFlags& flags, Session& session) {
  if (flags.positionals().size() != 2 || !IsSha256Hex(flags.positionals()[1])) {
    return UsageError("blob get: expected one SHA-256, 64 lower-case hex characters");
  }
  const std::string output = flags.Get("output");
  if (output.empty()) {
    return UsageError("--output is missing");
  }
  QB_ASSIGN_OR_RETURN(Connection * connection, session.connection());
  QB_RETURN_IF_ERROR(DownloadBlob(*connection, flags.positionals()[1], output));
  if (session.json()) {
    session.Answer(Json::Object()
                       .Set("type", "download")
                       .Set("path", output)
                       .Set("sha256", flags.positionals()[1]));
  } else {
    session.AnswerText(absl::StrCat(output, "\n"));
  }
  return kExitOk;
}

absl::StatusOr<int> RunBlob(const ParsedFlags& flags, Session& session) {
  const std::string what = flags.positionals().empty() ? "" : flags.positionals()[0];
  if (what == "put") {
    return Put(flags, session);
  }
  if (what == "get") {
    return Get(flags, session);
  }
  if (what == "check") {
    return Check(flags, session);
  }
  return UsageError(absl::StrCat("blob: '", what, "': expected put, get or check"));
}

}  // namespace

const Command& BlobCommand() {
  static const Command command = {
      .name = "blob",
      .usage = "blob put FILE... | get SHA256 -o FILE | check FILE|SHA256...",
      .summary = "Store, fetch or look for files by their SHA-256",
      .help =
          R"(The files that jobs need and make are stored by digest; other commands upload and download what they
need by themselves.

  put      stores files that the server does not have, ahead of the jobs that need them
  get      fetches one and checks its digest
  check    says stored or missing of each; the exit code is 7 when one is missing

Example:
  qbc blob put net.onnx && qbc blob check net.onnx
)",
      .flags = kFlags,
      .run = RunBlob,
  };
  return command;
}

}  // namespace qb::client
