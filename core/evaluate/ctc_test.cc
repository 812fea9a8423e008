#include "core/evaluate/ctc.h"

#include "core/base/failure.h"
#include "core/base/testing/status_matchers.h"

namespace qb {
namespace {

using ::testing::HasSubstr;

// Scores whose best class at each step is the given one.
Tensor Steps(const std::vector<int>& best, int64_t classes) {
  Tensor output =
      Tensor::Allocate({DType::kFloat32, Shape{1, static_cast<int64_t>(best.size()), classes}});
  float* values = output.mutable_data<float>();
  std::fill_n(values, output.elements(), 0.0f);
  for (size_t i = 0; i < best.size(); ++i) {
    values[i * static_cast<size_t>(classes) + static_cast<size_t>(best[i])] = 1.0f;
  }
  return output;
}

TEST(Ctc, MergesRepeatsAndDropsBlanks) {
  QB_ASSERT_OK_AND_ASSIGN(const std::vector<std::string> alphabet,
                          CtcAlphabet({"a", "\xe4\xb8\xad"}, 4));
  EXPECT_EQ(DecodeCtc(Steps({0, 1, 1, 0, 1, 2, 2, 3, 0, 0, 2}, 4), alphabet),
            "aa\xe4\xb8\xad \xe4\xb8\xad");
  EXPECT_EQ(DecodeCtc(Steps({0, 0}, 4), alphabet), "");
  EXPECT_EQ(DecodeCtc(Steps({3, 0, 3, 1, 3, 2, 2, 0, 3}, 4), alphabet), "a \xe4\xb8\xad");
}

TEST(Ctc, RefusesAnAlphabetOfAnotherSize) {
  const absl::Status status = CtcAlphabet({"a", "b"}, 9).status();
  EXPECT_EQ(FailureCodeOf(status), FailureCode::kArgumentError);
  EXPECT_THAT(std::string(status.message()), HasSubstr("9 classes and --classes 2 characters"));
}

}  // namespace
}  // namespace qb
