// .npz archives from anywhere: arrays or an error. Entries are also unpacked one by one, so that a
// damaged one does not hide those behind it.
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "core/base/check.h"
#include "core/dataset/archive.h"
#include "core/dataset/sample_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)qb::ParseNpz(bytes);
  const absl::StatusOr<qb::Archive> archive = qb::Archive::Open(bytes);
  if (archive.ok()) {
    for (const qb::Archive::Entry& entry : archive->entries()) {
      const absl::StatusOr<std::string> content = qb::Archive::Read(entry);
      QB_CHECK(!content.ok() || content->size() == entry.size);
    }
  }
  return 0;
}
