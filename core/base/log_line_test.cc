#include "core/base/log_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "core/base/testing/status_matchers.h"

namespace qb {
namespace {

const absl::Time kTime = absl::FromUnixMillis(1'700'000'000'123);

TEST(LogLine, TextHasTimeLevelProgramAndFields) {
  EXPECT_EQ(FormatLogLine(LogFormat::kText, "qbc-server", kTime,
                          {LogLevel::kWarning, "job accepted", {{"job", "j1"}, {"trace", ""}}}),
            "2023-11-14T22:13:20.123Z warning qbc-server: job accepted job=j1\n");
}

TEST(LogLine, ALineStaysALineWhateverIsInIt) {
  const LogLine line = {LogLevel::kError, "bad\nname\x1b[31m", {{"file", "a\r\nb"}}};
  EXPECT_EQ(FormatLogLine(LogFormat::kText, "p", kTime, line),
            "2023-11-14T22:13:20.123Z error p: bad\\nname\\033[31m file=a\\r\\nb\n");
  const std::string json = FormatLogLine(LogFormat::kJson, "p", kTime, line);
  EXPECT_EQ(json.find('\n'), json.size() - 1);
  QB_ASSERT_OK_AND_ASSIGN(const Json parsed, Json::Parse(json));
  EXPECT_EQ(parsed["message"].as_string(), "bad\nname\x1b[31m");
  EXPECT_EQ(parsed["file"].as_string(), "a\r\nb");
  EXPECT_EQ(parsed["level"].as_string(), "error");
  EXPECT_EQ(parsed["program"].as_string(), "p");
  EXPECT_EQ(parsed["time"].as_string(), "2023-11-14T22:13:20.123Z");
}

TEST(LogLine, FormatsHaveNames) {
  EXPECT_EQ(*ParseLogFormat("--log-format", "json"), LogFormat::kJson);
  EXPECT_EQ(*ParseLogFormat("--log-format", "text"), LogFormat::kText);
  EXPECT_THAT(std::string(ParseLogFormat("--log-format", "xml").status().message()),
              ::testing::HasSubstr("--log-format: 'xml': expected text or json"));
}

TEST(LogLine, WithoutASinkItIsSilent) { Log()(LogLevel::kError, "nobody hears it"); }

}  // namespace
}  // namespace qb
