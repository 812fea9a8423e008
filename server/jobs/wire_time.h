// Milliseconds and the protocol's times.
#pragma once

#include <algorithm>
#include <cstdint>

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

namespace qb::server {

// Negative durations are 0; those beyond 31 years are cut, so that sums stay in range.
inline int64_t ToMs(const google::protobuf::Duration& duration) {
  const int64_t seconds = std::clamp<int64_t>(duration.seconds(), 0, 1'000'000'000);
  return seconds * 1000 + std::clamp(duration.nanos(), 0, 999'999'999) / 1'000'000;
}

inline void SetTime(int64_t ms, google::protobuf::Timestamp* time) {
  time->set_seconds(ms / 1000);
  time->set_nanos(static_cast<int32_t>(ms % 1000) * 1'000'000);
}

inline void SetDuration(int64_t ms, google::protobuf::Duration* duration) {
  duration->set_seconds(ms / 1000);
  duration->set_nanos(static_cast<int32_t>(ms % 1000) * 1'000'000);
}

}  // namespace qb::server
