#include <filesystem>
#include <system_error>
#include <utility>

#include "core/base/digest.h"
#include "core/base/failure.h"
#include "core/compiler/compile.h"

namespace qb {

absl::StatusOr<OutputFile> DescribeOutput(const std::string& path) {
  absl::StatusOr<std::string> digest = Sha256HexOfFile(path);
  if (!digest.ok()) {
    return WithFailureCode(digest.status(), FailureCode::kOutputWriteError);
  }
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  return OutputFile{path, *std::move(digest), static_cast<int64_t>(bytes)};
}

}  // namespace qb
