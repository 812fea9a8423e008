// Checks of the file lists that clients send: nothing in them may leave the folder that they
// describe.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

#include "proto/qbc/v1/blob.pb.h"

namespace qb::server {

struct ManifestLimits {
  int max_entries = 20'000;  // a request of that many stays below gRPC's 4 MiB
  int max_parts = 16;        // of a path
  int max_part_bytes = 255;
};

// A relative path of ordinary parts. Errors: InvalidArgument with `field`, the path and the rule.
absl::Status CheckManifestPath(absl::string_view field, absl::string_view path,
                               const ManifestLimits& limits);

// Paths, digests and sizes; paths are unique and none is the folder of another; `main` is empty or
// one of the paths. Errors: InvalidArgument with the field.
absl::Status CheckManifest(absl::string_view field, const qbc::v1::Manifest& manifest,
                           const ManifestLimits& limits);

}  // namespace qb::server
