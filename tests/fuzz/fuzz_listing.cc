// Listings of samples (.txt, .json) and label files from anywhere: what they name, or an error. The
// listing lies in a folder of its own; what it lists is looked for there, never opened.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/strings/string_view.h"

#include "core/base/check.h"
#include "core/dataset/labels.h"
#include "core/dataset/sample_listing.h"

namespace {

// Removed when the process ends.
class Folder {
 public:
  Folder() {
    char name[] = "/tmp/fuzz_listing.XXXXXX";
    QB_CHECK(mkdtemp(name) != nullptr);
    path_ = name;
    Write("a.npy", "x");
    Write("b.npy", "x");
  }
  ~Folder() {
    for (const char* name : {"a.npy", "b.npy", "set.txt", "set.json"}) {
      (void)unlink((path_ + "/" + name).c_str());
    }
    (void)rmdir(path_.c_str());
  }
  std::string Write(const char* name, absl::string_view content) const {
    const std::string path = path_ + "/" + name;
    std::FILE* file = std::fopen(path.c_str(), "wb");
    QB_CHECK(file != nullptr);
    QB_CHECK(std::fwrite(content.data(), 1, content.size(), file) == content.size());
    QB_CHECK(std::fclose(file) == 0);
    return path;
  }

 private:
  std::string path_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Folder folder;
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const char* name : {"set.txt", "set.json"}) {
    const auto samples = qb::ListSamples(folder.Write(name, bytes));
    QB_CHECK(!samples.ok() || !samples->empty());
  }
  (void)qb::ParseLabels(bytes);
  return 0;
}
