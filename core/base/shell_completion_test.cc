#include "core/base/shell_completion.h"

#include "core/base/failure.h"
#include "core/base/testing/status_matchers.h"

namespace qb {
namespace {

using ::testing::HasSubstr;

CompletedProgram Program() {
  CompletedProgram program;
  program.name = "a-tool";
  program.commands = {{"build",
                       "make it",
                       {{"fast", 'f', FlagKind::kNegatable, "", "don't wait"},
                        {"on", 0, FlagKind::kValue, "gpu|cpu", "where"},
                        {"for", 't', FlagKind::kValue, "NAME", "the target"},
                        {"out", 'o', FlagKind::kValue, "FILE", "the result"}},
                       {}},
                      {"speak", "in a shell's words", {}, {"bash", "zsh"}}};
  program.values = {{"for", {"one", "two"}}};
  return program;
}

TEST(ShellCompletion, BashKnowsCommandsFlagsAndValues) {
  QB_ASSERT_OK_AND_ASSIGN(const std::string script, CompletionScript("bash", Program()));
  EXPECT_THAT(script, HasSubstr("compgen -W \"build speak\""));
  EXPECT_THAT(script, HasSubstr("build) flags=\"--fast --no-fast --on --for --out --help\""));
  EXPECT_THAT(script, HasSubstr("--on) COMPREPLY=($(compgen -W \"gpu cpu\""));
  EXPECT_THAT(script, HasSubstr("--for|-t) COMPREPLY=($(compgen -W \"one two\""));
  EXPECT_THAT(script, HasSubstr("speak) flags=\"--help\" words=\"bash zsh\""));
  EXPECT_THAT(script, HasSubstr("complete -o filenames -F _a_tool a-tool\n"));
}

TEST(ShellCompletion, FishQuotesWhatItSays) {
  QB_ASSERT_OK_AND_ASSIGN(const std::string script, CompletionScript("fish", Program()));
  EXPECT_THAT(script, HasSubstr("-l fast -s f -d 'don\\'t wait'\n"));
  EXPECT_THAT(script, HasSubstr("-l no-fast\n"));
  EXPECT_THAT(script, HasSubstr("-l for -s t -x -a 'one two' -d 'the target'\n"));
  EXPECT_THAT(script, HasSubstr("-l out -s o -r -d 'the result'\n"));
}

TEST(ShellCompletion, AnotherShellIsRefused) {
  EXPECT_EQ(FailureCodeOf(CompletionScript("tcsh", Program()).status()),
            FailureCode::kArgumentError);
}

}  // namespace
}  // namespace qb
