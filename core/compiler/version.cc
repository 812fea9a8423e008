#include "core/compiler/version.h"

#include "core/compiler/build_info.h"  // written by the build

namespace qb {

absl::string_view CompilerVersion() { return QB_VERSION; }
absl::string_view CompilerCommit() { return QB_COMMIT; }

}  // namespace qb
