#include "core/quantization/transformer_bits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/testing/status_matchers.h"
#include "core/ops/graph_text.h"
#include "core/quantization/testing/graph_quantization.h"

namespace qb {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::ParseGraph;
using ::testing::UnorderedElementsAre;

// Attention with scaled and masked scores, a residual sum around it.
constexpr char kAttention[] = R"(
  x = Input float32[1x8x16]
  mask = Input float32[1x1x1x8]
  g = InputConstant float32[16] random(1)
  h = InputConstant float32[16] random(2)
  n = LayerNormalization(x, g, h) {axis=2}
  wq = InputConstant float32[16x16] random(3)
  q = MatMul(n, wq)
  wk = InputConstant float32[16x16] random(5)
  k = MatMul(n, wk)
  wv = InputConstant float32[16x16] random(6)
  v = MatMul(n, wv)
  q4 = Reshape(q) {new_shape=[1, 8, 2, 8]}
  qt = Transpose(q4) {transpose_axes=[0, 2, 1, 3]}
  k4 = Reshape(k) {new_shape=[1, 8, 2, 8]}
  kt = Transpose(k4) {transpose_axes=[0, 2, 3, 1]}
  v4 = Reshape(v) {new_shape=[1, 8, 2, 8]}
  vt = Transpose(v4) {transpose_axes=[0, 2, 1, 3]}
  s = MatMul(qt, kt)
  e = InputConstant float32[1] splat(0.05)
  l = Multiply(s, e)
  m = Adding(l, mask)
  p = Softmax(m) {axis=3}
  a = MatMul(p, vt)
  at = Transpose(a) {transpose_axes=[0, 2, 1, 3]}
  o = Reshape(at) {new_shape=[1, 8, 16]}
  wo = InputConstant float32[16x16] random(7)
  y1 = MatMul(o, wo)
  r1 = Adding(y1, x)
)";

constexpr char kPlainFeedForward[] = R"(
  wu = InputConstant float32[16x24] random(10)
  u = MatMul(r1, wu)
  act = Gelu(u)
  wd = InputConstant float32[24x16] random(12)
  d = MatMul(act, wd)
  r2 = Adding(d, r1)
)";

constexpr char kGatedFeedForward[] = R"(
  wg = InputConstant float32[16x24] random(9)
  gate = MatMul(r1, wg)
  sig = Sigmoid(gate)
  silu = Multiply(gate, sig)
  wu = InputConstant float32[16x24] random(10)
  u = MatMul(r1, wu)
  z = Multiply(silu, u)
  wd = InputConstant float32[24x16] random(12)
  d = MatMul(z, wd)
  r2 = Adding(d, r1)
)";

// A pooler in front of the classifier is no feed-forward part: nothing goes around it.
constexpr char kHead[] = R"(
  wp = InputConstant float32[16x16] random(13)
  pool = MatMul(r2, wp)
  tanh = Tanh(pool)
  wc = InputConstant float32[16x3] random(14)
  c = MatMul(tanh, wc)
  y = Output(c)
)";

std::vector<std::string> NamesOf(const std::vector<const Node*>& nodes) {
  std::vector<std::string> names;
  names.reserve(nodes.size());
  for (const Node* node : nodes) {
    names.push_back(node->name());
  }
  return names;
}

TEST(TransformerRoles, AreFoundByStructure) {
  QB_ASSERT_OK_AND_ASSIGN(const Graph graph,
                          ParseGraph(absl::StrCat(kAttention, kPlainFeedForward, kHead)));
  std::map<TransformerRole, RoleLayers> roles = FindTransformerRoles(graph);
  EXPECT_THAT(NamesOf(roles[TransformerRole::kQuery].linear), ElementsAre("q"));
  EXPECT_THAT(NamesOf(roles[TransformerRole::kKey].linear), ElementsAre("k"));
  EXPECT_THAT(NamesOf(roles[TransformerRole::kValue].linear), ElementsAre("v"));
  EXPECT_THAT(NamesOf(roles[TransformerRole::kOutput].linear), ElementsAre("y1"));
  EXPECT_THAT(NamesOf(roles[TransformerRole::kFfnUp].linear), ElementsAre("u"));
  EXPECT_THAT(NamesOf(roles[TransformerRole::kFfnUp].between), ElementsAre("act"));
  EXPECT_THAT(NamesOf(roles[TransformerRole::kFfnGate].linear), IsEmpty());
  EXPECT_THAT(NamesOf(roles[TransformerRole::kFfnDown].linear), ElementsAre("d"));
  EXPECT_THAT(NamesOf(roles[TransformerRole::kHead].linear), ElementsAre("c"));
}

TEST(TransformerRoles, TellTheGateFromWhatItScales) {
  QB_ASSERT_OK_AND_ASSIGN(const Graph graph,
                          ParseGraph(absl::StrCat(kAttention, kGatedFeedForward, kHead)));
  std::map<TransformerRole, RoleLayers> roles = FindTransformerRoles(graph);
  EXPECT_THAT(NamesOf(roles[TransformerRole::kFfnGate].linear), ElementsAre("gate"));
  EXPECT_THAT(NamesOf(roles[TransformerRole::kFfnUp].linear), ElementsAre("u"));
  EXPECT_THAT(NamesOf(roles[TransformerRole::kFfnUp].between), ElementsAre("z"));
  EXPECT_THAT(NamesOf(roles[TransformerRole::kFfnDown].linear), ElementsAre("d"));
}

TEST(TransformerRoles, NeedAttention) {
  QB_ASSERT_OK_AND_ASSIGN(const Graph graph, ParseGraph(absl::StrCat("  r1 = Input float32[1x8x16]",
                                                                     kPlainFeedForward, kHead)));
  EXPECT_TRUE(FindTransformerRoles(graph).empty());
}

TEST(TransformerBits, BecomeBitsOfLayers) {
  QB_ASSERT_OK_AND_ASSIGN(const Graph graph,
                          ParseGraph(absl::StrCat(kAttention, kPlainFeedForward, kHead)));
  LayerOverrides overrides;
  overrides.activation16 = {"d"};
  overrides.weight8 = {"v"};
  const TransformerBits bits = {
      {{TransformerRole::kOutput, 16},
       {TransformerRole::kFfnUp, 16},
       {TransformerRole::kFfnDown, 16}},
      {{TransformerRole::kQuery, 4}, {TransformerRole::kValue, 16}, {TransformerRole::kRouter, 4}}};
  EXPECT_THAT(AddTransformerBits(graph, bits, overrides),
              UnorderedElementsAre("bit.transformer.activation.output: 16 bits in 1 layer",
                                   "bit.transformer.activation.ffn.up: 16 bits in 2 layers",
                                   "bit.transformer.activation.ffn.down: 16 bits in 1 layer",
                                   "bit.transformer.weight.query: 4 bits in 1 layer",
                                   "bit.transformer.weight.value: 16 bits in 1 layer",
                                   "bit.transformer.weight.router: the model has no such layer"));
  EXPECT_THAT(overrides.activation16, UnorderedElementsAre("d", "y1", "u", "act"));
  EXPECT_THAT(overrides.weight4, ElementsAre("q"));
  EXPECT_THAT(overrides.weight16, IsEmpty());  // the user has named v
}

TEST(TransformerBits, ChooseLayersOfRolesOnce) {
  QB_ASSERT_OK_AND_ASSIGN(const Graph graph,
                          ParseGraph(absl::StrCat(kAttention, kPlainFeedForward, kHead)));
  EXPECT_THAT(LayersOfRoles(graph, {TransformerRole::kQuery, TransformerRole::kFfnDown,
                                    TransformerRole::kQuery}),
              ElementsAre("q", "d"));
}

}  // namespace
}  // namespace qb
