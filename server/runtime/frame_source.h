// The pull side of a response stream, without any network in it.
#pragma once

#include "absl/status/statusor.h"

namespace qb::server {

// What a stream wants to do next.
enum class StreamStep {
  kSend,  // the frame that was filled in
  kWait,  // until it is woken
  kEnd,   // with OK
};

// Produces the frames of one stream, one at a time. One thread at a time; may wait for a disk.
template <typename Frame>
class FrameSource {
 public:
  virtual ~FrameSource() = default;
  // `frame` may hold what the last call left in it. An error ends the stream.
  virtual absl::StatusOr<StreamStep> Next(Frame& frame) = 0;
};

}  // namespace qb::server
