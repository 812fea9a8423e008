// Files of torch.save: tensors or an error. The archive's checksums stop nearly every mutation, so the
// same bytes are also run as the pickle that an archive would hold.
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

#include "core/base/check.h"
#include "core/dataset/pickle_machine.h"
#include "core/dataset/torch_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto arrays = qb::ParseTorchFile(bytes);
  if (arrays.ok()) {
    for (const qb::NamedArray& array : *arrays) {
      QB_CHECK(array.value.shape().elements() >= 0);
    }
  }
  const auto pickle = qb::RunPickle(bytes);
  if (pickle.ok()) {
    const int count = static_cast<int>(pickle->values.size());
    QB_CHECK(pickle->root >= 0 && pickle->root < count);
    for (const qb::PickleValue& value : pickle->values) {
      for (const int item : value.items) {
        QB_CHECK(item >= 0 && item < count);
      }
    }
  }
  return 0;
}
