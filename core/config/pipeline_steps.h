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
  absl::string_view type;      // size, offset, choice, number, bool, text, numbers
  absl::string_view accepted;  // of text and choice: space-separated
  bool required;
  absl::string_view fallback;  // JSON; empty: required, or none
};

struct StepDef {
  absl::string_view op;
  absl::Span<const StepKey> keys;
};

absl::Span<const StepDef> AllSteps();

// "an integer from 1 to 65536", ...: what a key takes, for messages and the reference page.
std::string AcceptedStepText(const StepKey& key);

// `pipeline` with operators and keys in camelCase: files may also write center_crop and
// align_corners. Precondition: CheckPipeline found nothing.
Json CanonicalPipeline(const Json& pipeline);

// The steps with every default written out. Precondition: as CanonicalPipeline gives them.
Json WithStepDefaults(const Json& pipeline);

// Appends one sentence a problem, with its path, e.g. "preprocessing.pipeline[1].mode: ...". Reads
// both spellings.
void CheckPipeline(absl::string_view path, const Json& pipeline,
                   std::vector<std::string>& problems);

}  // namespace qb
