// Times float inferences of a model in our executor, samples in parallel.
//
//   qb_executor_bench MODEL SAMPLES THREADS [--observe]
//
// One line of JSON on standard output: wall and CPU seconds of SAMPLES runs on THREADS contexts,
// after one run of each context that warms up; bytes of the arena and of packed weights; the lower
// bound of the arena. --observe looks at every value, as a calibration does, with a function that
// does nothing: the price of not fusing.
#include <ctime>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "core/base/json.h"
#include "core/base/status_macros.h"
#include "core/base/thread_pool.h"
#include "core/execute/executor.h"
#include "core/frontends/onnx/onnx_import.h"
#include "core/passes/pipeline.h"

namespace qb {
namespace {

struct BenchOptions {
  std::string model;
  int64_t samples = 1;
  int threads = 1;
  bool observe = false;
};

double ProcessCpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

std::vector<Tensor> RandomInputs(const Graph& graph) {
  std::vector<Tensor> inputs;
  uint32_t state = 1;
  for (const Node* input : graph.inputs()) {
    Tensor tensor = Tensor::Allocate(input->type());
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

absl::StatusOr<std::unique_ptr<FloatExecutor>> MakeExecutor(const Graph& graph, bool observe) {
  ExecutorOptions options;
  for (const Node* node : graph.nodes()) {
    if (observe && !node->is_constant()) {
      options.observed.push_back(node);
    }
  }
  return CreateCpuExecutor(graph, options);
}

absl::Status Measure(const BenchOptions& options) {
  QB_ASSIGN_OR_RETURN(ImportedModel imported, ImportOnnx(options.model, {}));
  QB_RETURN_IF_ERROR(RunPasses(imported.graph));
  QB_ASSIGN_OR_RETURN(const std::unique_ptr<FloatExecutor> executor,
                      MakeExecutor(imported.graph, options.observe));
  const std::vector<Tensor> inputs = RandomInputs(imported.graph);
  RunOptions run;
  if (options.observe) {
    run.observer = [](const Node&, const Tensor&) {};
  }
  std::vector<std::unique_ptr<FloatExecutor::Context>> contexts;
  std::vector<absl::Status> failures(static_cast<size_t>(options.threads));
  ThreadPool pool(options.threads);
  for (int t = 0; t < options.threads; ++t) {
    contexts.push_back(executor->NewContext());
  }
  const auto body = [&](int64_t /*sample*/, int worker) {
    const size_t w = static_cast<size_t>(worker);
    std::vector<Tensor> outputs;
    failures[w].Update(executor->Run(*contexts[w], inputs, run, &outputs));
  };
  pool.ParallelFor(2 * options.threads, body);
  const absl::Time start = absl::Now();
  const double cpu = ProcessCpuSeconds();
  pool.ParallelFor(options.samples, body);
  Json result = Json::Object();
  result.Set("samples", options.samples);
  result.Set("threads", options.threads);
  result.Set("wall_s", absl::ToDoubleSeconds(absl::Now() - start));
  result.Set("cpu_s", ProcessCpuSeconds() - cpu);
  result.Set("arena_bytes", executor->arena_bytes());
  result.Set("largest_live_bytes", executor->largest_live_bytes());
  result.Set("packed_weight_bytes", executor->packed_weight_bytes());
  std::cout << result.Dump() << "\n";
  for (const absl::Status& failure : failures) {
    QB_RETURN_IF_ERROR(failure);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace qb

int main(int argc, char** argv) {
  qb::BenchOptions options;
  if (argc < 4 || !absl::SimpleAtoi(argv[2], &options.samples) ||
      !absl::SimpleAtoi(argv[3], &options.threads) || options.threads < 1) {
    std::cerr << "usage: qb_executor_bench MODEL SAMPLES THREADS [--observe]\n";
    return 2;
  }
  options.model = argv[1];
  options.observe = argc > 4 && absl::string_view(argv[4]) == "--observe";
  const absl::Status status = qb::Measure(options);
  if (!status.ok()) {
    std::cerr << status.ToString() << "\n";
    return 1;
  }
  return 0;
}
