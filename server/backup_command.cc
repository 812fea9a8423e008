#include "server/backup_command.h"

#include <sys/stat.h>

#include <array>
#include <filesystem>

#include "absl/strings/str_cat.h"

#include "core/base/flags.h"
#include "server/backup.h"

namespace qb::server {
namespace {

constexpr auto kFlags = std::to_array<FlagDef>({
    {"data-dir", 0, FlagKind::kValue, "DIR", "The data folder of the server. Needed."},
    {"output", 0, FlagKind::kValue, "DIR",
     "Where the copy goes: a folder that is not there yet, or that of an earlier backup, to which "
     "only what is new is copied. Needed."},
    {"help", 'h', FlagKind::kSwitch, "", "This text."},
});

std::string Usage() {
  return absl::StrCat(
      "Usage: qbc-server backup --data-dir DIR --output DIR\n\n"
      "Copies jobs, results, inputs, logs and credentials as they are at one moment, while a "
      "server uses the folder or none does. The copy is a data folder itself: to restore, end the "
      "old server and start one with --data-dir and (a copy of) it.\n\n",
      FormatFlags(kFlags, 100));
}

}  // namespace

int RunBackupCommand(const std::vector<std::string>& arguments, std::ostream& out,
                     std::ostream& err) {
  const absl::StatusOr<ParsedFlags> flags = ParseFlags(kFlags, arguments);
  if (!flags.ok()) {
    err << "qbc-server backup: " << flags.status().message() << "\n";
    return 2;
  }
  if (flags->Has("help")) {
    out << Usage();
    return 0;
  }
  if (flags->Get("data-dir").empty() || flags->Get("output").empty() ||
      !flags->positionals().empty()) {
    err << "qbc-server backup: expected --data-dir and --output, and nothing else\n";
    return 2;
  }
  // Readable by the account of the server alone, as the data folder is.
  umask(0077);
  const absl::StatusOr<BackupFigures> figures =
      BackUpDataFolder(flags->Get("data-dir"), flags->Get("output"));
  if (!figures.ok()) {
    err << "qbc-server backup: " << figures.status().message() << "\n";
    return 1;
  }
  out << absl::StrCat(flags->Get("output"), ": ", figures->blobs, " files, of which ",
                      figures->copied_blobs, " were copied (", figures->copied_bytes,
                      " bytes), and ", figures->logs, " logs\n");
  return 0;
}

}  // namespace qb::server
