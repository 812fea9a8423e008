#include <array>

#include "worker/qbcompiler/command.h"

namespace qb::worker {
namespace {

Command NotYet(absl::string_view name, absl::string_view summary) {
  return {name, summary, "This command is not supported yet.", {}, nullptr};
}

}  // namespace

absl::Span<const Command> AllCommands() {
  static const std::array<Command, 15> commands = {
      CompileCommand(),
      ParseCommand(),
      QuantizeCommand(),
      RunCommand(),
      EvaluateCommand(),
      LayersCommand(),
      ValidateCommand(),
      MakeCalibCommand(),
      InfoCommand(),
      CheckCommand(),
      PresetsCommand(),
      DumpConfigCommand(),
      CompletionCommand(),
      ExtractBodyCommand(),
      ExportOnnxCommand(),
  };
  return commands;
}

}  // namespace qb::worker
