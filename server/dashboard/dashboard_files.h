// The dashboard's files, as they lie in this folder, inside of the program.
#pragma once

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace qb::server {

struct DashboardFile {
  absl::string_view path;  // of the URL: "/static/<version>/app.js"
  absl::string_view content_type;
  absl::string_view etag;  // quoted
  absl::string_view bytes;
};

// Sorted by path. "/index.html" is the document of every page.
absl::Span<const DashboardFile> DashboardFiles();

}  // namespace qb::server
