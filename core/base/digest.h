// SHA-256 of bytes, strings and files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace qb {

// Incremental SHA-256. One thread at a time.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void Update(absl::string_view bytes);
  // Lower-case hex, 64 characters. Call once; the object is spent afterwards.
  std::string FinishHex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string Sha256Hex(absl::string_view bytes);

// Streams the file in 1 MiB pieces. Errors: NotFound or Internal with the path and errno text.
absl::StatusOr<std::string> Sha256HexOfFile(const std::string& path);

// True for exactly 64 lower-case hex characters.
bool IsSha256Hex(absl::string_view text);

}  // namespace qb
