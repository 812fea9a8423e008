#include "core/base/shell_completion.h"

#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

#include "core/base/failure.h"

namespace qb {
namespace {

bool TakesValue(const FlagDef& flag) {
  return flag.kind == FlagKind::kValue || flag.kind == FlagKind::kRepeated;
}

// The words that `flag` takes; empty: files.
std::string WordsOf(const CompletedProgram& program, const FlagDef& flag) {
  for (const CompletedValues& values : program.values) {
    if (values.flag == flag.name) {
      return absl::StrJoin(values.words, " ");
    }
  }
  const bool listed = absl::StrContains(flag.value_name, '|');
  return listed ? absl::StrReplaceAll(flag.value_name, {{"|", " "}}) : "";
}

std::vector<std::string> FlagWords(const CompletedCommand& command) {
  std::vector<std::string> words;
  for (const FlagDef& flag : command.flags) {
    words.push_back(absl::StrCat("--", flag.name));
    if (flag.kind == FlagKind::kNegatable) {
      words.push_back(absl::StrCat("--no-", flag.name));
    }
  }
  words.emplace_back("--help");
  return words;
}

std::string CommandWords(const CompletedProgram& program) {
  return absl::StrJoin(program.commands, " ", [](std::string* out, const CompletedCommand& item) {
    absl::StrAppend(out, item.name);
  });
}

// Lines of a case statement on the word before: flags whose value is a known word.
std::string ValueCases(const CompletedProgram& program) {
  std::map<std::string, std::string> cases;  // by pattern: a flag means the same in every command
  for (const CompletedCommand& command : program.commands) {
    for (const FlagDef& flag : command.flags) {
      const std::string words = TakesValue(flag) ? WordsOf(program, flag) : "";
      if (!words.empty()) {
        const std::string letter =
            flag.letter == 0 ? "" : absl::StrCat("|-", std::string(1, flag.letter));
        cases.emplace(absl::StrCat("--", flag.name, letter), words);
      }
    }
  }
  std::string text;
  for (const auto& [pattern, words] : cases) {
    absl::StrAppend(&text, "    ", pattern, ") COMPREPLY=($(compgen -W \"", words,
                    "\" -- \"$word\")); return ;;\n");
  }
  return text;
}

std::string Bash(const CompletedProgram& program) {
  const std::string function = absl::StrCat("_", absl::StrReplaceAll(program.name, {{"-", "_"}}));
  std::string script = absl::StrCat(
      "# ", program.name, " completion for bash: eval \"$(", program.name, " completion bash)\"\n",
      function,
      "() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} flags= words=\n"
      "  if ((COMP_CWORD == 1)); then\n"
      "    COMPREPLY=($(compgen -W \"",
      CommandWords(program),
      "\" -- \"$word\"))\n    return\n  fi\n"
      "  case $before in\n",
      ValueCases(program), "  esac\n  case ${COMP_WORDS[1]} in\n");
  for (const CompletedCommand& command : program.commands) {
    absl::StrAppend(&script, "    ", command.name, ") flags=\"",
                    absl::StrJoin(FlagWords(command), " "), "\" words=\"",
                    absl::StrJoin(command.words, " "), "\" ;;\n");
  }
  absl::StrAppend(&script,
                  "  esac\n"
                  "  if [[ $word == -* ]]; then\n"
                  "    COMPREPLY=($(compgen -W \"$flags\" -- \"$word\"))\n"
                  "  elif [[ -n $words ]]; then\n"
                  "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
                  "  else\n"
                  "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
                  "  fi\n"
                  "}\n"
                  "complete -o filenames -F ",
                  function, " ", program.name, "\n");
  return script;
}

// Bash's function serves zsh through its own compatibility layer.
std::string Zsh(const CompletedProgram& program) {
  return absl::StrCat("autoload -U +X compinit && compinit\n",
                      "autoload -U +X bashcompinit && bashcompinit\n", Bash(program));
}

std::string Quoted(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
}

std::string FishFlag(const CompletedProgram& program, absl::string_view command,
                     const FlagDef& flag) {
  const std::string start = absl::StrCat("complete -c ", program.name,
                                         " -n '__fish_seen_subcommand_from ", command, "' -l ");
  const std::string words = WordsOf(program, flag);
  std::string line = absl::StrCat(start, flag.name);
  if (flag.letter != 0) {
    absl::StrAppend(&line, " -s ", std::string(1, flag.letter));
  }
  if (TakesValue(flag)) {
    absl::StrAppend(&line, words.empty() ? " -r" : absl::StrCat(" -x -a ", Quoted(words)));
  }
  absl::StrAppend(&line, " -d ", Quoted(flag.help), "\n");
  if (flag.kind == FlagKind::kNegatable) {
    absl::StrAppend(&line, start, "no-", flag.name, "\n");
  }
  return line;
}

std::string Fish(const CompletedProgram& program) {
  std::string script = absl::StrCat("# ", program.name, " completion for fish: ", program.name,
                                    " completion fish | source\n");
  for (const CompletedCommand& command : program.commands) {
    absl::StrAppend(&script, "complete -c ", program.name, " -n __fish_use_subcommand -f -a ",
                    command.name, " -d ", Quoted(command.summary), "\n");
    for (const FlagDef& flag : command.flags) {
      absl::StrAppend(&script, FishFlag(program, command.name, flag));
    }
    if (!command.words.empty()) {
      absl::StrAppend(&script, "complete -c ", program.name, " -n '__fish_seen_subcommand_from ",
                      command.name, "' -f -a ", Quoted(absl::StrJoin(command.words, " ")), "\n");
    }
  }
  return script;
}

}  // namespace

absl::StatusOr<std::string> CompletionScript(absl::string_view shell,
                                             const CompletedProgram& program) {
  if (shell == "bash") {
    return Bash(program);
  }
  if (shell == "zsh") {
    return Zsh(program);
  }
  if (shell == "fish") {
    return Fish(program);
  }
  return Failure(FailureCode::kArgumentError, absl::StrCat("there is no completion for the shell '",
                                                           shell, "'; accepted: bash, zsh, fish"));
}

}  // namespace qb
