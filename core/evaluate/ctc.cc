#include "core/evaluate/ctc.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/failure.h"
#include "core/evaluate/metrics.h"

namespace qb {

absl::StatusOr<std::vector<std::string>> CtcAlphabet(const std::vector<std::string>& characters,
                                                     int64_t classes) {
  std::vector<std::string> alphabet = {""};
  alphabet.insert(alphabet.end(), characters.begin(), characters.end());
  if (static_cast<int64_t>(alphabet.size()) + 1 == classes) {
    alphabet.emplace_back(" ");
  }
  if (static_cast<int64_t>(alphabet.size()) != classes) {
    return Failure(
        FailureCode::kArgumentError,
        absl::StrCat("metric ctc: the model has ", classes, " classes and --classes ",
                     characters.size(), " characters; accepted: ", classes - 1, " or ", classes - 2,
                     " (then the last class is a space); class 0 is the "
                     "blank"));
  }
  return alphabet;
}

std::string DecodeCtc(const Tensor& output, const std::vector<std::string>& alphabet) {
  QB_CHECK(!alphabet.empty() && output.elements() % static_cast<int64_t>(alphabet.size()) == 0);
  const absl::Span<const float> values = output.values<float>();
  std::string text;
  int64_t last = 0;
  for (size_t step = 0; step < values.size(); step += alphabet.size()) {
    const int64_t best = ArgMax(values.subspan(step, alphabet.size()));
    if (best != last) {
      text += alphabet[static_cast<size_t>(best)];
    }
    last = best;
  }
  return std::string(absl::StripAsciiWhitespace(text));
}

}  // namespace qb
