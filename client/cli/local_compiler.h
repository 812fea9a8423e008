// `--local`: the same command without a server, by running qbcompiler on this machine.
#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "client/cli/session.h"
#include "core/base/flags.h"

namespace qb::client {

// Replaces this process by `qbcompiler <word>` with the flags that are qbcompiler's too. The
// program is $QBC_COMPILER, or the qbcompiler of the search path. Returns only errors.
absl::StatusOr<int> RunLocalCompiler(const std::string& word, const ParsedFlags& flags,
                                     absl::Span<const FlagDef> defs, Session& session);

}  // namespace qb::client
