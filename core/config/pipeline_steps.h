// Checking of preprocessing steps: each operator accepts only its own keys.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/json.h"

namespace qb {

struct StepKey {
  absl::string_view key;
  absl::string_view type;      // int, number, bool, text, numbers
  absl::string_view accepted;  // of text: space-separated
  bool required;
};

struct StepDef {
  absl::string_view op;
  absl::Span<const StepKey> keys;
};

absl::Span<const StepDef> AllSteps();

// Appends one sentence a problem, with its path, e.g. "preprocessing.pipeline[1].mode: ...".
void CheckPipeline(absl::string_view path, const Json& pipeline, std::vector<std::string>& problems);

}  // namespace qb
