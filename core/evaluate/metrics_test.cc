#include "core/evaluate/metrics.h"

#include <cmath>

namespace qb {
namespace {

TEST(CompareOutputs, CountsSignalNoiseAndAgreement) {
  const Tensor y = Tensor::OfFloats({2, 2}, {1, 0, 0, 2});
  const Tensor q = Tensor::OfFloats({2, 2}, {1, 0.5f, 3, 2});
  const OutputSums sums = CompareOutputs(y, q);
  EXPECT_DOUBLE_EQ(sums.signal, 5);
  EXPECT_DOUBLE_EQ(sums.noise, 9.25);
  EXPECT_DOUBLE_EQ(sums.max_error, 3);
  EXPECT_EQ(sums.rows, 2);
  EXPECT_EQ(sums.equal_rows, 1);
}

TEST(SqnrDb, IsBounded) {
  EXPECT_DOUBLE_EQ(SqnrDb(100, 1), 20);
  EXPECT_DOUBLE_EQ(SqnrDb(1, 0), 200);
  EXPECT_DOUBLE_EQ(SqnrDb(0, 1), -200);
}

TEST(HasClassAxis, FeatureMapsHaveNone) {
  EXPECT_TRUE(HasClassAxis({1, 10}));
  EXPECT_TRUE(HasClassAxis({1, 40, 97}));
  EXPECT_FALSE(HasClassAxis({1, 40, 1}));
  EXPECT_FALSE(HasClassAxis({1, 1, 672, 672}));
}

TEST(InTopK, TiesGoToTheEarlierIndex) {
  const std::vector<float> values = {1, 3, 3, 2};
  EXPECT_EQ(ArgMax(values), 1);
  EXPECT_TRUE(InTopK(values, 1, 1));
  EXPECT_FALSE(InTopK(values, 2, 1));
  EXPECT_TRUE(InTopK(values, 2, 2));
  EXPECT_FALSE(InTopK(values, 9, 4));
}

}  // namespace
}  // namespace qb
