// What makes files survive a power cut.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace qb::server {

// A Status for `errno_value`: ResourceExhausted when the disk or the quota is full, NotFound,
// otherwise Internal. The message has what, path and the system's text.
absl::Status FileError(int errno_value, absl::string_view what, absl::string_view path);

// Makes `path` and its parents with mode 0700 where they do not exist, and syncs what it made.
absl::Status MakeFolders(const std::string& path);

// Makes the bytes of a file durable. Errors: NotFound when there is no such file.
absl::Status SyncFile(const std::string& path);

// Makes the names in a folder durable. "" is the working folder.
absl::Status SyncFolder(const std::string& path);

}  // namespace qb::server
