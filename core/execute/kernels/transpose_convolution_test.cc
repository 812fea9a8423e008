#include <gmock/gmock.h>

#include "core/execute/testing/graph_value.h"
#include "core/execute/testing/naive_spread.h"

namespace qb {
namespace {

using testing::Evaluated;
using testing::EvaluateText;
using ::testing::Lt;
using testing::NaiveTransposeConvolution;
using testing::RelativeError;

struct Case {
  const char* name;
  int64_t channels, rows, columns, results, h_kernel, w_kernel;
  const char* attributes;  // all but the kernel's size
  int64_t groups = 1;
};

constexpr Case kCases[] = {
    {"Plain", 3, 9, 7, 8, 3, 3, "h_stride=1"},
    {"Doubles", 16, 6, 5, 24, 2, 2, R"(h_stride=2, w_stride=2, activation="relu")"},
    {"Fourfold", 8, 5, 5, 4, 4, 4,
     "h_stride=2, w_stride=2, north_padding=1, south_padding=1, west_padding=1, east_padding=1"},
    {"OutPadding", 5, 7, 6, 7, 3, 3,
     "h_stride=2, w_stride=3, north_padding=1, west_padding=1, south_out_padding=1, "
     "east_out_padding=2"},
    {"UnevenPadding", 4, 6, 6, 4, 3, 2, "north_padding=2, east_padding=1, h_stride=2"},
    {"PaddingBeyondReach", 4, 8, 8, 4, 2, 2, "north_padding=3, south_padding=2, west_padding=2"},
    {"GapsBetweenTaps", 4, 4, 4, 4, 2, 2, "h_stride=3, w_stride=4"},
    {"RowsBeyondTaps", 4, 4, 4, 4, 3, 3, "h_stride=2, w_stride=2, south_out_padding=5"},
    {"Dilation", 4, 6, 6, 5, 3, 3,
     R"(h_dilation=2, w_dilation=3, h_stride=2, west_padding=1, activation="clip",
        activation_min=-0.5, activation_max=0.75)"},
    {"Line", 6, 1, 20, 3, 1, 7, "w_stride=2, west_padding=3, east_padding=3"},
    {"Groups", 12, 6, 6, 8, 3, 3, "group_number=4, north_padding=1, h_stride=2", 4},
    {"Depthwise", 20, 5, 5, 20, 4, 4, "group_number=20, h_stride=2, w_stride=2, west_padding=1",
     20},
    {"DepthwiseMultiplier", 6, 7, 7, 12, 3, 3, "group_number=6, w_stride=2", 6},
};

std::string Declarations(const Case& c, bool channel_last, const char* weights) {
  const int64_t depth = c.channels / c.groups;
  const std::string x = channel_last ? absl::StrCat("2x", c.rows, "x", c.columns, "x", c.channels)
                                     : absl::StrCat("2x", c.channels, "x", c.rows, "x", c.columns);
  const std::string w = channel_last
                            ? absl::StrCat(c.results, "x", c.h_kernel, "x", c.w_kernel, "x", depth)
                            : absl::StrCat(c.results, "x", depth, "x", c.h_kernel, "x", c.w_kernel);
  return absl::StrCat("x = InputConstant float32[", x, "] random(1)\n",
                      "v = InputConstant float32[", w, "] random(2)\n", "w = ", weights, "\n",
                      "b = InputConstant float32[", c.results, "] random(3)");
}

void ExpectNaive(const Case& c, bool channel_last, bool bias, const char* weights) {
  SCOPED_TRACE(absl::StrCat(c.name, channel_last ? " NHWC" : " NCHW", bias ? " bias" : ""));
  absl::StatusOr<Evaluated> evaluated = EvaluateText(
      Declarations(c, channel_last, weights),
      absl::StrCat("TransposeConvolution(x, w", bias ? ", b" : "", ") {h_kernel=", c.h_kernel,
                   ", w_kernel=", c.w_kernel, ", ", c.attributes,
                   ", channel_last=", channel_last ? "true" : "false", "}"));
  ASSERT_TRUE(evaluated.ok()) << evaluated.status();
  const Node& node = evaluated->node("r");
  const std::vector<float> expected = NaiveTransposeConvolution(
      node.attrs<TransposeConvolutionAttrs>(), node.shape(), (*evaluated)["x"], (*evaluated)["w"],
      bias ? &(*evaluated)["b"] : nullptr);
  const auto values = (*evaluated)["r"].values<float>();
  EXPECT_THAT(RelativeError({values.begin(), values.end()}, expected), Lt(2e-6));
}

TEST(TransposeConvolution, EqualsItsDefinitionInBothLayouts) {
  for (const Case& c : kCases) {
    for (bool channel_last : {false, true}) {
      for (bool bias : {false, true}) {
        ExpectNaive(c, channel_last, bias, "Identity(v)");
      }
    }
  }
}

TEST(TransposeConvolution, TakesComputedWeights) {
  for (const Case& c : kCases) {
    ExpectNaive(c, true, true, "Neg(v)");
    ExpectNaive(c, false, true, "Neg(v)");
  }
}

}  // namespace
}  // namespace qb
