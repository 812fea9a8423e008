// Any bytes as a program and its weights; what loads is run. The first two bytes say how many of the
// rest are weights.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/npu/simulator.h"

namespace {

constexpr int64_t kMostBytes = int64_t{1} << 24;

int64_t WorkOf(const qb::npu::Simulator& simulator) {
  int64_t bytes = simulator.program().arena_bytes;
  for (const qb::integer::TensorInfo& tensor : simulator.program().network.tensors) {
    bytes += tensor.size_bytes();
  }
  return bytes;
}

void RunOnce(const qb::npu::Simulator& simulator) {
  absl::StatusOr<qb::npu::Simulator::Context> context = simulator.NewContext();
  if (!context.ok()) {
    return;
  }
  std::vector<std::vector<uint8_t>> buffers;
  for (const auto* tensors : {&simulator.inputs(), &simulator.outputs()}) {
    for (int64_t sample = 0; sample < simulator.samples(); ++sample) {
      for (const qb::integer::TensorInfo& tensor : *tensors) {
        buffers.emplace_back(static_cast<size_t>(tensor.size_bytes()), uint8_t{0x3d});
      }
    }
  }
  const size_t input_count = static_cast<size_t>(simulator.samples()) * simulator.inputs().size();
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  for (std::vector<uint8_t>& buffer : buffers) {
    if (inputs.size() < input_count) {
      inputs.push_back(buffer.data());
    } else {
      outputs.push_back(buffer.data());
    }
  }
  if (!simulator.Run(*context, inputs, outputs).ok()) {
    __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) {
    return 0;
  }
  const absl::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const size_t weights = std::min<size_t>(bytes.size(), data[0] + 256U * data[1]);
  const absl::StatusOr<std::unique_ptr<qb::npu::Simulator>> simulator =
      qb::npu::Simulator::Create(bytes.substr(weights), bytes.substr(0, weights));
  // Larger ones take long, not other paths.
  if (simulator.ok() && WorkOf(**simulator) < kMostBytes) {
    RunOnce(**simulator);
  }
  return 0;
}
