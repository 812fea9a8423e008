#include "core/quantization/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "core/base/failure.h"
#include "core/base/testing/status_matchers.h"
#include "core/ops/graph_text.h"

namespace qb {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PlanTest : public ::testing::Test {
 protected:
  void Plan(const std::string& body,
            QuantizationMethod method = QuantizationMethod::kSharedScales) {
    QB_ASSERT_OK_AND_ASSIGN(graph_, GraphFromText("graph \"g\" {\n" + body + "\n}"));
    QB_ASSERT_OK_AND_ASSIGN(QuantizationPlan plan, QuantizationPlan::Create(graph_, method));
    plan_ = std::make_unique<QuantizationPlan>(std::move(plan));
    QB_ASSERT_OK_AND_ASSIGN(request_, plan_->Request(1));
  }
  // Names of the values that calibration is asked for.
  std::vector<std::string> Asked() const {
    std::vector<std::string> names;
    for (const CalibrationRequest::Range& range : request_.ranges) {
      names.push_back(range.node->name());
    }
    return names;
  }
  // Scales when calibration found these thresholds (1 for others).
  std::map<std::string, ValueScale> Scales(const std::map<std::string, float>& thresholds) {
    CalibrationTable table;
    for (const CalibrationRequest::Range& range : request_.ranges) {
      const auto found = thresholds.find(range.node->name());
      TensorStatistics& statistics = table.ranges[range.node->id()];
      statistics.threshold = found == thresholds.end() ? 1.0f : found->second;
      statistics.max = statistics.threshold;
    }
    for (const Node* node : request_.channels) {
      const size_t channels = static_cast<size_t>(node->shape()[node->shape().rank() - 1]);
      const float end = table.ranges.at(node->id()).threshold;
      table.channels[node->id()] = {std::vector<float>(channels, -end),
                                    std::vector<float>(channels, end)};
    }
    std::map<std::string, ValueScale> scales;
    for (const auto& [node, scale] : plan_->Scales(table).held) {
      scales[node->name()] = scale;
    }
    return scales;
  }

  Graph graph_;
  std::unique_ptr<QuantizationPlan> plan_;
  CalibrationRequest request_;
};

TEST_F(PlanTest, GivesNonNegativeValuesAllCodes) {
  Plan(R"(x = Input float32[1x4]
          r = Relu(x)
          s = Sigmoid(x)
          c = Clip(x) {clip_min_value=-1.0, clip_max_value=2.0}
          y0 = Output(r)
          y1 = Output(s)
          y2 = Output(c))");
  const auto scales = Scales({{"x", 12.7f}, {"r", 5.1f}, {"c", 9.0f}});
  EXPECT_EQ(scales.at("x").zero_point, 0);
  EXPECT_NEAR(scales.at("x").scale, 0.1, 1e-6);
  EXPECT_EQ(scales.at("r").zero_point, -128);
  EXPECT_NEAR(scales.at("r").scale, 5.1 / 255, 1e-6);
  EXPECT_EQ(scales.at("s").zero_point, -128);
  EXPECT_NEAR(scales.at("c").scale, 2.0 / 127, 1e-6);  // the bound limits what was seen
}

TEST_F(PlanTest, SkipsTheInsideOfAClosure) {
  Plan(R"(x = Input float32[1x4]
          s = Sigmoid(x)
          m = Multiply(x, s)
          y = Output(m))");
  EXPECT_THAT(Asked(), ElementsAre("x", "m"));
}

TEST_F(PlanTest, LeavesTheRoundingToTheTableThatAloneReadsASum) {
  Plan(R"(x = Input float32[1x4x4x4]
          w = InputConstant float32[4x1x1x4] random(7)
          c = Convolution(x, w) {channel_last=true}
          s = Swish(c)
          d = Convolution(s, w) {channel_last=true}
          t = Sigmoid(d)
          p = Pooling(d) {h_kernel=2, w_kernel=2, h_stride=2, w_stride=2, channel_last=true}
          u = Tanh(p)
          y0 = Output(t)
          y1 = Output(u))");
  const auto node = [&](const std::string& name) { return graph_.FindNode(name); };
  EXPECT_EQ(plan_->dtype(node("c")), DType::kInt16);
  EXPECT_EQ(plan_->OnlyTableOf(node("c")), node("s"));
  EXPECT_EQ(plan_->dtype(node("s")), DType::kInt8);
  EXPECT_EQ(plan_->dtype(node("d")), DType::kInt8);  // the pooling reads it as well
  EXPECT_EQ(plan_->OnlyTableOf(node("d")), nullptr);
  EXPECT_EQ(plan_->dtype(node("p")), DType::kInt8);  // maxima are nothing to round
}

TEST_F(PlanTest, LeavesTheRoundingToTheSumThatAloneReadsATerm) {
  Plan(R"(x = Input float32[1x4x4x4]
          w = InputConstant float32[4x1x1x4] random(7)
          c = Convolution(x, w) {channel_last=true, activation="relu"}
          d = Convolution(c, w) {channel_last=true}
          s = Adding(c, d)
          e = Convolution(s, w) {channel_last=true}
          p = Sigmoid(e)
          r = Adding(s, p)
          y = Output(r))");
  const auto node = [&](const std::string& name) { return graph_.FindNode(name); };
  EXPECT_EQ(plan_->dtype(node("c")), DType::kInt8);   // a convolution reads it as well
  EXPECT_EQ(plan_->dtype(node("d")), DType::kInt16);  // the branch of the residual sum
  EXPECT_EQ(plan_->dtype(node("s")), DType::kInt8);
  EXPECT_EQ(plan_->dtype(node("e")), DType::kInt16);
  EXPECT_EQ(plan_->dtype(node("p")), DType::kInt8);  // a table is no sum
  EXPECT_EQ(plan_->dtype(node("r")), DType::kInt8);  // the model's output
}

TEST_F(PlanTest, LetsCopiesKeepTheScale) {
  Plan(R"(x = Input float32[1x4x4x4]
          p = Pooling(x) {h_kernel=2, w_kernel=2, h_stride=2, w_stride=2, channel_last=true}
          t = Transpose(p) {transpose_axes=[0, 3, 1, 2]}
          r = Reshape(t) {new_shape=[1, 16]}
          y = Output(r))");
  EXPECT_THAT(Asked(), ElementsAre("x"));
  const auto scales = Scales({{"x", 3.0f}});
  EXPECT_EQ(scales.at("r"), scales.at("x"));
}

constexpr char kSum[] = R"(a = Input float32[1x4]
                           b = Input float32[1x4]
                           s = Adding(a, b)
                           y = Output(s))";

TEST_F(PlanTest, SharesTheScaleOfCloseOperands) {
  Plan(kSum);
  auto scales = Scales({{"a", 3.0f}, {"b", 5.0f}, {"s", 8.0f}});
  EXPECT_EQ(scales.at("a"), scales.at("b"));
  EXPECT_NEAR(scales.at("a").threshold, 5.0, 1e-9);
  EXPECT_NEAR(scales.at("s").threshold, 8.0, 1e-9);
  scales = Scales({{"a", 2.0f}, {"b", 5.0f}});
  EXPECT_NEAR(scales.at("a").threshold, 2.0, 1e-9);
}

// x + sigmoid(x) is one table: its inner value is no tensor whose scale could be shared.
TEST_F(PlanTest, TakesTheSumInsideAClosureAsATable) {
  Plan(R"(x = Input float32[1x4]
          s = Sigmoid(x)
          y = Adding(x, s)
          out = Output(y))");
  const std::map<std::string, ValueScale> scales = Scales({{"x", 1.0f}, {"y", 1.5f}});
  EXPECT_EQ(scales.count("s"), 0u);
  EXPECT_FLOAT_EQ(scales.at("x").scale, 1.0f / 127);
  EXPECT_FLOAT_EQ(scales.at("y").scale, 1.5f / 127);
}

TEST_F(PlanTest, LeavesScalesFreeUnderMethodZero) {
  Plan(kSum, QuantizationMethod::kSeparateScales);
  const auto scales = Scales({{"a", 3.0f}, {"b", 5.0f}});
  EXPECT_NEAR(scales.at("a").threshold, 3.0, 1e-9);
}

TEST_F(PlanTest, DoesNotShareBetweenKindsOfCodes) {
  Plan(R"(a = Input float32[1x4]
          r = Relu(a)
          s = Adding(a, r)
          z = Input float32[1x4]
          c = Concatenate(r, z) {axis=1}
          y0 = Output(s)
          y1 = Output(c))");
  const auto scales = Scales({{"r", 1.0f}, {"z", 1.0f}});
  EXPECT_EQ(scales.at("r").zero_point, -128);
  EXPECT_EQ(scales.at("z").zero_point, 0);
}

TEST_F(PlanTest, FixesTheScaleOfSoftmax) {
  Plan(R"(x = Input float32[1x4]
          s = Softmax(x) {axis=1}
          r = Reshape(s) {new_shape=[4]}
          y = Output(r))");
  EXPECT_THAT(Asked(), ElementsAre("x"));
  const auto scales = Scales({});
  EXPECT_EQ(scales.at("r").scale, 1.0f / 256.0f);
  EXPECT_EQ(scales.at("r").zero_point, -128);
}

TEST_F(PlanTest, AsksForTheWindowsOfLinearLayers) {
  Plan(R"(x = Input float32[1x6x6x2]
          w = InputConstant float32[3x3x3x2] random(7)
          c = Convolution(x, w) {h_kernel=3, w_kernel=3, channel_last=true}
          y = Output(c))");
  ASSERT_EQ(request_.windows.size(), 1u);
  EXPECT_EQ(request_.windows[0].geometry.out_rows, 4);
  EXPECT_EQ(request_.windows[0].geometry.taps(), 18);
  EXPECT_EQ(plan_->LargestLiveBytes(), 72 + 48);
}

TEST_F(PlanTest, RefusesIntegerValues) {
  QB_ASSERT_OK_AND_ASSIGN(graph_, GraphFromText(R"(graph "g" {
    x = Input int64[1x4]
    y = Output(x)
  })"));
  const absl::Status status =
      QuantizationPlan::Create(graph_, QuantizationMethod::kSharedScales).status();
  EXPECT_EQ(FailureCodeOf(status), FailureCode::kUnsupportedOperator);
  EXPECT_THAT(std::string(status.message()), HasSubstr("layer 'x'"));
}

TEST_F(PlanTest, ZeroPointsFollowBothEndsOfTheRange) {
  Plan(R"(x = Input float32[1x4]
          a = Tanh(x)
          r = Relu(x)
          y0 = Output(a)
          y1 = Output(r))",
       QuantizationMethod::kSeparateZeroPoints);
  CalibrationTable table;
  for (const CalibrationRequest::Range& range : request_.ranges) {
    EXPECT_EQ(range.levels, 255) << range.node->name();
    EXPECT_EQ(range.two_sided, range.node->name() != "r");
    table.ranges[range.node->id()] = {
        .min = -1.0f, .max = 4.1f, .threshold = 4.1f, .low = -1.0f, .high = 4.1f};
  }
  const ValueScales scales = plan_->Scales(table);
  const ValueScale& x = scales.held.at(graph_.FindNode("x"));
  EXPECT_NEAR(x.scale, 0.02, 1e-6);
  EXPECT_EQ(x.zero_point, -78);                                // -128 + 50 steps
  const ValueScale& a = scales.held.at(graph_.FindNode("a"));  // no tanh is above 1
  EXPECT_NEAR(a.scale, 2.0 / 255, 1e-6);
  EXPECT_EQ(scales.held.at(graph_.FindNode("r")).zero_point, -128);
}

TEST_F(PlanTest, ZeroPointsAreSharedWhereTheJoinedRangeIsClose) {
  Plan(R"(x = Input float32[1x4]
          z = Input float32[1x4]
          a = Adding(x, z)
          y = Output(a))",
       QuantizationMethod::kSharedZeroPoints);
  const auto scales_for = [&](float low_z, float high_z) {
    CalibrationTable table;
    for (const CalibrationRequest::Range& range : request_.ranges) {
      const bool is_z = range.node->name() == "z";
      table.ranges[range.node->id()] = {.low = is_z ? low_z : -1.0f, .high = is_z ? high_z : 2.0f};
    }
    return plan_->Scales(table);
  };
  const ValueScales close = scales_for(-1.5f, 2.0f);
  EXPECT_TRUE(close.held.at(graph_.FindNode("x")) == close.held.at(graph_.FindNode("z")));
  // As wide as the other, but on the other side of zero: together they are nearly twice each.
  const ValueScales apart = scales_for(-4.0f, 0.0f);
  EXPECT_FALSE(apart.held.at(graph_.FindNode("x")) == apart.held.at(graph_.FindNode("z")));
}

}  // namespace
}  // namespace qb
