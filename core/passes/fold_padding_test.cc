#include "core/passes/fold_padding.h"

#include "core/passes/testing/pass_test.h"

namespace qb {
namespace {

using namespace qb::testing;  // NOLINT(google-build-using-namespace)

Graph GraphOf(absl::string_view padded, absl::string_view pad_attributes,
              absl::string_view expression) {
  return ParseBody(absl::StrCat(R"(
    x = Input float32[1x2x6x7]
    w = InputConstant float32[3x2x3x3] random(1)
    n = Relu(x)
    p = Pad()",
                                padded, ") {padding_list=[0, 0, 1, 2, 0, 0, 1, 0]", pad_attributes,
                                R"(}
    r = )",
                                expression, R"(
    y = Output(r)
  )"));
}

void ExpectFolds(Graph graph) {
  EXPECT_TRUE(ExpectPassPreservesResults(graph, FoldPadding));
  EXPECT_EQ(CountOps(graph, OpKind::kPad), 0);
}

constexpr char kConvolution[] = "Convolution(p, w) {h_kernel=3, w_kernel=3, north_padding=1}";
constexpr char kAverage[] = R"(Pooling(p) {pool_type="average", h_kernel=2, w_kernel=3})";
constexpr char kMax[] = "Pooling(p) {h_kernel=3, w_kernel=3, h_stride=2}";

TEST(FoldPadding, IntoConvolutionAndPooling) {
  ExpectFolds(GraphOf("x", "", kConvolution));
  ExpectFolds(GraphOf("x", "", kAverage));
  ExpectFolds(GraphOf("x", "",
                      R"(Pooling(p) {pool_type="average", h_kernel=3, w_kernel=3, )"
                      "north_padding=1, is_include_pad=true}"));
  ExpectFolds(GraphOf("x", ", constant=-inf", kMax));
  ExpectFolds(GraphOf("x", ", constant=-3.402823466e38", kMax));
  ExpectFolds(GraphOf("n", "", kMax));  // after a Relu 0 is no larger than any value
}

TEST(FoldPadding, LeavesAlone) {
  // Not padding with zero, or not constant padding.
  ExpectPassLeavesAlone(GraphOf("x", ", constant=1.0", kConvolution), FoldPadding);
  ExpectPassLeavesAlone(GraphOf("x", R"(, pad_mode="edge")", kConvolution), FoldPadding);
  // Zero may be the maximum.
  ExpectPassLeavesAlone(GraphOf("x", "", kMax), FoldPadding);
  // The inner padding is not counted, the outer is.
  ExpectPassLeavesAlone(GraphOf("x", "",
                                R"(Pooling(p) {pool_type="average", h_kernel=3, w_kernel=3, )"
                                "north_padding=1}"),
                        FoldPadding);
  ExpectPassLeavesAlone(GraphOf("x", "",
                                R"(Pooling(p) {pool_type="average", h_kernel=2, )"
                                "w_kernel=3, is_ceil_mode=true}"),
                        FoldPadding);
  // A window that holds padding alone.
  ExpectPassLeavesAlone(GraphOf("x", "", R"(Pooling(p) {pool_type="average", w_kernel=2})"),
                        FoldPadding);
}

TEST(FoldPadding, LeavesOtherAxesAndOtherUsers) {
  ExpectPassLeavesAlone(ParseBody(R"(
    x = Input float32[1x1x6x7]
    w = InputConstant float32[3x2x1x1] random(1)
    p = Pad(x) {padding_list=[0, 1, 0, 0, 0, 0, 0, 0]}
    r = Convolution(p, w)
    y = Output(r)
  )"),
                        FoldPadding);
  ExpectPassLeavesAlone(ParseBody(R"(
    x = Input float32[1x2x6x7]
    w = InputConstant float32[3x2x1x1] random(1)
    p = Pad(x) {padding_list=[0, 0, 1, 1, 0, 0, 1, 1]}
    r = Convolution(p, w)
    y = Output(r)
    z = Output(p)
  )"),
                        FoldPadding);
}

}  // namespace
}  // namespace qb
