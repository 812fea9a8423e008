#include <array>

#include "worker/qbcompiler/command.h"

namespace qb::worker {
absl::Span<const Command> AllCommands() {
  static const std::array<Command, 15> commands = {
      CompileCommand(),    ParseCommand(),       QuantizeCommand(),   RunCommand(),
      EvaluateCommand(),   LayersCommand(),      ValidateCommand(),   MakeCalibCommand(),
      InfoCommand(),       CheckCommand(),       PresetsCommand(),    DumpConfigCommand(),
      CompletionCommand(), ExtractBodyCommand(), ExportOnnxCommand(),
  };
  return commands;
}

}  // namespace qb::worker
