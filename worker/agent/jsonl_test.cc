#include "worker/agent/jsonl.h"

#include "core/base/testing/status_matchers.h"

namespace qb::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> Split(const std::vector<std::string>& pieces, size_t limit) {
  std::vector<std::string> lines;
  const auto on_line = [&](absl::string_view line, bool cut) {
    lines.push_back(std::string(line) + (cut ? "|cut" : ""));
  };
  LineSplitter splitter(limit);
  for (const std::string& piece : pieces) {
    splitter.Feed(piece, on_line);
  }
  splitter.Finish(on_line);
  return lines;
}

TEST(LineSplitter, JoinsPiecesAndGivesTheUnfinishedLineAtTheEnd) {
  EXPECT_THAT(Split({"ab", "c\nd", "\n\nef"}, 10), ElementsAre("abc", "d", "", "ef"));
  EXPECT_THAT(Split({}, 10), ElementsAre());
  EXPECT_THAT(Split({"abc\n"}, 10), ElementsAre("abc"));
}

TEST(LineSplitter, CutsLongLinesAndGoesOnWithTheNext) {
  EXPECT_THAT(Split({"abcde", "fgh\nxy\n"}, 4), ElementsAre("abcd|cut", "xy"));
  EXPECT_THAT(Split({"abcd\n"}, 4), ElementsAre("abcd"));
  EXPECT_THAT(Split({std::string(100, 'z')}, 4), ElementsAre("zzzz|cut"));
}

TEST(ParseCompilerLine, ReadsEachType) {
  const auto status =
      ParseCompilerLine(R"({"type":"status","seq":3,"state":"running","stage":"x"})");
  EXPECT_EQ(status.seq, 3);
  EXPECT_EQ(std::get<StatusMessage>(status.body).stage, "x");

  const auto progress = std::get<ProgressMessage>(
      ParseCompilerLine(
          R"({"type":"progress","seq":4,"stage":"s","done":3,"total":8,"unit":"sample","fraction":0.25})")
          .body);
  EXPECT_EQ(progress.done, 3);
  EXPECT_EQ(progress.total, 8);
  EXPECT_EQ(progress.fraction, 0.25);

  const auto log = std::get<LogMessage>(
      ParseCompilerLine(R"({"type":"log","level":"warning","logger":"a","message":"b"})").body);
  EXPECT_EQ(log.level, LogLevel::kWarning);
  EXPECT_EQ(log.message, "b");

  const auto result = std::get<ResultMessage>(
      ParseCompilerLine(
          R"({"type":"result","seq":9,"ts":"t","outputs":[{"path":"out/m","sha256":"s","bytes":5}],"device":"cpu"})")
          .body);
  ASSERT_EQ(result.outputs.size(), 1u);
  EXPECT_EQ(result.outputs[0].path, "out/m");
  EXPECT_EQ(result.rest_json, R"({"device":"cpu"})");

  const auto error = std::get<ErrorMessage>(
      ParseCompilerLine(
          R"({"type":"error","code":"C","message":"m","details":{"layer":"l","n":[1]}})")
          .body);
  EXPECT_EQ(error.code, "C");
  EXPECT_THAT(error.details, ElementsAre(std::make_pair(std::string("layer"), std::string("l")),
                                         std::make_pair(std::string("n"), std::string("[1]"))));
}

TEST(ParseCompilerLine, TurnsWhatIsNoMessageIntoGarbage) {
  const std::vector<std::string> lines = {"",
                                          "x",
                                          "null",
                                          "[]",
                                          "7",
                                          "{}",
                                          R"({"type":"other"})",
                                          R"({"type":7})",
                                          std::string("\0\xff", 2),
                                          R"({"type":"log")",
                                          std::string(10'000, '[')};
  for (const std::string& line : lines) {
    EXPECT_TRUE(std::holds_alternative<GarbageMessage>(ParseCompilerLine(line).body)) << line;
  }
  const CompilerMessage long_line = ParseCompilerLine(std::string(kMaxLineBytes + 1, ' '));
  EXPECT_THAT(std::get<GarbageMessage>(long_line.body).reason, HasSubstr("longer"));
}

TEST(ParseCompilerLine, KeepsNumbersWithinTheirBounds) {
  const auto progress = std::get<ProgressMessage>(
      ParseCompilerLine(R"({"type":"progress","done":-5,"total":-1,"fraction":1e300,"seq":-2})")
          .body);
  EXPECT_EQ(progress.done, 0);
  EXPECT_EQ(progress.total, 0);
  EXPECT_EQ(progress.fraction, 1);
  const auto wrong_types = std::get<ProgressMessage>(
      ParseCompilerLine(R"({"type":"progress","done":"x","total":[],"fraction":{},"stage":7})")
          .body);
  EXPECT_EQ(wrong_types.fraction, 0);
  EXPECT_EQ(wrong_types.stage, "");
}

TEST(CleanText, ReplacesInvalidBytesAndCutsBetweenCharacters) {
  EXPECT_EQ(CleanText("a\xff"
                      "b",
                      100),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(CleanText("grün", 100), "grün");
  EXPECT_EQ(CleanText("abcdefgh", 6), "abc...");
  EXPECT_EQ(CleanText("ääää", 6), "ä...");
  EXPECT_EQ(CleanText("abcdef", 6), "abcdef");
  EXPECT_EQ(CleanText(std::string(3, '\0'), 100), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_LE(CleanText(std::string(50, '\xff'), 10).size(), 10u);
}

}  // namespace
}  // namespace qb::worker
