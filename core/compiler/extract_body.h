// The NPU body of a model as a model of its own.
#pragma once

#include <string>

#include "absl/status/statusor.h"

#include "core/compiler/compile.h"

namespace qb {

// Writes the largest NPU part of an .mblt as a new one, whose inputs and outputs are the values at
// the part's border, under their names. A model without CPU parts is written as it is.
//
// Errors: MODEL_PARSE_ERROR for what is no .mblt or has a damaged list of parts;
// OUTPUT_WRITE_ERROR.
absl::StatusOr<CompileResult> ExtractBody(const std::string& mblt_path,
                                          const std::string& output_path);

}  // namespace qb
