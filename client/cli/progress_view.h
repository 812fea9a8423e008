// What the user sees while an upload, a job or a download is under way.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

#include "client/cli/environment.h"
#include "client/cpp/upload.h"
#include "proto/qbc/v1/event.pb.h"

namespace qb::client {

enum class ViewKind {
  kBar,    // one line at the bottom of the terminal, redrawn
  kPlain,  // a line a change, and a progress line every 30 s
  kJson,   // events as JSON lines on the answer stream
  kNone,   // warnings only
};

// `choice` is the value of --progress: auto, plain, none or "". `json` is --json. A bar needs a
// terminal that is not dumb, and no CI. Errors: usage.
absl::StatusOr<ViewKind> ChooseView(const CliEnvironment& environment, const std::string& choice,
                                    bool json);

// May colours be used on the error stream?
bool UseColor(const CliEnvironment& environment);

// One thread at a time. Text of the server is made printable here.
class ProgressView {
 public:
  virtual ~ProgressView() = default;

  // A line that stays.
  virtual void Say(absl::string_view line) = 0;
  // Like Say, also when the view is otherwise silent.
  virtual void Warn(absl::string_view line) = 0;
  virtual void OnUpload(const UploadProgress& progress) = 0;
  virtual void OnEvent(absl::string_view job_id, const qbc::v1::JobEvent& event) = 0;
  virtual void OnDownload(int64_t done_bytes, int64_t total_bytes) = 0;
  // The connection is lost and tried again after `delay`.
  virtual void OnRetry(const absl::Status& why, absl::Duration delay) = 0;
  // Removes what is redrawn. Called before anybody else writes to the terminal.
  virtual void Clear() = 0;
};

std::unique_ptr<ProgressView> CreateProgressView(ViewKind kind, const CliEnvironment& environment);

}  // namespace qb::client
