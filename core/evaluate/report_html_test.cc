#include "core/evaluate/report_html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/evaluate/report_plots.h"

namespace qb {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(HtmlReport, ShowsTheFiguresAndEscapesNames) {
  HtmlReportInput input;
  input.title = "<script>alert(1)</script>";
  input.target = "aries-rb";
  input.evaluation = Json::Object()
                         .Set("samples", 3)
                         .Set("float_top1", 0.9)
                         .Set("quantized_top1", 0.875)
                         .Set("outputs", Json::Array().Append(Json::Object()
                                                                  .Set("name", "a\"b")
                                                                  .Set("sqnr_db", 31.25)
                                                                  .Set("cosine", 0.5)
                                                                  .Set("agreement", Json())));
  input.layers = Json::Array().Append(Json::Object().Set("name", "conv<1>").Set("scale", 0.25));
  const std::string html = HtmlReport(input);
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(html, HasSubstr("a&quot;b"));
  EXPECT_THAT(html, HasSubstr("31.25 dB"));
  EXPECT_THAT(html, HasSubstr("87.50 %"));
  EXPECT_THAT(html, HasSubstr("conv&lt;1&gt;"));
}

Json LayerRow(const std::string& name, double db) {
  Json counts = Json::Array();
  for (int i = 0; i < 8; ++i) {
    counts.Append(Json(i == 3 || i == 7 ? 100 : 0));
  }
  const auto pair = [](double low, double high) {
    return Json::Array().Append(Json(low)).Append(Json(high));
  };
  return Json::Object()
      .Set("name", name)
      .Set("op", "Convolution")
      .Set("activation_bits", 8)
      .Set("sqnr_db", db)
      .Set("entire_sqnr_db", db - 1)
      .Set("cosine", 0.5)
      .Set("saturation_share", 0.125)
      .Set("dead_code_share", 0.25)
      .Set("effective_bits", 6.25)
      .Set("code_range", pair(-2, 2))
      .Set("histogram", Json::Object().Set("range", pair(-4, 4)).Set("counts", counts));
}

TEST(HtmlReport, ListsTheWorstLayersFirst) {
  HtmlReportInput input;
  input.layers = Json::Array();
  const Json layers = Json::Array().Append(LayerRow("good<1>", 55.0)).Append(LayerRow("bad", 14.0));
  input.evaluation =
      Json::Object().Set("samples", 1).Set("outputs", Json::Array()).Set("layers", layers);
  const std::string html = HtmlReport(input);
  EXPECT_LT(html.find(">bad<"), html.find(">good&lt;1&gt;<"));
  EXPECT_THAT(html, HasSubstr("12.500 %"));
  EXPECT_THAT(html, HasSubstr("dead codes 25 %"));
  EXPECT_THAT(html, HasSubstr("effective bits 6.2"));
  EXPECT_THAT(html, Not(HasSubstr("good<1>")));
  EXPECT_THAT(html, HasSubstr("good&lt;1&gt; (Convolution): single 55.0 dB, entire 54.0 dB"));
  EXPECT_THAT(html, HasSubstr("class=\"b bad\""));
}

TEST(HtmlReport, NamesTheCulpritsAndWhatToTry) {
  HtmlReportInput input;
  input.settings_yaml = "bit:\n  layerOverrides: {weight16Bits: [\"a<b\"]}\n";
  input.evaluation =
      Json::Object()
          .Set("outputs", Json::Array())
          .Set("culprits",
               Json::Array().Append(Json::Object()
                                        .Set("layer", "a<b")
                                        .Set("noise_share", 0.625)
                                        .Set("reason", "its weights")
                                        .Set("setting", "bit.layerOverrides.weight16Bits")
                                        .Set("value", Json::Array().Append(Json("a<b")))));
  const std::string html = HtmlReport(input);
  EXPECT_THAT(html, HasSubstr("width:62.5%"));
  EXPECT_THAT(html, HasSubstr("bit.layerOverrides.weight16Bits: [&quot;a&lt;b&quot;]"));
  EXPECT_THAT(html, HasSubstr("weight16Bits: [&quot;a&lt;b&quot;]}"));
  EXPECT_THAT(html, Not(HasSubstr("a<b")));
}

TEST(HistogramPlot, ShowsValuesAndWhereTheCodesEnd) {
  const std::string svg = HistogramPlot(LayerRow("x", 20));
  // Bin 3 of 8 is within the codes, bin 7 beyond; empty bins below the codes are not shown.
  EXPECT_THAT(svg, HasSubstr("<rect class=\"b\""));
  EXPECT_THAT(svg, HasSubstr("<rect class=\"b out\""));
  EXPECT_THAT(svg, HasSubstr(">-2</text>"));
  EXPECT_THAT(svg, HasSubstr(">2</text>"));
  EXPECT_EQ(HistogramPlot(Json::Object()), "");
  EXPECT_EQ(SqnrPlot(Json::Array()), "");
}

// Viewers load nothing and run nothing.
TEST(HtmlReport, IsSelfContained) {
  HtmlReportInput input;
  input.evaluation = Json::Object()
                         .Set("outputs", Json::Array())
                         .Set("layers", Json::Array().Append(LayerRow("x", 20)));
  const std::string html = HtmlReport(input);
  for (const char* words : {"<script", "http", "src=", "@import", "url("}) {
    EXPECT_THAT(html, Not(HasSubstr(words))) << words;
  }
  EXPECT_THAT(html, HasSubstr("prefers-color-scheme: dark"));
}

}  // namespace
}  // namespace qb
