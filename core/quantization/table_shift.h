// How far the codes of a 16-bit value must move so that a table of them has a given mean.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

#include "core/integer/network.h"

namespace qb {

// How often the codes of each channel of an int16 tensor occur, in bins of 64 codes. One thread.
class CodeCounts {
 public:
  static constexpr int kBinBits = 6;
  static constexpr size_t kBins = size_t{1} << (16 - kBinBits);

  explicit CodeCounts(size_t channels) : channels_(channels), counts_(channels * kBins, 0) {}

  // Codes of tensors whose last axis are the channels.
  void Add(absl::Span<const int16_t> codes);
  void Add(const CodeCounts& other);

  size_t channels() const { return channels_; }
  absl::Span<const int64_t> of_channel(size_t channel) const {
    return absl::MakeConstSpan(counts_).subspan(channel * kBins, kBins);
  }

 private:
  size_t channels_;
  std::vector<int64_t> counts_;
};

// For each channel the number of codes of `x`, not always whole, to add to the input of the table
// so that the mean of its real results is `want`; 0 where no small shift (of one deviation of the
// codes at most) brings the mean closer, or where the table is flat. Precondition: the table has
// knots; `y` is what it writes.
std::vector<double> ShiftsForMeans(const integer::LutParams& table, const integer::TensorInfo& y,
                                   const CodeCounts& counts, absl::Span<const double> want);

}  // namespace qb
