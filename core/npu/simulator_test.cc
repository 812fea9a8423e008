#include "core/npu/simulator.h"

#include <cstring>

#include "core/base/testing/status_matchers.h"
#include "core/base/thread_pool.h"
#include "core/npu/program.h"
#include "core/npu/program.pb.h"
#include "core/npu/testing/random_network.h"

namespace qb::npu {
namespace {

using ::qb::testing::StatusIs;
using ::testing::HasSubstr;
using testing::MakeRandomNetwork;

using Bytes = std::vector<uint8_t>;

const TargetSpec& Aries() { return **FindTarget("aries-rb"); }

// Random float images for a network's first input.
Bytes Image(const integer::Network& network, uint64_t seed) {
  const integer::TensorInfo& x = network.tensors[static_cast<size_t>(network.inputs[0])];
  integer::testing::Random random(seed);
  std::vector<float> values(static_cast<size_t>(x.shape.elements()));
  for (float& value : values) {
    value = static_cast<float>(random.Real(-3, 3));
  }
  Bytes bytes(static_cast<size_t>(x.size_bytes()));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<Bytes> OutputsOf(const std::vector<integer::TensorInfo>& tensors,
                             std::vector<void*>& pointers) {
  std::vector<Bytes> outputs;
  outputs.reserve(tensors.size());
  for (const integer::TensorInfo& tensor : tensors) {
    outputs.emplace_back(static_cast<size_t>(tensor.size_bytes()));
  }
  for (Bytes& output : outputs) {
    pointers.push_back(output.data());
  }
  return outputs;
}

std::vector<Bytes> RunReference(const integer::Network& network, const Bytes& image) {
  absl::StatusOr<integer::NetworkRunner> runner =
      integer::NetworkRunner::Create(network, integer::KernelLevel::kReference);
  EXPECT_TRUE(runner.ok()) << runner.status();
  std::vector<integer::TensorInfo> tensors;
  for (const int output : network.outputs) {
    tensors.push_back(network.tensors[static_cast<size_t>(output)]);
  }
  std::vector<void*> pointers;
  std::vector<Bytes> outputs = OutputsOf(tensors, pointers);
  EXPECT_TRUE(runner->Run({image.data()}, pointers).ok());
  return outputs;
}

std::vector<Bytes> RunSimulator(const Simulator& simulator, Simulator::Context& context,
                                const Bytes& image) {
  std::vector<void*> pointers;
  std::vector<Bytes> outputs = OutputsOf(simulator.outputs(), pointers);
  EXPECT_TRUE(simulator.Run(context, {image.data()}, pointers).ok());
  return outputs;
}

std::unique_ptr<Simulator> MakeSimulator(const integer::Network& network) {
  absl::StatusOr<NpuProgram> program = BuildProgram(network, Aries(), CoreMode::kSingle);
  EXPECT_TRUE(program.ok()) << program.status();
  absl::StatusOr<std::unique_ptr<Simulator>> simulator =
      Simulator::Create(program->program, program->weights);
  EXPECT_TRUE(simulator.ok()) << simulator.status();
  return *std::move(simulator);
}

TEST(Simulator, EqualsThePlainKernelsBitForBit) {
  for (uint64_t seed = 0; seed < 120; ++seed) {
    const integer::Network network = MakeRandomNetwork(seed, 16);
    const std::unique_ptr<Simulator> simulator = MakeSimulator(network);
    QB_ASSERT_OK_AND_ASSIGN(Simulator::Context context, simulator->NewContext());
    // Twice in one arena: nothing of the first run may show in the second.
    for (uint64_t run = 0; run < 2; ++run) {
      const Bytes image = Image(network, seed * 2 + run);
      ASSERT_EQ(RunSimulator(*simulator, context, image), RunReference(network, image)) << seed;
    }
  }
}

TEST(Simulator, GivesEachThreadItsOwnContext) {
  const integer::Network network = MakeRandomNetwork(11, 20);
  const std::unique_ptr<Simulator> simulator = MakeSimulator(network);
  std::vector<std::vector<Bytes>> outputs(16);
  std::vector<Simulator::Context> contexts;
  contexts.reserve(3);
  for (int i = 0; i < 3; ++i) {
    contexts.push_back(*simulator->NewContext());
  }
  ThreadPool pool(3);
  pool.ParallelFor(16, [&](int64_t index, int worker) {
    outputs[static_cast<size_t>(index)] =
        RunSimulator(*simulator, contexts[static_cast<size_t>(worker)],
                     Image(network, static_cast<uint64_t>(index)));
  });
  for (uint64_t i = 0; i < 16; ++i) {
    EXPECT_EQ(outputs[i], RunReference(network, Image(network, i)));
  }
}

TEST(Simulator, ShowsEveryLayerToTheObserver) {
  const integer::Network network = MakeRandomNetwork(5, 12);
  const std::unique_ptr<Simulator> simulator = MakeSimulator(network);
  std::vector<Bytes> expected;
  {
    QB_ASSERT_OK_AND_ASSIGN(integer::NetworkRunner runner, integer::NetworkRunner::Create(network));
    std::vector<void*> pointers;
    std::vector<Bytes> outputs = OutputsOf(simulator->outputs(), pointers);
    QB_ASSERT_OK(runner.Run({Image(network, 1).data()}, pointers,
                            [&](int64_t index, const void* output) {
                              const int tensor = network.layers[static_cast<size_t>(index)].output;
                              const uint8_t* bytes = static_cast<const uint8_t*>(output);
                              expected.emplace_back(
                                  bytes, bytes + network.tensors[static_cast<size_t>(tensor)].size_bytes());
                            }));
  }
  std::vector<Bytes> seen;
  std::vector<void*> pointers;
  std::vector<Bytes> outputs = OutputsOf(simulator->outputs(), pointers);
  QB_ASSERT_OK_AND_ASSIGN(Simulator::Context context, simulator->NewContext());
  QB_ASSERT_OK(simulator->Run(context, {Image(network, 1).data()}, pointers,
                              [&](int64_t, const integer::TensorInfo& tensor, const void* output) {
                                const uint8_t* bytes = static_cast<const uint8_t*>(output);
                                seen.emplace_back(bytes, bytes + tensor.size_bytes());
                              }));
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(seen.size(), network.layers.size());
}

TEST(Simulator, CountsItsArguments) {
  const std::unique_ptr<Simulator> simulator = MakeSimulator(MakeRandomNetwork(5, 2));
  QB_ASSERT_OK_AND_ASSIGN(Simulator::Context context, simulator->NewContext());
  EXPECT_THAT(simulator->Run(context, {}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("0 inputs")));
}

// Whatever loads also runs: no damage makes a kernel leave its memory (run under ASan).
TEST(Simulator, RunsDamagedProgramsThatLoad) {
  integer::testing::Random random(77);
  int ran = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    QB_ASSERT_OK_AND_ASSIGN(
        const NpuProgram program,
        BuildProgram(MakeRandomNetwork(seed, 8), Aries(), CoreMode::kSingle));
    for (int i = 0; i < 120; ++i) {
      std::string bytes = program.program;
      const size_t at = static_cast<size_t>(random.Int(0, static_cast<int64_t>(bytes.size()) - 1));
      bytes[at] = static_cast<char>(random.Int(0, 255));
      absl::StatusOr<std::unique_ptr<Simulator>> simulator =
          Simulator::Create(bytes, program.weights);
      if (!simulator.ok() || (*simulator)->program().arena_bytes > 1 << 24) {
        continue;
      }
      QB_ASSERT_OK_AND_ASSIGN(Simulator::Context context, (*simulator)->NewContext());
      std::vector<Bytes> inputs;
      std::vector<const void*> input_pointers;
      for (const integer::TensorInfo& tensor : (*simulator)->inputs()) {
        inputs.emplace_back(static_cast<size_t>(tensor.size_bytes()), uint8_t{0x3d});
      }
      input_pointers.reserve(inputs.size());
      for (const Bytes& input : inputs) {
        input_pointers.push_back(input.data());
      }
      std::vector<void*> pointers;
      std::vector<Bytes> outputs = OutputsOf((*simulator)->outputs(), pointers);
      QB_EXPECT_OK((*simulator)->Run(context, input_pointers, pointers));
      ++ran;
    }
  }
  EXPECT_GT(ran, 50);
}

}  // namespace
}  // namespace qb::npu
