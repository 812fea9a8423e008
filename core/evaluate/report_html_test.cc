#include "core/evaluate/report_html.h"

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

TEST(HtmlReport, ListsTheWorstLayersFirst) {
  HtmlReportInput input;
  input.layers = Json::Array();
  Json layers = Json::Array();
  for (const auto& [name, db] : {std::pair{"good<1>", 55.0}, std::pair{"bad", 15.0}}) {
    layers.Append(Json::Object()
                      .Set("name", name)
                      .Set("op", "Convolution")
                      .Set("activation_bits", 8)
                      .Set("sqnr_db", db)
                      .Set("entire_sqnr_db", db - 1)
                      .Set("cosine", 0.5)
                      .Set("saturation_share", 0.125));
  }
  input.evaluation =
      Json::Object().Set("samples", 1).Set("outputs", Json::Array()).Set("layers", layers);
  const std::string html = HtmlReport(input);
  EXPECT_LT(html.find(">bad<"), html.find(">good&lt;1&gt;<"));
  EXPECT_THAT(html, HasSubstr("width:25.0%"));
  EXPECT_THAT(html, HasSubstr("12.50 %"));
}

}  // namespace
}  // namespace qb
