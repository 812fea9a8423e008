#include <gmock/gmock.h>

#include "core/execute/testing/graph_value.h"
#include "core/execute/testing/naive_window.h"

namespace qb {
namespace {

using testing::Evaluated;
using testing::EvaluateText;
using ::testing::Lt;
using testing::NaiveConvolution;
using testing::RelativeError;

struct Case {
  const char* name;
  int64_t channels, rows, columns, results, h_kernel, w_kernel;
  const char* attributes;  // all but the kernel's size
  int64_t groups = 1;
};

constexpr Case kCases[] = {
    {"Plain", 3, 9, 7, 8, 3, 3, "north_padding=1, south_padding=1, west_padding=1, east_padding=1"},
    {"OneByOne", 24, 5, 5, 40, 1, 1, R"(activation="relu")"},
    {"OneChannel", 1, 12, 12, 6, 5, 5,
     R"(activation="clip", activation_min=-0.5, activation_max=0.75)"},
    {"Stride", 5, 11, 10, 7, 3, 3, "h_stride=2, w_stride=3, north_padding=1"},
    {"UnevenPadding", 4, 6, 6, 4, 3, 2, "north_padding=2, east_padding=1"},
    {"Dilation", 4, 12, 12, 5, 3, 3, "h_dilation=2, w_dilation=3, north_padding=2, west_padding=1"},
    {"Line", 6, 1, 20, 3, 1, 7, "w_stride=2, west_padding=3, east_padding=3"},
    {"Groups", 12, 6, 6, 8, 3, 3, "group_number=4, north_padding=1", 4},
    {"WideGroups", 64, 6, 6, 32, 3, 3, "group_number=2, north_padding=1", 2},
    {"Depthwise", 20, 9, 9, 20, 3, 3, "group_number=20, h_stride=2, w_stride=2, west_padding=1",
     20},
    {"DepthwiseMultiplier", 6, 7, 7, 12, 3, 3, "group_number=6, north_padding=1, south_padding=1",
     6},
    {"DepthwiseDilated", 16, 12, 12, 16, 3, 3, "group_number=16, h_dilation=2, w_dilation=2", 16},
    {"LeavesARest", 4, 8, 8, 4, 3, 3, "h_stride=3, w_stride=2"},
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
  absl::StatusOr<Evaluated> evaluated =
      EvaluateText(Declarations(c, channel_last, weights),
                   absl::StrCat("Convolution(x, w", bias ? ", b" : "", ") {h_kernel=", c.h_kernel,
                                ", w_kernel=", c.w_kernel, ", ", c.attributes,
                                ", channel_last=", channel_last ? "true" : "false", "}"));
  ASSERT_TRUE(evaluated.ok()) << evaluated.status();
  const Node& node = evaluated->node("r");
  const std::vector<float> expected =
      NaiveConvolution(node.attrs<ConvolutionAttrs>(), node.shape(), (*evaluated)["x"],
                       (*evaluated)["w"], bias ? &(*evaluated)["b"] : nullptr);
  const auto values = (*evaluated)["r"].values<float>();
  EXPECT_THAT(RelativeError({values.begin(), values.end()}, expected), Lt(2e-6));
}

TEST(Convolution, EqualsItsDefinitionInBothLayouts) {
  for (const Case& c : kCases) {
    for (bool channel_last : {false, true}) {
      for (bool bias : {false, true}) {
        ExpectNaive(c, channel_last, bias, "Identity(v)");
      }
    }
  }
}

TEST(Convolution, TakesComputedWeights) {
  for (const Case& c : kCases) {
    ExpectNaive(c, true, true, "Neg(v)");
    ExpectNaive(c, false, true, "Neg(v)");
  }
}

TEST(Convolution, TakesConstantWeights) {
  // EvaluateNode sees every operand as constant; the executor only those that are in the graph.
  for (const Case& c : kCases) {
    const std::string text = Declarations(c, true, "Identity(v)");
    const std::string attributes = absl::StrCat("{h_kernel=", c.h_kernel, ", w_kernel=", c.w_kernel,
                                                ", channel_last=true, ", c.attributes, "}");
    const std::vector<float> packed =
        testing::ValuesOf(text, absl::StrCat("Convolution(x, v, b) ", attributes));
    const std::vector<float> in_run =
        testing::ValuesOf(text, absl::StrCat("Convolution(x, w, b) ", attributes));
    EXPECT_EQ(packed, in_run) << c.name;
  }
}

}  // namespace
}  // namespace qb
