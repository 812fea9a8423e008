// .npy bytes from anywhere: an array or an error, never anything else. What parses is written and
// read again without a change.
#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "core/base/check.h"
#include "core/dataset/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<qb::Tensor> tensor = qb::ParseNpy(bytes);
  if (tensor.ok()) {
    const absl::StatusOr<qb::Tensor> again = qb::ParseNpy(qb::SerializeNpy(*tensor));
    QB_CHECK(again.ok() && again->Equals(*tensor));
  }
  return 0;
}
