// Trace contexts as programs hand them to each other.
// Source: W3C Trace Context, https://www.w3.org/TR/trace-context/#traceparent-header
#pragma once

#include "absl/strings/string_view.h"

namespace qb {

// "00-<32 hex>-<16 hex>-<2 hex>" in lower case, with ids that are not all zero. A later version may
// have more behind a further dash; "ff" is no version. At most 512 bytes.
bool IsTraceparent(absl::string_view text);

}  // namespace qb
