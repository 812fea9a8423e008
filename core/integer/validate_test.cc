#include "core/integer/validate.h"

#include <functional>

#include "core/base/testing/status_matchers.h"
#include "core/integer/testing/random_network.h"

namespace qb::integer {
namespace {

using ::qb::testing::StatusIs;
using ::testing::HasSubstr;
using testing::NetworkBuilder;

NetworkBuilder Valid() {
  NetworkBuilder b(1);
  const int x = b.Input({1, 8, 8, 4});
  ConvParams p;
  p.kernel_h = p.kernel_w = 3;
  const int conv = b.Conv(x, p, 6);
  PoolParams pool;
  pool.kernel_h = pool.kernel_w = pool.stride_h = pool.stride_w = 2;
  const int pooled = b.Layer({conv}, {1, 3, 3, 6}, pool);
  b.Output(b.Eltwise(pooled, pooled, EltwiseKind::kAdd));
  return b;
}

ConvParams& ConvOf(Network& network) { return std::get<ConvParams>(network.layers[0].params); }

TEST(ValidateNetwork, AcceptsAValidNetwork) {
  QB_EXPECT_OK(ValidateNetwork(Valid().network));
}

struct Case {
  const char* message;
  std::function<void(Network&)> damage;
};

TEST(ValidateNetwork, NamesWhatIsWrong) {
  const std::vector<Case> cases = {
      {"there is no tensor 99 to read", [](Network& n) { n.layers[1].inputs[0] = 99; }},
      {"there is no tensor -1 to write", [](Network& n) { n.layers[1].output = -1; }},
      {"there are 0 inputs", [](Network& n) { n.layers[1].inputs.clear(); }},
      {"before any layer has written it", [](Network& n) { std::swap(n.layers[0], n.layers[1]); }},
      {"which has a value already", [](Network& n) { n.layers.push_back(n.layers[1]); }},
      {"there is no tensor 50", [](Network& n) { n.outputs[0] = 50; }},
      {"does not exist or has a value", [](Network& n) { n.inputs.push_back(0); }},
      {"dimensions from 1", [](Network& n) { n.tensors[0].shape[1] = 0; }},
      {"dimensions from 1", [](Network& n) { n.tensors[0].shape[1] = int64_t{1} << 40; }},
      {"finite and above 0", [](Network& n) { n.tensors[1].scale = 0; }},
      {"zero point 1000", [](Network& n) { n.tensors[1].zero_point = 1000; }},
      {"accepted: int8, int16, uint8, float32", [](Network& n) { n.tensors[1].dtype = DType::kInt64; }},
      {"a weight is -128", [](Network& n) { ConvOf(n).weights[5] = -128; }},
      {"215 weights", [](Network& n) { ConvOf(n).weights.pop_back(); }},
      {"5 biases", [](Network& n) { ConvOf(n).bias.pop_back(); }},
      {"shift 1 to 62", [](Network& n) { ConvOf(n).requant[2].shift = 63; }},
      {"mantissa >= 0", [](Network& n) { ConvOf(n).requant[2].mantissa = -1; }},
      {"within [-128, 127]", [](Network& n) { ConvOf(n).clamp_max = 128; }},
      {"stride or dilation 0", [](Network& n) { ConvOf(n).stride_h = 0; }},
      {"padding -1", [](Network& n) { ConvOf(n).pad_left = -1; }},
      {"0 groups", [](Network& n) { ConvOf(n).groups = 0; }},
      {"the window fits", [](Network& n) { ConvOf(n).pad_top = 1; }},
      {"longer than the padded input", [](Network& n) { ConvOf(n).dilation_h = 9; }},
      {"more than an int32 holds", [](Network& n) { ConvOf(n).bias[0] = 2147483647; }},
      {"multiplier", [](Network& n) {
         std::get<EltwiseParams>(n.layers[2].params).multiplier_b = int64_t{1} << 60;
       }},
      {"there are 0 requantizations", [](Network& n) {
         std::get<PoolParams>(n.layers[1].params).is_max = false;
       }},
      {"has 3 entries", [](Network& n) { n.layers[2].params = LutParams{{1, 2, 3}}; n.layers[2].inputs.pop_back(); }},
      {"bytes; its type has", [](Network& n) {
         n.tensors.push_back(n.tensors[0]);
         n.constants.push_back({static_cast<int>(n.tensors.size()) - 1, {1, 2}});
       }},
  };
  for (const Case& c : cases) {
    Network network = Valid().network;
    c.damage(network);
    EXPECT_THAT(ValidateNetwork(network),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(c.message)));
  }
}

TEST(ValidateNetwork, RefusesTablesOfKnotsThatAreNone) {
  const LutParams good{{}, std::vector<int16_t>(513, 7), {{1, 1}}};
  LutParams entries = good, short_one = good, large = good, channels = good, shift = good;
  entries.table.resize(256);
  short_one.knots.pop_back();
  large.knots[3] = 16385;
  channels.requant.resize(3, {1, 1});
  shift.requant[0].shift = 0;
  for (const auto& [params, message] : std::vector<std::pair<LutParams, std::string>>{
           {good, ""},
           {entries, "and 256 entries; accepted: 513 and 0"},
           {short_one, "has 512 knots"},
           {large, "a knot is 16385"},
           {channels, "3 multipliers; accepted: 1, or 4"},
           {shift, "shift 1 to 62"}}) {
    NetworkBuilder b(1);
    const int x = b.Input({1, 8, 8, 4}, DType::kInt16);
    b.Output(b.Layer({x}, {1, 8, 8, 4}, params));
    const absl::Status status = ValidateNetwork(b.network);
    EXPECT_EQ(status.ok(), message.empty()) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  }
}

TEST(ValidateNetwork, RefusesChannelFactorsThatDoNotFit) {
  for (const std::vector<float>& factors :
       {std::vector<float>{1.0f, 0.5f}, std::vector<float>{1.0f, 0.0f, 1.0f, 1.0f}}) {
    NetworkBuilder b(1);
    b.Output(b.Lut(b.Input({1, 8, 8, 4})));
    b.network.tensors[0].channel_factors = factors;
    EXPECT_THAT(ValidateNetwork(b.network),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("channel factor")));
  }
}

TEST(ValidateNetwork, RefusesChannelAxesAndZeroPointsThatDoNotFit) {
  const auto check = [](int64_t axis, const std::vector<int32_t>& zero_points) {
    NetworkBuilder b(1);
    b.Output(b.Lut(b.Input({1, 8, 8, 4})));
    b.network.tensors[0].channel_factors.assign(8, 0.5f);
    b.network.tensors[0].channel_axis = axis;
    b.network.tensors[0].channel_zero_points = zero_points;
    return ValidateNetwork(b.network);
  };
  EXPECT_TRUE(check(1, std::vector<int32_t>(8, -128)).ok());
  for (const int64_t axis : {int64_t{-1}, int64_t{-2}, int64_t{4}, int64_t{3}}) {
    EXPECT_THAT(check(axis, {}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("channel")));
  }
  EXPECT_THAT(check(1, std::vector<int32_t>(4, 0)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("4 zero points for 8")));
  EXPECT_THAT(check(1, std::vector<int32_t>(8, 128)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("zero point 128")));
}

TEST(ValidateNetwork, RefusesSlicesAndTablesThatLeaveTheInput) {
  const std::vector<std::pair<LayerParams, Shape>> layers = {
      {SliceParams{{0, 0, 0, 7}, {1, 1, 1, 1}}, {1, 8, 8, 2}},
      {SliceParams{{0, 0, 0, 0}, {1, 1, 1, int64_t{1} << 62}}, {1, 8, 8, 2}},
      {SliceParams{{0, 0, 0, 0}, {1, 1, 1, -1}}, {1, 8, 8, 2}},
      {PadParams{{0, 0, 0, 1}, 0}, {1, 8, 8, 4}},
      {PadParams{{0, 0, 0, -1}, 0}, {1, 8, 8, 6}},
      {TransposeParams{{0, 1, 2, 2}}, {1, 8, 8, 8}},
      {ReshapeParams{}, {3}},
      {ResizeNearestParams{{0, 8}, {0}}, {1, 2, 1, 4}},
      {DepthToSpaceParams{3, false}, {1, 24, 24, 1}},
      {ReduceParams{{4}, {1, 1}}, {1, 8, 8, 4}},
      {ConcatParams{7, {{1, 1}}, {1}}, {1, 8, 8, 4}},
      {ConcatParams{3, {}, {}}, {1, 8, 8, 4}},
      {SoftmaxParams{std::vector<int32_t>(256, 0)}, {1, 8, 8, 4}},
      {SoftmaxParams{std::vector<int32_t>(512, 256)}, {1, 8, 8, 4}},  // of int16 inputs
      {QuantizeParams{}, {1, 8, 8, 4}},
      {DequantizeParams{}, {1, 8, 8, 4}},
  };
  for (const auto& [params, shape] : layers) {
    NetworkBuilder b(1);
    const int x = b.Input({1, 8, 8, 4});
    b.Output(b.Layer({x}, shape, params));
    EXPECT_THAT(ValidateNetwork(b.network),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("layer 'l0'")))
        << LayerKindName(params);
  }
}

}  // namespace
}  // namespace qb::integer
