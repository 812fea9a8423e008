// Elementwise, MatMul, normalization and reduction: their types.
#include "core/base/testing/status_matchers.h"
#include "core/ops/testing/op_samples.h"

namespace qb {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;
using testing::TypeOf;

constexpr char kOperands[] = R"(
  a = Input float32[2x1x4]
  b = Input float32[3x1]
  c = Input float32[5]
  h = Input float32[7x3x4]
  g = Input float32[4x6]
  v4 = Input float32[4]
  b6 = Input float32[6]
  i = Input int64[5]
  t = Input bool[5]
)";

Shape ShapeOf(absl::string_view expression) {
  const absl::StatusOr<TensorType> type = TypeOf(kOperands, expression);
  EXPECT_TRUE(type.ok()) << expression << ": " << type.status();
  return type.ok() ? type->shape : Shape({-1});
}

void ExpectRefused(absl::string_view expression, absl::string_view message) {
  EXPECT_THAT(TypeOf(kOperands, expression),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(std::string(message))))
      << expression;
}

TEST(Elementwise, Broadcasts) {
  EXPECT_EQ(ShapeOf("Adding(a, b)"), Shape({2, 3, 4}));
  EXPECT_EQ(ShapeOf("Multiply(i, i)"), Shape({5}));
  ExpectRefused("Adding(a, c)", "cannot be broadcast");
  ExpectRefused("Adding(c, i)", "one numeric type");
  ExpectRefused("Adding(t, t)", "one numeric type");
  ExpectRefused(R"(Adding(i, i) {activation="relu"})", "an activation on int64");
}

TEST(MatMul, ShapesOfNumpy) {
  EXPECT_EQ(ShapeOf("MatMul(h, g)"), Shape({7, 3, 6}));
  EXPECT_EQ(ShapeOf("MatMul(h, g, b6)"), Shape({7, 3, 6}));
  EXPECT_EQ(ShapeOf("MatMul(v4, g)"), Shape({6}));
  EXPECT_EQ(ShapeOf("MatMul(h, v4)"), Shape({7, 3}));
  EXPECT_EQ(ShapeOf("MatMul(v4, v4)"), Shape());
  ExpectRefused("MatMul(g, h)", "is not defined");
  ExpectRefused("MatMul(v4, g, b6)", "for matrices");
  ExpectRefused("MatMul(h, g, v4)", "its last dimension");
}

TEST(Normalization, ChecksAxisAndParameters) {
  EXPECT_EQ(ShapeOf("Batchnorm(g, b6, b6, b6, b6) {axis=1}"), Shape({4, 6}));
  ExpectRefused("Batchnorm(g, b6, b6, v4, b6) {axis=1}", "operand 3 is float32[4]");
  ExpectRefused("Batchnorm(g, b6, b6, b6, b6) {axis=2}", "axis 2");
  ExpectRefused("Batchnorm(g, b6, b6, b6, b6) {axis=1, epsilon=-1.0}", "epsilon");
  ExpectRefused("Softmax(g) {axis=-1}", "axis -1");
  ExpectRefused("Softmax(i)", "float tensor");
}

TEST(Reduce, KeepsOrDropsAxes) {
  EXPECT_EQ(ShapeOf("ReduceMean(h) {reduce_axes=[0, 2]}"), Shape({1, 3, 1}));
  EXPECT_EQ(ShapeOf("ReduceMean(h) {reduce_axes=[0, 2], keep_dims=false}"), Shape({3}));
  ExpectRefused("ReduceMean(h) {reduce_axes=[2, 0]}", "rising axes");
  ExpectRefused("ReduceMean(h) {reduce_axes=[1, 1]}", "rising axes");
  ExpectRefused("ReduceMean(h) {reduce_axes=[3]}", "rising axes");
  ExpectRefused("ReduceMean(h)", "at least one axis");
}

TEST(Pointwise, ChecksElementTypes) {
  ExpectRefused("Relu(t)", "a numeric type");
  ExpectRefused("Exp(i)", "a float type");
  ExpectRefused("Clip(c) {clip_min_value=nan}", "not a number");
  ExpectRefused(R"(Cast(c) {dtype="float8"})", "a cast to 'float8'");
  EXPECT_EQ(TypeOf(kOperands, R"(Cast(c) {dtype="int8"})")->dtype, DType::kInt8);
}

}  // namespace
}  // namespace qb
