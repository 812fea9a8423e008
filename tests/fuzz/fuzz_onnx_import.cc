// ONNX bytes from anywhere: a graph that passes the verifier, or an error with a code.
#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "core/base/check.h"
#include "core/base/failure.h"
#include "core/frontends/onnx/onnx_import.h"
#include "core/frontends/onnx/tensor_file.h"
#include "core/ops/verifier.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  qb::ImportOptions options;
  options.accept_any_batch = true;
  const absl::StatusOr<qb::ImportedModel> model = qb::ImportOnnxBytes(bytes, "", options);
  if (model.ok()) {
    const absl::Status status = qb::VerifyGraph(model->graph, "import");
    QB_CHECK_MSG(status.ok(), status.ToString());
  } else {
    const qb::FailureCode code = qb::FailureCodeOf(model.status());
    QB_CHECK_MSG(code != qb::FailureCode::kNone && code != qb::FailureCode::kInternalError,
                 model.status().ToString());
  }
  (void)qb::ReadOnnxTensor(bytes);
  return 0;
}
