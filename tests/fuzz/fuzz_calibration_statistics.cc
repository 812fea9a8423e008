// Any bytes as a file of calibration statistics, and as its second line, which the first one's
// digest keeps from random bytes. What reads writes back to the same sets.
#include <cstddef>
#include <cstdint>

#include "core/base/check.h"
#include "core/calibration/statistics_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  static_cast<void>(qb::StatisticsFromText(bytes));
  const auto sets = qb::StatisticsFromBody(bytes);
  if (sets.ok()) {
    const std::string text = qb::StatisticsToText(*sets);
    const auto again = qb::StatisticsFromText(text);
    QB_CHECK(again.ok() && qb::StatisticsToText(*again) == text);
  }
  return 0;
}
