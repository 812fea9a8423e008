#include "core/tuning/network_score.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/status_macros.h"
#include "core/base/thread_pool.h"
#include "core/execute/executor.h"
#include "core/integer/run_layer.h"

namespace qb {
namespace {

absl::StatusOr<std::vector<Tensor>> RunNetworkOn(const integer::NetworkRunner& runner,
                                                 const integer::Network& network,
                                                 const std::vector<Tensor>& inputs) {
  std::vector<const void*> in;
  in.reserve(inputs.size());
  for (const Tensor& input : inputs) {
    in.push_back(input.raw());
  }
  std::vector<Tensor> outputs;
  std::vector<void*> out;
  for (const int output : network.outputs) {
    const integer::TensorInfo& info = network.tensors[static_cast<size_t>(output)];
    outputs.push_back(Tensor::Allocate({info.dtype, info.shape}));
    out.push_back(outputs.back().mutable_raw());
  }
  QB_RETURN_IF_ERROR(runner.Run(in, absl::MakeSpan(out)));
  return outputs;
}

// body(sample, worker) for each; the first error in the order of samples.
template <typename Body>
absl::Status ForEachSample(const Dataset& dataset, int threads, const CancelToken& cancel,
                           const Body& body) {
  std::vector<absl::Status> statuses(static_cast<size_t>(dataset.size()), absl::OkStatus());
  ThreadPool pool(static_cast<int>(std::min<int64_t>(threads, dataset.size())));
  pool.ParallelFor(dataset.size(), [&](int64_t sample, int worker) {
    absl::Status& status = statuses[static_cast<size_t>(sample)];
    status = cancel.Check();
    if (status.ok()) {
      status = body(sample, worker);
    }
  });
  for (const absl::Status& status : statuses) {
    QB_RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

}  // namespace

void AddSums(const OutputSums& of_sample, OutputSums& total) {
  total.signal += of_sample.signal;
  total.noise += of_sample.noise;
  total.other += of_sample.other;
  total.product += of_sample.product;
  total.rows += of_sample.rows;
  total.equal_rows += of_sample.equal_rows;
}

NetworkScore ScoreOf(const std::vector<OutputSums>& sums) {
  NetworkScore score;
  for (const OutputSums& output : sums) {
    score.sqnr_db = std::min(score.sqnr_db, SqnrDb(output.signal, output.noise));
    const double norm = std::sqrt(output.signal) * std::sqrt(output.other);
    const double without_norm = output.noise > 0 ? 0.0 : 1.0;
    score.cosine = std::min(score.cosine, norm > 0 ? output.product / norm : without_norm);
    if (output.rows > 0) {
      score.has_classes = true;
      score.agreement = std::min(score.agreement, static_cast<double>(output.equal_rows) /
                                                      static_cast<double>(output.rows));
    }
  }
  return score;
}

absl::StatusOr<std::unique_ptr<NetworkJudge>> NetworkJudge::Create(const Graph& graph,
                                                                   const Dataset& dataset,
                                                                   int threads,
                                                                   const CancelToken& cancel) {
  std::unique_ptr<NetworkJudge> judge(new NetworkJudge(dataset, threads));
  QB_ASSIGN_OR_RETURN(const std::unique_ptr<FloatExecutor> executor, CreateCpuExecutor(graph));
  judge->expected_.resize(static_cast<size_t>(dataset.size()));
  std::vector<std::unique_ptr<FloatExecutor::Context>> contexts(static_cast<size_t>(threads));
  const auto run = [&](int64_t sample, int worker) -> absl::Status {
    auto& context = contexts[static_cast<size_t>(worker)];
    if (context == nullptr) {
      context = executor->NewContext();
    }
    QB_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs, dataset.Load(sample));
    return executor->Run(*context, inputs, {}, &judge->expected_[static_cast<size_t>(sample)]);
  };
  QB_RETURN_IF_ERROR(ForEachSample(dataset, threads, cancel, run));
  return judge;
}

absl::StatusOr<NetworkScore> NetworkJudge::Judge(const integer::Network& network,
                                                 const CancelToken& cancel) const {
  QB_ASSIGN_OR_RETURN(const integer::NetworkRunner runner, integer::NetworkRunner::Create(network));
  std::vector<std::vector<OutputSums>> by_sample(expected_.size());
  const auto run = [&](int64_t sample, int) -> absl::Status {
    const std::vector<Tensor>& expected = expected_[static_cast<size_t>(sample)];
    QB_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs, dataset_.Load(sample));
    QB_ASSIGN_OR_RETURN(const std::vector<Tensor> got, RunNetworkOn(runner, network, inputs));
    for (size_t i = 0; i < got.size(); ++i) {
      by_sample[static_cast<size_t>(sample)].push_back(CompareOutputs(expected[i], got[i]));
    }
    return absl::OkStatus();
  };
  QB_RETURN_IF_ERROR(ForEachSample(dataset_, threads_, cancel, run));
  std::vector<OutputSums> total(network.outputs.size());
  for (const std::vector<OutputSums>& sums : by_sample) {
    for (size_t i = 0; i < sums.size(); ++i) {
      AddSums(sums[i], total[i]);
    }
  }
  return ScoreOf(total);
}

}  // namespace qb
