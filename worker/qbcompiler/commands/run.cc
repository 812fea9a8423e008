#include <algorithm>
#include <array>
#include <atomic>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/atomic_file.h"
#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/base/thread_pool.h"
#include "core/compiler/input_preparation.h"
#include "core/dataset/npy.h"
#include "worker/qbcompiler/command.h"
#include "worker/qbcompiler/commands/compile_flags.h"
#include "worker/qbcompiler/commands/model_choice.h"

namespace qb::worker {
namespace {

constexpr auto kFlags = std::to_array<FlagDef>(
    {kModelFlag,
     kMbltFlag,
     kMxqFlag,
     kDataFlag,
     kPreprocessingFlag,
     kPresetFlag,
     kConfigFlag,
     {"output", 'o', FlagKind::kValue, "DIR",
      "one .npy a sample; with several outputs one folder a sample, one .npy an output"},
     kCoreModeFlag,
     kShapeFlag,
     kThreadsFlag});

absl::StatusOr<OpenedModel> Open(const ParsedFlags& flags, int threads) {
  const std::string model = flags.Get("model");
  const std::string mblt = flags.Get("mblt");
  const std::string mxq = flags.Get("mxq");
  if ((model.empty() ? 0 : 1) + (mblt.empty() ? 0 : 1) + (mxq.empty() ? 0 : 1) != 1) {
    return Failure(FailureCode::kArgumentError, "give exactly one of --model, --mblt and --mxq");
  }
  if (!mxq.empty()) {
    return OpenExecutable(mxq, flags.Get("core-mode"), threads, flags.Get("data"));
  }
  return OpenFloatModel(model.empty() ? mblt : model, flags, threads);
}

absl::Status WriteSample(const OpenedModel& opened, const std::vector<Tensor>& outputs,
                         const std::string& name, const std::string& folder) {
  const std::string base = absl::StrCat(folder, "/", FileStem(name));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string path =
        outputs.size() == 1 ? absl::StrCat(base, ".npy")
                            : absl::StrCat(base, "/", FileStem(opened.outputs[i].name), ".npy");
    QB_RETURN_IF_ERROR(WithFailureCode(WriteFileAtomically(path, SerializeNpy(outputs[i])),
                                       FailureCode::kOutputWriteError));
  }
  return absl::OkStatus();
}

// Samples [first, end), as many as the model takes at once.
struct Group {
  int64_t first, end;
};
absl::Status RunGroup(const OpenedModel& opened, const Dataset& dataset, const Group& group,
                      int worker, const std::string& folder) {
  std::vector<std::vector<Tensor>> inputs;
  for (int64_t index = group.first; index < group.end; ++index) {
    QB_ASSIGN_OR_RETURN(std::vector<Tensor> sample, dataset.Load(index));
    inputs.push_back(std::move(sample));
  }
  QB_ASSIGN_OR_RETURN(const std::vector<std::vector<Tensor>> outputs,
                      opened.model->RunBatch(inputs, worker));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = dataset.name(group.first + static_cast<int64_t>(i));
    QB_RETURN_IF_ERROR(WriteSample(opened, outputs[i], name, folder));
  }
  return absl::OkStatus();
}

absl::Status Run(CommandContext& context) {
  QB_ASSIGN_OR_RETURN(const int threads, ThreadCount(context.flags, 0));
  QB_ASSIGN_OR_RETURN(const std::string data, Required(context.flags, "data"));
  QB_ASSIGN_OR_RETURN(const std::string folder, Required(context.flags, "output"));
  QB_ASSIGN_OR_RETURN(const OpenedModel opened, Open(context.flags, threads));
  QB_ASSIGN_OR_RETURN(const DatasetOptions preparation,
                      DataOptions(context, opened.mxq.get(), opened.inputs, threads));
  context.reporter.Plan({{"samples", 0.1}, {"run", 0.9}});
  context.reporter.OnStage("samples");
  QB_ASSIGN_OR_RETURN(const std::unique_ptr<Dataset> dataset,
                      OpenDataset(data, opened.inputs, preparation, context.reporter));
  context.reporter.OnStage("run");
  std::vector<absl::Status> statuses(static_cast<size_t>(dataset->size()), absl::OkStatus());
  std::atomic<int64_t> done{0};
  std::atomic<bool> failed{false};
  ThreadPool pool(threads);
  const int64_t batch = opened.model->batch();
  pool.ParallelFor((dataset->size() + batch - 1) / batch, [&](int64_t group, int worker) {
    if (failed.load() || context.cancel.cancelled()) {
      return;
    }
    const int64_t first = group * batch;
    const int64_t end = std::min(dataset->size(), first + batch);
    absl::Status& status = statuses[static_cast<size_t>(group)];
    status = RunGroup(opened, *dataset, {first, end}, worker, folder);
    if (!status.ok()) {
      failed.store(true);
    }
    context.reporter.OnProgress(done.fetch_add(end - first) + end - first, dataset->size(),
                                "sample");
  });
  QB_RETURN_IF_ERROR(context.cancel.Check());
  for (const absl::Status& status : statuses) {
    QB_RETURN_IF_ERROR(status);
  }
  context.reporter.Result(Json::Object().Set("samples", dataset->size()).Set("folder", folder),
                          absl::StrCat(dataset->size(), " samples -> ", folder, "\n"));
  return absl::OkStatus();
}

}  // namespace

const Command& RunCommand() {
  static constexpr Command kCommand = {
      "run", "run a model on samples",
      "Runs a source model or an .mblt in float, or an .mxq on the bit-exact simulator, and writes "
      "the outputs as .npy files. Example: qbcompiler run --mxq m.mxq --data samples/ --output "
      "results/",
      kFlags, Run};
  return kCommand;
}

}  // namespace qb::worker
