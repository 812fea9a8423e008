#include "worker/qbcompiler/completion.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

#include "core/base/failure.h"

namespace qb::worker {
namespace {

bool TakesValue(const FlagDef& flag) {
  return flag.kind == FlagKind::kValue || flag.kind == FlagKind::kRepeated;
}

std::vector<std::string> FlagWords(const Command& command) {
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

std::string CommandWords(absl::Span<const Command> commands) {
  std::vector<absl::string_view> names;
  for (const Command& command : commands) {
    names.push_back(command.name);
  }
  return absl::StrJoin(names, " ");
}

// Flags whose value is one of a few words ("gpu|cpu"), as lines of a case statement on the flag.
std::string ChoiceCases(absl::Span<const Command> commands) {
  std::string cases;
  std::vector<absl::string_view> done;
  for (const Command& command : commands) {
    for (const FlagDef& flag : command.flags) {
      const bool choices = flag.value_name.find('|') != absl::string_view::npos;
      if (choices && std::find(done.begin(), done.end(), flag.name) == done.end()) {
        done.push_back(flag.name);
        absl::StrAppend(&cases, "    --", flag.name, ") COMPREPLY=($(compgen -W \"",
                        absl::StrReplaceAll(flag.value_name, {{"|", " "}}),
                        "\" -- \"$word\")); return ;;\n");
      }
    }
  }
  return cases;
}

std::string Bash(absl::Span<const Command> commands) {
  std::string script = absl::StrCat(
      "# qbcompiler completion for bash: eval \"$(qbcompiler completion bash)\"\n"
      "_qbcompiler() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} flags=\n"
      "  if ((COMP_CWORD == 1)); then\n"
      "    COMPREPLY=($(compgen -W \"",
      CommandWords(commands),
      "\" -- \"$word\"))\n    return\n  fi\n"
      "  case $before in\n",
      ChoiceCases(commands), "  esac\n  case ${COMP_WORDS[1]} in\n");
  for (const Command& command : commands) {
    absl::StrAppend(&script, "    ", command.name, ") flags=\"",
                    absl::StrJoin(FlagWords(command), " "), "\" ;;\n");
  }
  absl::StrAppend(&script,
                  "  esac\n"
                  "  if [[ $word == -* ]]; then\n"
                  "    COMPREPLY=($(compgen -W \"$flags\" -- \"$word\"))\n"
                  "  else\n"
                  "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
                  "  fi\n"
                  "}\n"
                  "complete -o filenames -F _qbcompiler qbcompiler\n");
  return script;
}

// Bash's function serves zsh through its own compatibility layer.
std::string Zsh(absl::Span<const Command> commands) {
  return absl::StrCat("autoload -U +X compinit && compinit\n",
                      "autoload -U +X bashcompinit && bashcompinit\n", Bash(commands));
}

std::string Quoted(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
}

std::string Fish(absl::Span<const Command> commands) {
  std::string script = "# qbcompiler completion for fish: qbcompiler completion fish | source\n";
  for (const Command& command : commands) {
    absl::StrAppend(&script, "complete -c qbcompiler -n __fish_use_subcommand -f -a ", command.name,
                    " -d ", Quoted(command.summary), "\n");
    for (const FlagDef& flag : command.flags) {
      absl::StrAppend(&script, "complete -c qbcompiler -n '__fish_seen_subcommand_from ",
                      command.name, "' -l ", flag.name, TakesValue(flag) ? " -r" : "", " -d ",
                      Quoted(flag.help), "\n");
    }
  }
  return script;
}

}  // namespace

absl::StatusOr<std::string> CompletionScript(absl::string_view shell,
                                             absl::Span<const Command> commands) {
  if (shell == "bash") {
    return Bash(commands);
  }
  if (shell == "zsh") {
    return Zsh(commands);
  }
  if (shell == "fish") {
    return Fish(commands);
  }
  return Failure(FailureCode::kArgumentError, absl::StrCat("there is no completion for the shell '",
                                                           shell, "'; accepted: bash, zsh, fish"));
}

}  // namespace qb::worker
