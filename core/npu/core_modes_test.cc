// Programs of every core mode: the same bits, and no event too few.
#include <cstdlib>
#include <cstring>
#include <functional>

#include "core/base/testing/status_matchers.h"
#include "core/npu/hazards.h"
#include "core/npu/program.h"
#include "core/npu/program.pb.h"
#include "core/npu/simulator.h"
#include "core/npu/testing/random_network.h"

namespace qb::npu {
namespace {

using ::qb::testing::StatusIs;
using ::testing::HasSubstr;
using testing::MakeRandomNetwork;

using Bytes = std::vector<uint8_t>;

const TargetSpec& Aries() { return **FindTarget("aries-rb"); }

// The same without a price of events: everything that can be cut is.
const TargetSpec& EagerAries() {
  static const TargetSpec target = [] {
    TargetSpec spec = Aries();
    spec.event_cycles = 0;
    return spec;
  }();
  return target;
}

Bytes Image(const integer::TensorInfo& x, uint64_t seed) {
  integer::testing::Random random(seed);
  std::vector<float> values(static_cast<size_t>(x.shape.elements()));
  for (float& value : values) {
    value = static_cast<float>(random.Real(-3, 3));
  }
  Bytes bytes(static_cast<size_t>(x.size_bytes()));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// The outputs of as many samples as the program takes, by sample.
std::vector<std::vector<Bytes>> Simulate(const NpuProgram& program, const std::string& weights,
                                    uint64_t seed, bool observe = false) {
  absl::StatusOr<std::unique_ptr<Simulator>> simulator = Simulator::Create(program.program, weights);
  EXPECT_TRUE(simulator.ok()) << simulator.status();
  absl::StatusOr<Simulator::Context> context = (*simulator)->NewContext();
  std::vector<Bytes> images;
  std::vector<const void*> inputs;
  std::vector<std::vector<Bytes>> outputs;
  std::vector<void*> pointers;
  for (int64_t sample = 0; sample < (*simulator)->samples(); ++sample) {
    images.push_back(Image((*simulator)->inputs()[0], seed + static_cast<uint64_t>(sample)));
    outputs.emplace_back();
    for (const integer::TensorInfo& tensor : (*simulator)->outputs()) {
      outputs.back().emplace_back(static_cast<size_t>(tensor.size_bytes()));
    }
  }
  for (size_t sample = 0; sample < images.size(); ++sample) {
    inputs.push_back(images[sample].data());
    for (Bytes& output : outputs[sample]) {
      pointers.push_back(output.data());
    }
  }
  Simulator::Observer observer;
  if (observe) {
    observer = [](int64_t, const integer::TensorInfo&, const void*) {};
  }
  EXPECT_TRUE((*simulator)->Run(*context, inputs, pointers, observer).ok());
  return outputs;
}

// QB_GRAPHS asks for more than the 20 of the suite (tests/bench/core_modes.py).
uint64_t Graphs() {
  const char* asked = std::getenv("QB_GRAPHS");
  return asked == nullptr ? 20 : std::strtoull(asked, nullptr, 10);
}

TEST(CoreModes, GiveTheSameBits) {
  int64_t cut_by_rows = 0;
  int64_t cut_by_channels = 0;
  for (const TargetSpec* target : {&Aries(), &EagerAries()}) {
    for (uint64_t seed = 0; seed < Graphs(); ++seed) {
      SCOPED_TRACE(seed);
      const integer::Network network = MakeRandomNetwork(seed, 18);
      QB_ASSERT_OK_AND_ASSIGN(const NpuPrograms all,
                              BuildPrograms(network, *target, target->modes));
      ASSERT_EQ(all.programs.size(), 4u);
      const auto single = Simulate(all.programs[0], all.weights, seed);
      const auto multi = Simulate(all.programs[1], all.weights, seed);
      ASSERT_EQ(multi.size(), 4u);
      EXPECT_EQ(multi[0], single[0]);
      EXPECT_EQ(multi[3], Simulate(all.programs[0], all.weights, seed + 3)[0]);
      for (const size_t global : {size_t{2}, size_t{3}}) {
        EXPECT_EQ(Simulate(all.programs[global], all.weights, seed), single);
        EXPECT_EQ(Simulate(all.programs[global], all.weights, seed, /*observe=*/true), single);
        for (const LayerEstimate& layer : all.programs[global].layers) {
          cut_by_rows += layer.cut == CutAxis::kRows ? 1 : 0;
          cut_by_channels += layer.cut == CutAxis::kChannels ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(cut_by_rows, 100);
  EXPECT_GT(cut_by_channels, 50);
}

TEST(CoreModes, ShareTheWeights) {
  const integer::Network network = MakeRandomNetwork(3, 10);
  QB_ASSERT_OK_AND_ASSIGN(const NpuPrograms all, BuildPrograms(network, Aries(), Aries().modes));
  QB_ASSERT_OK_AND_ASSIGN(const NpuProgram single,
                          BuildProgram(network, Aries(), CoreMode::kSingle));
  EXPECT_EQ(all.weights, single.weights);
  EXPECT_EQ(all.programs[0].program, single.program);
  EXPECT_EQ(all.programs[1].samples, 4);
  EXPECT_EQ(all.programs[1].memory.peak_bytes, 4 * single.memory.peak_bytes);
  EXPECT_EQ(all.programs[1].estimate.cycles, single.estimate.cycles);
  EXPECT_EQ(all.programs[1].estimate.macs, 4 * single.estimate.macs);
}

TEST(CoreModes, WriteEqualBytesForEqualNetworks) {
  for (const CoreMode mode : Aries().modes) {
    QB_ASSERT_OK_AND_ASSIGN(const NpuProgram a,
                            BuildProgram(MakeRandomNetwork(5, 16), EagerAries(), mode));
    QB_ASSERT_OK_AND_ASSIGN(const NpuProgram b,
                            BuildProgram(MakeRandomNetwork(5, 16), EagerAries(), mode));
    EXPECT_EQ(a.program, b.program);
  }
}

// A convolution over a large image takes less time on more cores, and its halos are counted.
TEST(CoreModes, CutALargeConvolution) {
  integer::testing::NetworkBuilder b(1);
  const int x = b.Input({1, 64, 64, 64});
  integer::ConvParams p;
  p.kernel_h = p.kernel_w = 3;
  p.pad_top = p.pad_bottom = p.pad_left = p.pad_right = 1;
  b.Output(b.Conv(x, p, 64));
  QB_ASSERT_OK_AND_ASSIGN(const NpuPrograms all, BuildPrograms(b.network, Aries(), Aries().modes));
  const Cost& one = all.programs[0].estimate;
  const Cost& eight = all.programs[3].estimate;
  EXPECT_LT(eight.cycles, one.cycles / 3);
  ASSERT_EQ(all.programs[3].layers[0].cut, CutAxis::kRows);
  // Each part but the first and last reads one row above and one below; those ones one.
  EXPECT_EQ(eight.halo_bytes, 14 * 64 * 64);
  EXPECT_EQ(eight.gather_bytes, 0);
  EXPECT_EQ(eight.macs, one.macs);
}

// Removes every wait in turn: each must be missed, for none is there that another implies.
TEST(CoreModes, AMissingEventIsFound) {
  int removed = 0;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    QB_ASSERT_OK_AND_ASSIGN(const NpuProgram program, BuildProgram(MakeRandomNetwork(seed, 14),
                                                                   EagerAries(), CoreMode::kGlobal8));
    v1::Program message;
    ASSERT_TRUE(message.ParseFromString(program.program));
    for (int layer = 0; layer < message.layers_size(); ++layer) {
      for (int part = 0; part < message.layers(layer).parts_size(); ++part) {
        for (int wait = 0; wait < message.layers(layer).parts(part).wait_events_size(); ++wait) {
          v1::Program mutated = message;
          auto* waits = mutated.mutable_layers(layer)->mutable_parts(part)->mutable_wait_events();
          waits->erase(waits->begin() + wait);
          ASSERT_THAT(Simulator::Create(mutated.SerializeAsString(), program.weights),
                      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("does not wait")))
              << seed << " " << layer << " " << part;
          ++removed;
        }
      }
    }
  }
  EXPECT_GT(removed, 200);
}

TEST(CoreModes, LoadingSaysWhatIsWrongWithParts) {
  QB_ASSERT_OK_AND_ASSIGN(
      const NpuProgram program,
      BuildProgram(MakeRandomNetwork(1, 14), EagerAries(), CoreMode::kGlobal4));
  int cut = 0;
  v1::Program message;
  ASSERT_TRUE(message.ParseFromString(program.program));
  while (message.layers(cut).parts_size() < 2) {
    ++cut;
  }
  const std::pair<const char*, std::function<void(v1::Program&, v1::Layer&)>> cases[] = {
      {"one a core", [](v1::Program&, v1::Layer& l) { l.mutable_parts(1)->set_core(0); }},
      {"one a core", [](v1::Program&, v1::Layer& l) { l.mutable_parts(1)->set_core(64); }},
      {"follow each other", [](v1::Program&, v1::Layer& l) { l.mutable_parts(1)->set_begin(0); }},
      {"follow each other",
       [](v1::Program&, v1::Layer& l) { l.mutable_parts(0)->set_extent(int64_t{1} << 40); }},
      {"has parts for", [](v1::Program&, v1::Layer& l) { l.mutable_parts()->RemoveLast(); }},
      {"has no parts", [](v1::Program&, v1::Layer& l) { l.clear_parts(); }},
      {"there is no cut 9", [](v1::Program&, v1::Layer& l) { l.set_cut(static_cast<v1::Cut>(9)); }},
      {"is signalled already",
       [](v1::Program&, v1::Layer& l) {
         l.mutable_parts(1)->set_signal_event(l.parts(0).signal_event());
       }},
      {"no layer before it signals",
       [](v1::Program&, v1::Layer& l) { l.mutable_parts(0)->add_wait_events(1 << 30); }},
      {"equal shares", [](v1::Program& p, v1::Layer&) { p.set_samples(9); }},
  };
  for (const auto& [text, change] : cases) {
    v1::Program mutated = message;
    change(mutated, *mutated.mutable_layers(cut));
    EXPECT_THAT(LoadProgram(mutated.SerializeAsString(), program.weights),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(text)));
  }
}

// Whatever loads also runs (under ASan).
TEST(CoreModes, RunDamagedProgramsThatLoad) {
  integer::testing::Random random(7);
  int ran = 0;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    for (const CoreMode mode : {CoreMode::kMulti, CoreMode::kGlobal8}) {
      QB_ASSERT_OK_AND_ASSIGN(const NpuProgram program,
                              BuildProgram(MakeRandomNetwork(seed, 8), EagerAries(), mode));
      for (int i = 0; i < 60; ++i) {
        std::string bytes = program.program;
        const size_t at = static_cast<size_t>(random.Int(0, static_cast<int64_t>(bytes.size()) - 1));
        bytes[at] = static_cast<char>(random.Int(0, 255));
        absl::StatusOr<std::unique_ptr<Simulator>> simulator =
            Simulator::Create(bytes, program.weights);
        if (!simulator.ok() || (*simulator)->program().arena_bytes > 1 << 24) {
          continue;
        }
        Simulate({.program = bytes}, program.weights, seed);
        ++ran;
      }
    }
  }
  EXPECT_GT(ran, 50);
}

TEST(MayMeet, ComparesRunsOfOnePitchExactly) {
  for (int64_t offset = 0; offset < 30; ++offset) {
    for (int64_t run = 1; run <= 6; ++run) {
      const ByteRuns a{3, 4, 10, 3};
      const ByteRuns b{offset, run, 10, 2};
      bool meet = false;
      for (int64_t i = 0; i < 3; ++i) {
        for (int64_t j = 0; j < 2; ++j) {
          const int64_t a_at = 3 + 10 * i;
          const int64_t b_at = offset + 10 * j;
          meet = meet || (a_at < b_at + run && b_at < a_at + 4);
        }
      }
      // Never a miss; a false alarm only at the ends of the two.
      EXPECT_GE(MayMeet(a, b), meet) << offset << " " << run;
    }
  }
  EXPECT_FALSE(MayMeet({0, 4, 10, 5}, {4, 6, 10, 5}));
  EXPECT_TRUE(MayMeet({0, 4, 10, 5}, {3, 6, 10, 5}));
  EXPECT_FALSE(MayMeet({0, 10, 10, 1}, {10, 5, 5, 1}));
}

}  // namespace
}  // namespace qb::npu
