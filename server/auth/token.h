// The text of a bearer token: qbt_<id>_<secret>, both of random bytes in lower-case hex.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace qb::server {

struct Token {
  std::string id;      // 16 characters, public: names the token in lists and logs
  std::string secret;  // 64 characters: 256 bits that only the holder has

  std::string Text() const;
};

// Of the system's random source. Thread-safe.
Token MakeToken();

// Nothing when the text has another form.
std::optional<Token> ParseToken(absl::string_view text);

// What is kept of a token. Plain SHA-256 is enough for 256 random bits: nobody can guess them.
std::string TokenHash(const Token& token);

// Compares in a time that does not depend on where the texts differ.
bool EqualSecrets(absl::string_view a, absl::string_view b);

}  // namespace qb::server
