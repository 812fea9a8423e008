// One folder of ONNX test data: model.onnx and test_data_set_0/{input,output}_N.pb.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/ir/tensor.h"

namespace qb::conformance {

struct CaseResult {
  enum class Kind {
    kPassed,
    kNotSupported,  // importer or executor refused it; `detail` is the message
    kFailed,        // `detail` says what differs
  };
  Kind kind = Kind::kFailed;
  std::string detail;
};

// Imports, runs and compares, as imported and after all passes. Test data feeds shapes, axes and
// the like as inputs, which real models hold as constants: when the importer asks for a constant,
// all inputs but the first become constants, and then all of them.
CaseResult RunCase(const std::string& folder);

// Equal up to |a - b| <= kAbsolute + kRelative |b|; integers and truth values exactly.
inline constexpr double kRelative = 1e-4;
inline constexpr double kAbsolute = 1e-5;
absl::Status CompareTensors(const Tensor& got, const Tensor& expected);

}  // namespace qb::conformance
