// The codes of one tensor for many samples, of which only a few stay in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace qb {

// The first samples are in memory, the others in a file without a name below $TMPDIR, whose pages
// are the system's to keep or to write out. Different threads may work on different samples.
class SampleCodes {
 public:
  // Memory for one sample at a time that is not one of the first; a thread has one a tensor.
  using Buffer = std::vector<uint8_t>;

  // Errors: OUTPUT_WRITE_ERROR naming the folder where the file cannot be made.
  static absl::StatusOr<std::unique_ptr<SampleCodes>> Create(int64_t samples, int64_t sample_bytes,
                                                             int64_t in_memory);
  ~SampleCodes();
  SampleCodes(const SampleCodes&) = delete;
  SampleCodes& operator=(const SampleCodes&) = delete;

  // Where the codes of the sample are to be written; Keep follows. Not zeroed.
  uint8_t* Place(int64_t sample, Buffer& buffer);
  // Errors: OUTPUT_WRITE_ERROR where the file cannot take what was written at Place.
  absl::Status Keep(int64_t sample, const Buffer& buffer);
  // The codes that were kept: valid until the buffer's next use. Errors: Internal where the file
  // cannot be read.
  absl::StatusOr<const uint8_t*> Read(int64_t sample, Buffer& buffer) const;

 private:
  SampleCodes(int64_t sample_bytes, int fd) : sample_bytes_(sample_bytes), fd_(fd) {}
  int64_t Offset(int64_t sample) const {
    return (sample - static_cast<int64_t>(held_.size())) * sample_bytes_;
  }
  bool IsHeld(int64_t sample) const { return sample < static_cast<int64_t>(held_.size()); }

  const int64_t sample_bytes_;
  const int fd_;  // -1: every sample is in memory
  std::vector<std::unique_ptr<uint8_t[]>> held_;
};

}  // namespace qb
