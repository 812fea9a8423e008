#include "core/calibration/statistics_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"

#include "core/base/failure.h"
#include "core/base/testing/status_matchers.h"
#include "core/calibration/testing/memory_dataset.h"
#include "core/ops/graph_text.h"

namespace qb {
namespace {

using ::testing::HasSubstr;
using testing::MemoryDataset;

constexpr char kGraph[] = R"(graph "g" {
  x = Input float32[1x4x4x1]
  w = InputConstant float32[1x3x3x1] random(7)
  c = Convolution(x, w) {h_kernel=3, w_kernel=3, channel_last=true}
  y = Output(c)
})";

class StatisticsFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    QB_ASSERT_OK_AND_ASSIGN(graph_, GraphFromText(kGraph));
    const Node* x = graph_.FindNode("x");
    const Node* c = graph_.FindNode("c");
    request_.ranges = {{x, 127}, {c, 127}};
    request_.channels = {c};
    WindowGeometry window;
    window.rows = window.columns = 4;
    window.kernel_h = window.kernel_w = 3;
    window.out_rows = window.out_columns = 2;
    request_.windows = {{c, x, window}};
    request_.window_samples = 2;
    std::vector<std::vector<Tensor>> samples;
    for (int i = 0; i < 3; ++i) {
      std::vector<float> values;
      values.reserve(16);
      for (int k = 0; k < 16; ++k) {
        values.push_back(0.1f * static_cast<float>((k * 7 + i * 5) % 16) - 0.6f);
      }
      samples.push_back({Tensor::OfFloats(Shape{1, 4, 4, 1}, values)});
    }
    const MemoryDataset dataset(samples);
    NullProgressSink sink;
    QB_ASSERT_OK_AND_ASSIGN(table_,
                            Calibrate({graph_, dataset, request_}, options_, sink, CancelToken()));
    KeepTable(request_, options_, table_, kept_);
    kept_.model = "m";
    kept_.data = "d";
    kept_.corrections = {{"key", {{"c", 0.25, {-7, int64_t{1} << 40}}}}};
  }

  Graph graph_;
  CalibrationRequest request_;
  CalibrationOptions options_;
  CalibrationTable table_;
  KeptStatistics kept_;
};

TEST_F(StatisticsFileTest, TextBringsBackTheTableBitForBit) {
  QB_ASSERT_OK_AND_ASSIGN(const std::vector<KeptStatistics> sets,
                          StatisticsFromText(StatisticsToText({kept_})));
  ASSERT_EQ(sets.size(), 1u);
  EXPECT_EQ(sets[0].model, "m");
  QB_ASSERT_OK_AND_ASSIGN(const CalibrationTable again, TableOf(sets[0], request_, options_));
  EXPECT_EQ(again.samples, 3);
  EXPECT_EQ(again.windows, table_.windows);
  for (const auto& [id, statistics] : table_.ranges) {
    EXPECT_EQ(again.ranges.at(id).elements, statistics.elements);
    EXPECT_EQ(again.ranges.at(id).min, statistics.min);
    EXPECT_EQ(again.ranges.at(id).max, statistics.max);
    EXPECT_EQ(again.ranges.at(id).threshold, statistics.threshold);
    EXPECT_EQ(again.ranges.at(id).above_threshold, statistics.above_threshold);
  }
  ASSERT_EQ(again.channels.size(), 1u);
  EXPECT_EQ(again.channels.begin()->second.min, table_.channels.begin()->second.min);
  EXPECT_EQ(again.channels.begin()->second.max, table_.channels.begin()->second.max);
  ASSERT_EQ(sets[0].corrections.size(), 1u);
  EXPECT_EQ(sets[0].corrections[0].layers[0].biases, kept_.corrections[0].layers[0].biases);
}

TEST_F(StatisticsFileTest, OtherSettingsAreToldApart) {
  CalibrationOptions other = options_;
  other.percentile = 0.99;
  EXPECT_THAT(std::string(TableOf(kept_, request_, other).status().message()),
              HasSubstr("percentile 0.9999, topkRatio 0.01, pools of 67108864 bytes; this compile "
                        "asks for mode 1, percentile 0.99"));
  CalibrationRequest more = request_;
  more.ranges[1].levels = 255;
  EXPECT_THAT(
      std::string(TableOf(kept_, more, options_).status().message()),
      HasSubstr("value 'c' was measured for codes from zero to 127; this compile needs them "
                "from zero to 255"));
  more = request_;
  more.window_samples = 3;
  EXPECT_THAT(std::string(TableOf(kept_, more, options_).status().message()),
              HasSubstr("the means of 2 samples for bias correction, 3 are needed"));
  more.window_samples = 0;  // without bias correction less is needed
  QB_EXPECT_OK(TableOf(kept_, more, options_));
}

TEST_F(StatisticsFileTest, DamageIsFound) {
  const std::string text = StatisticsToText({kept_});
  for (const auto& [found, put, problem] :
       {std::tuple{"\"samples\":3", "\"samples\":4", "the file is damaged"},
        std::tuple{"qbc-calibration-statistics", "something", "this is no file of statistics"},
        std::tuple{"\"1.0\"", "\"2.0\"", "format version '2.0'; this compiler reads 1.x"}}) {
    const auto read = StatisticsFromText(absl::StrReplaceAll(text, {{found, put}}));
    EXPECT_EQ(FailureCodeOf(read.status()), FailureCode::kArgumentError);
    EXPECT_THAT(std::string(read.status().message()), HasSubstr(problem));
  }
}

TEST_F(StatisticsFileTest, MembersOutOfRangeAreNamed) {
  const std::string text = StatisticsToText({kept_});
  const std::string body = text.substr(text.find('\n') + 1);
  for (const auto& [found, put, problem] :
       {std::tuple{"\"samples\":3", "\"samples\":-3", "'samples' of a set is not a count"},
        std::tuple{"\"levels\":127", "\"levels\":\"x\"", "'levels' of a value is not a count"},
        std::tuple{"\"above_threshold\":0", "\"above_threshold\":999", "more elements above it"},
        std::tuple{"\"largest_shift\":0.25", "\"largest_shift\":null", "is not a finite number"},
        std::tuple{"[-7,", "[-7.5,", "'biases' of a corrected layer is not whole numbers"}}) {
    const std::string changed = absl::StrReplaceAll(body, {{found, put}});
    ASSERT_NE(changed, body) << found;
    const auto read = StatisticsFromBody(changed);
    EXPECT_THAT(std::string(read.status().message()), HasSubstr(problem));
  }
}

}  // namespace
}  // namespace qb
