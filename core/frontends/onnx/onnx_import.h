// ONNX -> Graph.
//
// The file is read by our own code on top of the generated protobuf classes; onnx's checker, shape
// inference and external-data loader never see it. Opsets 7 to 22 of the default domain.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "core/frontends/imported_model.h"

namespace qb {

inline constexpr int64_t kOldestOnnxOpset = 7;
inline constexpr int64_t kNewestOnnxOpset = 22;

// Reads the model and the external data beside it. Weights in external files stay mapped.
//
// The result has inferred types everywhere, nodes named after the ONNX tensors that they produce,
// and everything folded that depends on constants alone (shape arithmetic, transposed weights).
// Errors (each with a FailureCode): MODEL_PARSE_ERROR for what is damaged, invalid or too large,
// UNSUPPORTED_OPERATOR for what is valid and missing here; all unknown operators come in one
// message.
absl::StatusOr<ImportedModel> ImportOnnx(const std::string& path, const ImportOptions& options);

// The same from bytes. External data is looked up beneath `folder`; with an empty folder it is
// refused.
absl::StatusOr<ImportedModel> ImportOnnxBytes(absl::string_view bytes, const std::string& folder,
                                              const ImportOptions& options);

// The names of the model's inputs (without initializers), in order; also for models that ImportOnnx
// refuses. Errors: as ImportOnnx, for the file itself.
absl::StatusOr<std::vector<std::string>> OnnxInputNames(const std::string& path);

}  // namespace qb
