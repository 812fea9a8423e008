#include "core/compiler/prefix_dataset.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"

#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/execute/executor.h"
#include "core/partition/part_graph.h"

namespace qb {
namespace {

class PrefixDataset final : public Dataset {
 public:
  PrefixDataset(const Dataset& dataset, Graph prefix)
      : dataset_(dataset), prefix_(std::move(prefix)) {}

  absl::Status Prepare() {
    QB_ASSIGN_OR_RETURN(executor_, CreateCpuExecutor(prefix_));
    return absl::OkStatus();
  }

  int64_t size() const override { return dataset_.size(); }
  const std::string& name(int64_t index) const override { return dataset_.name(index); }

  // The prefix is a function of the sample, which may know its hash already.
  absl::StatusOr<uint64_t> ContentHash(int64_t index) const override {
    return dataset_.ContentHash(index);
  }

  absl::StatusOr<std::vector<Tensor>> Load(int64_t index) const override {
    QB_ASSIGN_OR_RETURN(const std::vector<Tensor> sample, dataset_.Load(index));
    std::unique_ptr<FloatExecutor::Context> context = TakeContext();
    std::vector<Tensor> values;
    const absl::Status status = executor_->Run(*context, sample, RunOptions{}, &values);
    GiveBack(std::move(context));
    if (!status.ok()) {
      return Failure(FailureCode::kCalibrationDataError,
                     absl::StrCat("sample '", name(index), "': ", status.message()));
    }
    return values;
  }

 private:
  std::unique_ptr<FloatExecutor::Context> TakeContext() const {
    absl::MutexLock lock(&mutex_);
    if (idle_.empty()) {
      return executor_->NewContext();
    }
    std::unique_ptr<FloatExecutor::Context> context = std::move(idle_.back());
    idle_.pop_back();
    return context;
  }
  void GiveBack(std::unique_ptr<FloatExecutor::Context> context) const {
    absl::MutexLock lock(&mutex_);
    idle_.push_back(std::move(context));
  }

  const Dataset& dataset_;
  const Graph prefix_;
  std::unique_ptr<FloatExecutor> executor_;
  mutable absl::Mutex mutex_;
  mutable std::vector<std::unique_ptr<FloatExecutor::Context>> idle_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> MakePrefixDataset(const Dataset& dataset,
                                                           const Graph& graph,
                                                           absl::Span<const Node* const> values) {
  const std::vector<const Node*> inputs(graph.inputs().begin(), graph.inputs().end());
  auto prefixed =
      std::make_unique<PrefixDataset>(dataset, CutOutGraph(graph, {"calibration", inputs, values}));
  QB_RETURN_IF_ERROR(prefixed->Prepare());
  return std::unique_ptr<Dataset>(std::move(prefixed));
}

}  // namespace qb
