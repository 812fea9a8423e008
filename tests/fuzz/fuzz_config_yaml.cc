// Settings as YAML: any bytes load or are refused, and what loads dumps and loads again as the
// same.
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

#include "core/base/check.h"
#include "core/config/compile_config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  qb::ConfigSources sources;
  // A comment in front keeps a brace from choosing the reader of JSON.
  sources.file_text = "# yaml\n" + std::string(reinterpret_cast<const char*>(bytes), size);
  sources.file_name = "fuzz";
  sources.for_dump = true;
  const absl::StatusOr<qb::CompileConfig> config = qb::CompileConfig::Resolve(sources);
  if (!config.ok()) {
    QB_CHECK(!qb::ConfigProblemsOf(config.status()).empty());
    return 0;
  }
  const std::string dumped = qb::JsonToYaml(config->ToGroupedJson());
  sources.file_text = dumped;
  const absl::StatusOr<qb::CompileConfig> again = qb::CompileConfig::Resolve(sources);
  QB_CHECK(again.ok());
  QB_CHECK(qb::JsonToYaml(again->ToGroupedJson()) == dumped);
  return 0;
}
