// Times runs of an executable on the simulator, samples in parallel.
//
//   qb_simulator_bench MXQ SAMPLES THREADS
//
// One line of JSON on standard output: wall and CPU seconds of SAMPLES runs on THREADS workers,
// after two runs of each worker that warm up. Inputs are float32 noise; from it to codes and back
// counts.
#include <ctime>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/time/clock.h"

#include "core/base/json.h"
#include "core/base/status_macros.h"
#include "core/base/thread_pool.h"
#include "core/evaluate/staged_model.h"
#include "core/package/mxq.h"

namespace qb {
namespace {

double ProcessCpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

std::vector<Tensor> RandomInputs(const std::vector<InputSpec>& specs) {
  std::vector<Tensor> inputs;
  inputs.reserve(specs.size());
  uint32_t state = 1;
  for (const InputSpec& spec : specs) {
    Tensor tensor = Tensor::Allocate(spec.type);
    if (tensor.dtype() == DType::kFloat32) {
      for (int64_t i = 0; i < tensor.elements(); ++i) {
        state = state * 1664525u + 1013904223u;
        tensor.mutable_data<float>()[i] = static_cast<float>(state >> 8) * 0x1p-23f - 1.0f;
      }
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

absl::Status Measure(const std::string& path, int64_t samples, int threads) {
  QB_ASSIGN_OR_RETURN(const std::unique_ptr<MxqFile> file, MxqFile::Open(path));
  QB_ASSIGN_OR_RETURN(const Executable executable, OpenExecutable(*file, "", threads));
  const std::vector<Tensor> inputs = RandomInputs(executable.inputs);
  std::vector<absl::Status> failures(static_cast<size_t>(threads));
  ThreadPool pool(threads);
  const auto body = [&](int64_t /*sample*/, int worker) {
    failures[static_cast<size_t>(worker)].Update(executable.model->Run(inputs, worker).status());
  };
  pool.ParallelFor(2 * threads, body);
  const absl::Time start = absl::Now();
  const double cpu = ProcessCpuSeconds();
  pool.ParallelFor(samples, body);
  const Json result = Json::Object()
                          .Set("samples", samples)
                          .Set("threads", threads)
                          .Set("wall_s", absl::ToDoubleSeconds(absl::Now() - start))
                          .Set("cpu_s", ProcessCpuSeconds() - cpu);
  std::cout << result.Dump() << "\n";
  for (const absl::Status& failure : failures) {
    QB_RETURN_IF_ERROR(failure);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace qb

int main(int argc, char** argv) {
  int64_t samples = 0;
  int threads = 0;
  if (argc != 4 || !absl::SimpleAtoi(argv[2], &samples) || !absl::SimpleAtoi(argv[3], &threads) ||
      threads < 1) {
    std::cerr << "usage: qb_simulator_bench MXQ SAMPLES THREADS\n";
    return 2;
  }
  const absl::Status status = qb::Measure(argv[1], samples, threads);
  if (!status.ok()) {
    std::cerr << status.ToString() << "\n";
    return 1;
  }
  return 0;
}
