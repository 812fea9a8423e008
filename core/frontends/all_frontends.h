// The source formats by name.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include "core/frontends/imported_model.h"

namespace qb {

struct Frontend {
  absl::string_view name;  // as the flag --backend takes it
  // Is the path's ending one of this format's? Null: the format shares another row's endings.
  bool (*matches)(absl::string_view path);
  // Null: known by name, not supported yet.
  absl::StatusOr<ImportedModel> (*import)(const std::string& path, const ImportOptions& options);
};

absl::Span<const Frontend> AllFrontends();

// The frontend called `name`, whatever its case. Errors: ARGUMENT_ERROR with the list of names when
// there is none, and "not supported yet" for formats without an importer.
absl::StatusOr<const Frontend*> FindFrontend(absl::string_view name);

// FindFrontend, then its import. A file that looks like another format is refused with its name.
absl::StatusOr<ImportedModel> ImportModel(absl::string_view backend, const std::string& path,
                                          const ImportOptions& options);

}  // namespace qb
