#include "server/auth/token.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

#include "core/base/check.h"
#include "core/base/digest.h"

namespace qb::server {
namespace {

constexpr absl::string_view kPrefix = "qbt_";
constexpr size_t kIdBytes = 8;
constexpr size_t kSecretBytes = 32;

std::string RandomHex(size_t bytes) {
  std::string random(bytes, '\0');
  size_t filled = 0;
  while (filled < bytes) {
    const ssize_t got = getrandom(random.data() + filled, bytes - filled, 0);
    QB_CHECK_MSG(got >= 0 || errno == EINTR, "getrandom failed with errno ", errno);
    filled += got > 0 ? static_cast<size_t>(got) : 0;
  }
  return absl::BytesToHexString(random);
}

bool IsHex(absl::string_view text, size_t bytes) {
  return text.size() == 2 * bytes && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace

std::string Token::Text() const { return absl::StrCat(kPrefix, id, "_", secret); }

Token MakeToken() { return {RandomHex(kIdBytes), RandomHex(kSecretBytes)}; }

std::optional<Token> ParseToken(absl::string_view text) {
  if (!absl::ConsumePrefix(&text, kPrefix)) {
    return std::nullopt;
  }
  const size_t bar = text.find('_');
  if (bar == absl::string_view::npos) {
    return std::nullopt;
  }
  Token token{std::string(text.substr(0, bar)), std::string(text.substr(bar + 1))};
  if (!IsHex(token.id, kIdBytes) || !IsHex(token.secret, kSecretBytes)) {
    return std::nullopt;
  }
  return token;
}

std::string TokenHash(const Token& token) { return Sha256Hex(token.Text()); }

bool EqualSecrets(absl::string_view a, absl::string_view b) {
  if (a.size() != b.size()) {
    return false;
  }
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return difference == 0;
}

}  // namespace qb::server
