#include "server/auth/token.h"

#include <gtest/gtest.h>

#include <set>

namespace qb::server {
namespace {

TEST(Token, ReadsBackAndIsNeverTheSame) {
  std::set<std::string> texts;
  for (int i = 0; i < 100; ++i) {
    const Token token = MakeToken();
    texts.insert(token.Text());
    const auto parsed = ParseToken(token.Text());
    ASSERT_TRUE(parsed.has_value());
    EXPECT_EQ(parsed->id, token.id);
    EXPECT_EQ(parsed->secret, token.secret);
    EXPECT_EQ(token.secret.size(), 64u);
  }
  EXPECT_EQ(texts.size(), 100u);
}

TEST(Token, OtherTextsAreNone) {
  const std::string good = MakeToken().Text();
  for (const std::string& text :
       {std::string(), std::string("qbt_"), good.substr(1), good + "0", good.substr(0, 20),
        "qbt_" + std::string(16, 'g') + "_" + std::string(64, '0'), good + " "}) {
    EXPECT_FALSE(ParseToken(text).has_value()) << text;
  }
}

TEST(Token, HashIsOfTheWholeText) {
  const Token token = MakeToken();
  Token other = token;
  other.id = MakeToken().id;
  EXPECT_NE(TokenHash(token), TokenHash(other));
  EXPECT_EQ(TokenHash(token).find(token.secret), std::string::npos);
}

TEST(EqualSecrets, ComparesWholeTexts) {
  EXPECT_TRUE(EqualSecrets("abc", "abc"));
  EXPECT_TRUE(EqualSecrets("", ""));
  EXPECT_FALSE(EqualSecrets("abc", "abd"));
  EXPECT_FALSE(EqualSecrets("abc", "ab"));
}

}  // namespace
}  // namespace qb::server
