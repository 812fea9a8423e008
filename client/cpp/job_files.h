// The files that a job needs, collected from what the user named.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "client/cpp/manifest.h"

namespace qb::client {

// `path` is a model file or a folder.
//   A folder goes as a whole; `main` is its only top-level .onnx file, or empty.
//   A file goes with the external data that it names. Only plain relative locations of regular
//   files beneath the model's folder are taken, links out of it are not; what is not taken or not
//   there is told in `warnings`, and the compiler will say what it misses.
// Errors: those of ManifestBuilder.
absl::StatusOr<LocalManifest> CollectModel(const std::string& path,
                                           std::vector<std::string>* warnings);

// `path` is a calibration or evaluation set: a folder, a .txt or .json listing, or one file.
//   A listing goes with every file and folder that it names: paths are relative to the listing's
//   folder, then to the working directory. Those beneath the listing's folder keep their relative
//   path, others become "listed/<n>/<name>", and the listing is rewritten to match.
// `labels` is a labels.csv to send along, or "" for none; `labels_path` gets its path in the
// manifest. Errors: NotFound for a path, also a listed one, that does not exist; InvalidArgument
// for a malformed listing, an empty folder or an empty listing.
absl::StatusOr<LocalManifest> CollectDataset(const std::string& path, const std::string& labels,
                                             std::string* labels_path);

}  // namespace qb::client
