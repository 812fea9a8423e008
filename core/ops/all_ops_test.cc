#include <set>

#include "core/base/testing/status_matchers.h"
#include "core/ops/graph_text.h"
#include "core/ops/op_def.h"
#include "core/ops/testing/op_samples.h"
#include "core/ops/text_tokens.h"
#include "core/ops/verifier.h"

namespace qb {
namespace {

TEST(AllOps, NamesAreUniqueAndFound) {
  std::set<std::string> names;
  for (const OpDef& def : AllOps()) {
    EXPECT_TRUE(names.insert(std::string(def.name)).second) << def.name;
    EXPECT_EQ(FindOpDef(def.name), &def);
    EXPECT_EQ(&OpDefOf(def.kind), &def);
  }
  EXPECT_EQ(FindOpDef("Conv"), nullptr);
}

// Another value of the same type. An enumeration refuses the text and keeps its value.
AttrValue Changed(const AttrValue& value) {
  struct Changer {
    AttrValue operator()(bool v) const { return !v; }
    AttrValue operator()(int64_t v) const { return v + 3; }
    AttrValue operator()(float v) const { return v * 0.5f + 0.1f; }
    AttrValue operator()(const std::string& v) const { return v + "\"\\\n\x80"; }
    AttrValue operator()(const std::vector<int64_t>&) const { return std::vector<int64_t>{-2, 7}; }
    AttrValue operator()(const std::vector<float>&) const {
      return std::vector<float>{0.1f, 3e38f, -0.0f, 1.0f};
    }
  };
  return std::visit(Changer(), value);
}

TEST(AllOps, AttributesOfEveryOperatorCloneComparePrintAndParse) {
  for (const OpDef& def : AllOps()) {
    SCOPED_TRACE(std::string(def.name));
    const std::unique_ptr<Attributes> attrs = def.make_attributes();
    for (const NamedAttr& field : attrs->Fields()) {
      const absl::Status set = attrs->Set(field.name, Changed(field.value));
      EXPECT_TRUE(set.ok() || std::holds_alternative<std::string>(field.value)) << set;
    }
    EXPECT_EQ(attrs->Clone()->Fields(), attrs->Fields());
    const std::unique_ptr<Attributes> parsed = def.make_attributes();
    for (const NamedAttr& field : attrs->Fields()) {
      const std::string token = AttrToken(field.value);
      TextScanner reader(token);
      QB_ASSERT_OK_AND_ASSIGN(const AttrValue value, reader.ReadAttrValue("a value"));
      EXPECT_TRUE(reader.AtEnd());
      QB_EXPECT_OK(parsed->Set(field.name, value));
    }
    EXPECT_EQ(parsed->Fields(), attrs->Fields());
  }
}

TEST(AllOps, EveryOperatorHasASampleThatRoundTrips) {
  std::set<OpKind> covered = {OpKind::kInput, OpKind::kInputConstant, OpKind::kOutput};
  for (const testing::OpSample& sample : testing::kOpSamples) {
    SCOPED_TRACE(sample.expression);
    covered.insert(sample.kind);
    QB_ASSERT_OK_AND_ASSIGN(const Graph graph, testing::GraphOfSample(sample.expression));
    EXPECT_EQ(graph.outputs()[0]->operand(0)->op(), sample.kind);
    QB_EXPECT_OK(VerifyGraph(graph, "parsing"));
    const std::string text = GraphToText(graph, {.most_values = 1000});
    QB_ASSERT_OK_AND_ASSIGN(const Graph again, GraphFromText(text));
    EXPECT_EQ(GraphToText(again, {.most_values = 1000}), text);
    EXPECT_EQ(GraphToText(graph.Clone(), {.most_values = 1000}), text);
  }
  EXPECT_EQ(covered.size(), AllOps().size());
}

TEST(AllOps, OperandCountsAreChecked) {
  EXPECT_THAT(testing::GraphOfSample("Relu(x, z)"),
              testing::StatusIs(absl::StatusCode::kInvalidArgument,
                                ::testing::HasSubstr("it has 2 operands; accepted: 1 to 1")));
  EXPECT_THAT(testing::GraphOfSample("Concatenate()"),
              testing::StatusIs(absl::StatusCode::kInvalidArgument,
                                ::testing::HasSubstr("accepted: 1 or more")));
}

}  // namespace
}  // namespace qb
