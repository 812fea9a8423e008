// Where a package came from: recorded when a model is parsed, carried along unchanged.
#pragma once

#include <map>
#include <string>

#include "core/base/json.h"
#include "core/config/compile_config.h"
#include "core/frontends/imported_model.h"

namespace qb {

// Null when the environment says QBCOMPILER_PROVENANCE=0. Holds no path, date or host name, so that
// equal inputs give equal bytes.
Json MakeProvenance(const ImportedModel& model, const std::string& backend,
                    const std::map<std::string, Shape>& input_shapes, const std::string& target,
                    const CompileConfig& config);

}  // namespace qb
