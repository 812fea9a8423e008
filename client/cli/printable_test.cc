#include "client/cli/printable.h"

namespace qb::client {
namespace {

TEST(Printable, EscapesWhatMovesTheTerminal) {
  EXPECT_EQ(Printable("\x1b[2J\x1b]0;title\x07"), "\\x1b[2J\\x1b]0;title\\x07");
  EXPECT_EQ(Printable("a\rb"), "a\\x0db");
  EXPECT_EQ(Printable("\xc2\x9b"
                      "31m"),
            "\\x9b31m");  // C1 control
  EXPECT_EQ(Printable("\xe2\x80\xae"
                      "txt"),
            "\\u202etxt");  // right-to-left override
  EXPECT_EQ(Printable(absl::string_view("nul\0", 4)), "nul\\x00");
  EXPECT_EQ(Printable("\x7f"), "\\x7f");
}

TEST(Printable, EscapesBytesThatAreNotUtf8) {
  EXPECT_EQ(Printable("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(Printable("\xc3"), "\\xc3");
  EXPECT_EQ(Printable("\xc0\xaf"), "\\xc0\\xaf");           // overlong
  EXPECT_EQ(Printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // surrogate
  EXPECT_EQ(Printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

TEST(Printable, KeepsText) {
  EXPECT_EQ(Printable("Größe 3×3, 日本, 🙂\nnext\tline"),
            "Größe 3×3, 日本, 🙂\nnext line");
  EXPECT_EQ(PrintableLine("a\nb"), "a b");
}

TEST(FormatBytes, UsesDecimalUnits) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(999), "999 B");
  EXPECT_EQ(FormatBytes(1500), "1.5 kB");
  EXPECT_EQ(FormatBytes(12'400'000), "12 MB");
  EXPECT_EQ(FormatBytes(999'950'000), "1.0 GB");
}

TEST(FormatElapsed, GrowsWithTheTime) {
  EXPECT_EQ(FormatElapsed(absl::Milliseconds(420)), "0.4 s");
  EXPECT_EQ(FormatElapsed(absl::Seconds(59)), "59 s");
  EXPECT_EQ(FormatElapsed(absl::Seconds(187)), "3:07");
  EXPECT_EQ(FormatElapsed(absl::Seconds(3723)), "1:02:03");
}

}  // namespace
}  // namespace qb::client
