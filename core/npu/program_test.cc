#include "core/npu/program.h"

#include <cmath>
#include <functional>
#include <set>

#include "core/base/failure.h"
#include "core/base/testing/status_matchers.h"
#include "core/integer/tables.h"
#include "core/integer/validate.h"
#include "core/npu/liveness.h"
#include "core/npu/load_program.h"
#include "core/npu/program.pb.h"
#include "core/npu/testing/random_network.h"

namespace qb::npu {
namespace {

using ::qb::testing::StatusIs;
using ::testing::HasSubstr;
using testing::MakeRandomNetwork;

const TargetSpec& Target(const char* name) { return **FindTarget(name); }

NpuProgram Build(const integer::Network& network, const char* target = "aries-rb") {
  absl::StatusOr<NpuProgram> program = BuildProgram(network, Target(target), CoreMode::kSingle);
  EXPECT_TRUE(program.ok()) << program.status();
  return program.ok() ? *std::move(program) : NpuProgram{};
}

TEST(BuildProgram, ChecksTheModeAgainstTheTargetFirst) {
  const integer::Network network = MakeRandomNetwork(1, 3);
  const absl::Status has_not =
      BuildProgram(network, Target("regulus-rb"), CoreMode::kGlobal4).status();
  EXPECT_EQ(FailureCodeOf(has_not), FailureCode::kTargetError);
  EXPECT_THAT(std::string(has_not.message()), HasSubstr("has no inference scheme 'global4'"));
}

TEST(BuildProgram, RefusesAnInvalidNetwork) {
  integer::Network network = MakeRandomNetwork(1, 3);
  network.layers[0].inputs[0] = 1000;
  EXPECT_THAT(BuildProgram(network, Target("aries-rb"), CoreMode::kSingle),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("tensor 1000")));
}

TEST(BuildProgram, WritesEqualBytesForEqualNetworks) {
  const NpuProgram a = Build(MakeRandomNetwork(7, 20));
  const NpuProgram b = Build(MakeRandomNetwork(7, 20));
  EXPECT_EQ(a.program, b.program);
  EXPECT_EQ(a.weights, b.weights);
}

TEST(BuildProgram, SerializesEveryKindAndReadsItBack) {
  std::set<std::string> kinds;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const NpuProgram program = Build(MakeRandomNetwork(seed, 18));
    QB_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<LoadedProgram> loaded,
                            LoadProgram(program.program, program.weights));
    for (const integer::Layer& layer : loaded->network.layers) {
      kinds.insert(integer::LayerKindName(layer.params));
    }
    // Building from what was read gives the same bytes: nothing was lost.
    const NpuProgram again = Build(loaded->network);
    EXPECT_EQ(again.program, program.program) << seed;
    EXPECT_EQ(again.weights, program.weights) << seed;
    EXPECT_EQ(loaded->estimate, program.estimate);
    EXPECT_EQ(loaded->memory.peak_bytes, program.memory.peak_bytes);
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<integer::LayerParams>);
}

TEST(BuildProgram, PlansSmallNetworksToTheLowerBound) {
  int exact = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const NpuProgram program = Build(MakeRandomNetwork(seed, 12));
    EXPECT_LE(program.memory.lower_bound_bytes, program.memory.peak_bytes);
    exact += program.memory.peak_bytes == program.memory.lower_bound_bytes ? 1 : 0;
  }
  EXPECT_GE(exact, 38);
}

TEST(BuildProgram, EstimatesAreConsistent) {
  const TargetSpec& target = Target("aries-rb");
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const NpuProgram program = Build(MakeRandomNetwork(seed, 12));
    Cost sum;
    for (const LayerEstimate& layer : program.layers) {
      const Cost& cost = layer.tiling.cost;
      EXPECT_EQ(cost.cycles, std::max(cost.compute_cycles, cost.dma_cycles)) << layer.name;
      EXPECT_LE(cost.macs, cost.compute_cycles * target.macs_per_cycle) << layer.name;
      EXPECT_LE(layer.tiling.sram_bytes, target.sram_bytes_per_core) << layer.name;
      sum += cost;
    }
    EXPECT_EQ(sum, program.estimate);
  }
}

TEST(BuildProgram, CutsALargeConvolutionIntoTilesThatFit) {
  integer::testing::NetworkBuilder b(1);
  const int x = b.Input({1, 112, 112, 256});
  integer::ConvParams p;
  p.kernel_h = p.kernel_w = 3;
  p.pad_top = p.pad_bottom = p.pad_left = p.pad_right = 1;
  b.Output(b.Conv(x, p, 512));
  const NpuProgram program = Build(b.network);
  ASSERT_EQ(program.layers.size(), 1u);
  const Tiling& tiling = program.layers[0].tiling;
  EXPECT_GT(tiling.count, 1);
  EXPECT_LE(tiling.sram_bytes, Target("aries-rb").sram_bytes_per_core);
  EXPECT_EQ(tiling.cost.macs, int64_t{112} * 112 * 512 * 9 * 256);
  // The array is full: 4096 products a cycle, give or take the last rows of tiles.
  EXPECT_LE(tiling.cost.compute_cycles, tiling.cost.macs / 4096 * 11 / 10);
}

TEST(BuildProgram, LeavesOutTheFloatBorderWhereTheTargetHasNone) {
  integer::testing::NetworkBuilder b(3);
  const int input = b.Input({1, 8}, DType::kFloat32);
  const int codes = b.Lut(b.Layer({input}, {1, 8}, integer::QuantizeParams{}));
  b.Output(b.Layer({codes}, {1, 8}, integer::DequantizeParams{}, DType::kFloat32));
  const integer::Network& network = b.network;
  const NpuProgram with = Build(network, "regulus-rb");
  const NpuProgram without = Build(network, "regulus-rb-usb");
  EXPECT_EQ(with.inputs[0].dtype, DType::kFloat32);
  EXPECT_EQ(without.inputs[0].dtype, DType::kInt8);
  EXPECT_EQ(without.inputs[0].name, with.inputs[0].name);
  EXPECT_EQ(without.outputs[0].dtype, DType::kInt8);
  EXPECT_EQ(without.outputs[0].name, with.outputs[0].name);
  EXPECT_LT(without.layers.size(), with.layers.size());
}

TEST(BuildProgram, KnowsWhichTablesNeedTheLookupUnit) {
  integer::testing::NetworkBuilder b(1);
  const int x = b.Input({1, 8});
  integer::LutParams relu;
  integer::LutParams sigmoid;
  for (int code = -128; code <= 127; ++code) {
    relu.table.push_back(static_cast<int8_t>(std::max(-128, std::min(127, code * 3 / 2 - 20))));
    sigmoid.table.push_back(static_cast<int8_t>(255 / (1 + std::exp(-code / 20.0)) - 128));
  }
  b.Output(b.Layer({x}, {1, 8}, relu));
  QB_EXPECT_OK(BuildProgram(b.network, Target("regulus-ra"), CoreMode::kSingle).status());
  b.Output(b.Layer({x}, {1, 8}, sigmoid));
  const absl::Status refused =
      BuildProgram(b.network, Target("regulus-ra"), CoreMode::kSingle).status();
  EXPECT_EQ(FailureCodeOf(refused), FailureCode::kTargetError);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("lookup-table unit"));
  QB_EXPECT_OK(BuildProgram(b.network, Target("regulus-rb"), CoreMode::kSingle).status());
}

TEST(BuildProgram, KnowsWhichKnotsNeedTheLookupUnit) {
  for (const bool curved : {false, true}) {
    integer::testing::NetworkBuilder b(1);
    const int x = b.Input({1, 8}, DType::kInt16);
    const auto function = [&](double real) {
      return curved ? std::tanh(real) : std::clamp(0.75 * real - 0.3, -1.0, 2.0);
    };
    const integer::TensorInfo y = b.info(b.Tensor({1, 8}, DType::kInt8));
    b.Output(b.Layer({x}, {1, 8}, integer::KnotTable(function, b.info(x), y)));
    EXPECT_EQ(BuildProgram(b.network, Target("regulus-ra"), CoreMode::kSingle).ok(), !curved);
  }
}

TEST(Program, KeepsChannelFactorsAndKnots) {
  integer::testing::NetworkBuilder b(1);
  const int x = b.Input({1, 8}, DType::kInt16);
  const int y = b.Lut(x);
  integer::TensorInfo& stepped = b.network.tensors[static_cast<size_t>(y)];
  stepped.channel_factors.assign(8, 0.25f);
  stepped.channel_zero_points = {0, 1, -128, 127, 0, 0, 0, 5};
  stepped.channel_axis = 1;
  b.Output(y);
  QB_ASSERT_OK_AND_ASSIGN(const NpuProgram program,
                          BuildProgram(b.network, Target("regulus-rb"), CoreMode::kSingle));
  QB_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<LoadedProgram> loaded,
                          LoadProgram(program.program, program.weights));
  const integer::Network& network = loaded->network;
  const auto& table = std::get<integer::LutParams>(network.layers[0].params);
  const auto& written = std::get<integer::LutParams>(b.network.layers[0].params);
  EXPECT_EQ(table.knots, written.knots);
  EXPECT_EQ(table.requant.size(), written.requant.size());
  const integer::TensorInfo& read =
      network.tensors[static_cast<size_t>(network.layers[0].output)];
  EXPECT_EQ(read.channel_factors, std::vector<float>(8, 0.25f));
  EXPECT_THAT(read.channel_zero_points, ::testing::ElementsAre(0, 1, -128, 127, 0, 0, 0, 5));
  EXPECT_EQ(read.channel_axis, 1);
}

// A program with one thing changed.
absl::Status LoadChanged(const NpuProgram& program, const std::function<void(v1::Program&)>& change) {
  v1::Program message;
  EXPECT_TRUE(message.ParseFromString(program.program));
  change(message);
  return LoadProgram(message.SerializeAsString(), program.weights).status();
}

TEST(LoadProgram, SaysWhatIsWrong) {
  const NpuProgram program = Build(MakeRandomNetwork(2, 10));
  const std::pair<const char*, std::function<void(v1::Program&)>> cases[] = {
      {"no format version", [](v1::Program& p) { p.set_format_major(0); }},
      {"written were", [](v1::Program& p) { p.set_weights_bytes(1); }},
      {"up to 2^34", [](v1::Program& p) { p.set_arena_bytes(uint64_t{1} << 60); }},
      {"within the arena", [](v1::Program& p) { p.set_arena_bytes(64); }},
      {"no core mode 'both'", [](v1::Program& p) { p.set_core_mode("both"); }},
      {"no memory space", [](v1::Program& p) { p.mutable_tensors(0)->clear_space(); }},
      {"multiples of 64", [](v1::Program& p) { p.mutable_tensors(0)->set_address(1); }},
      {"there is no tensor 9999", [](v1::Program& p) { p.mutable_layers(1)->set_inputs(0, 9999); }},
      {"there is no tensor 9999", [](v1::Program& p) { p.add_outputs(9999); }},
      {"no operation", [](v1::Program& p) { p.mutable_layers(1)->clear_operation(); }},
      {"is signalled twice", [](v1::Program& p) { p.mutable_layers(1)->set_signal_event(1); }},
      {"wait for each other", [](v1::Program& p) { p.mutable_layers(0)->add_wait_events(3); }},
      {"before any layer", [](v1::Program& p) { p.mutable_layers()->SwapElements(0, 1);
                                                p.mutable_layers(0)->clear_wait_events(); }},
      {"dimensions from 1", [](v1::Program& p) { p.mutable_tensors(0)->set_shape(1, -3); }},
  };
  for (const auto& [message, change] : cases) {
    EXPECT_THAT(LoadChanged(program, change),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(message)));
  }
  EXPECT_THAT(LoadChanged(program, [](v1::Program& p) { p.set_format_major(2); }),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("newer than this compiler")));
}

TEST(LoadProgram, FindsOverlappingTensors) {
  integer::testing::NetworkBuilder b(1);
  const int x = b.Input({1, 4, 4, 8});
  const int y = b.RandomConv(x);
  b.Output(b.Lut(y));
  b.Output(b.Lut(y));
  const NpuProgram program = Build(b.network);
  EXPECT_THAT(LoadChanged(program,
                          [](v1::Program& p) {
                            for (v1::Tensor& tensor : *p.mutable_tensors()) {
                              tensor.set_address(0);
                            }
                          }),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("which is needed")));
}

TEST(LoadProgram, RunsCoresByTheirEvents) {
  // The first layer goes to core 1; core 0 waits for its event, whatever the order of the list.
  const NpuProgram program = Build(MakeRandomNetwork(4, 6));
  v1::Program message;
  ASSERT_TRUE(message.ParseFromString(program.program));
  message.mutable_layers(0)->set_core(1);
  v1::Layer first = message.layers(0);
  for (int i = 0; i + 1 < message.layers_size(); ++i) {
    message.mutable_layers()->SwapElements(i, i + 1);
  }
  QB_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<LoadedProgram> loaded,
                          LoadProgram(message.SerializeAsString(), program.weights));
  EXPECT_EQ(loaded->network.layers[0].name, first.name());
}

// Bytes flipped, cut, doubled: an error or a program that is safe to load, never a crash.
TEST(LoadProgram, SurvivesDamage) {
  integer::testing::Random random(99);
  int accepted = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const NpuProgram program = Build(MakeRandomNetwork(seed, 10));
    for (int i = 0; i < 250; ++i) {
      std::string bytes = program.program;
      std::string weights = program.weights;
      const int64_t changes = random.Int(1, 3);
      for (int64_t change = 0; change < changes; ++change) {
        const size_t at = static_cast<size_t>(random.Int(0, static_cast<int64_t>(bytes.size()) - 1));
        const int64_t kind = random.Int(0, 9);
        if (kind < 7) {
          bytes[at] = static_cast<char>(random.Int(0, 255));
        } else if (kind == 7) {
          bytes.resize(at + 1);
        } else if (kind == 8) {
          bytes.insert(at, bytes.substr(at / 2, 20));
        } else {
          weights.resize(weights.size() / 2);
        }
      }
      accepted += LoadProgram(bytes, weights).ok() ? 1 : 0;
    }
  }
  // Names, scales and estimates may change without harm; most other bytes may not.
  EXPECT_LT(accepted, 2500);
}

}  // namespace
}  // namespace qb::npu
