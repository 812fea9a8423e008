// Text from the output of a CTC recognizer.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/ir/tensor.h"

namespace qb {

// The characters of the classes from 1 up; class 0 is the blank. With one character too few for
// `classes` the last class is a space, as recognizers for text with words have it.
// Errors: ARGUMENT_ERROR saying how many classes the model has.
absl::StatusOr<std::vector<std::string>> CtcAlphabet(const std::vector<std::string>& characters,
                                                     int64_t classes);

// The best class of each step, repeats merged, blanks dropped; without spaces at either end, which
// recognizers see in the margins of a line and no label has. `output` is float32 [.., steps,
// classes]; `alphabet` is CtcAlphabet's of as many classes.
std::string DecodeCtc(const Tensor& output, const std::vector<std::string>& alphabet);

}  // namespace qb
