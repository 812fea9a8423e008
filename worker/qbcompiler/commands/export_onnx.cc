#include <array>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"

#include "core/base/atomic_file.h"
#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/compiler/compile.h"
#include "core/package/export_graph.h"
#include "core/package/export_mxq.h"
#include "core/package/mblt.h"
#include "core/package/mxq.h"
#include "worker/qbcompiler/command.h"
#include "worker/qbcompiler/commands/compile_flags.h"
#include "worker/qbcompiler/commands/model_choice.h"

namespace qb::worker {
namespace {

constexpr auto kFlags = std::to_array<FlagDef>({kMbltFlag, kMxqFlag, kOutputFlag});

absl::StatusOr<std::string> Export(const std::string& mblt, const std::string& mxq) {
  if (mblt.empty() == mxq.empty()) {
    return Failure(FailureCode::kArgumentError, "give exactly one of --mblt and --mxq");
  }
  if (!mblt.empty()) {
    QB_ASSIGN_OR_RETURN(const MbltFile file, ReadMblt(mblt));
    return GraphToPlainOnnx(file.graph);
  }
  QB_ASSIGN_OR_RETURN(const std::unique_ptr<MxqFile> file, MxqFile::Open(mxq));
  return MxqToQdqOnnx(*file);
}

absl::Status Run(CommandContext& context) {
  QB_ASSIGN_OR_RETURN(const std::string output, Required(context.flags, "output"));
  QB_ASSIGN_OR_RETURN(const std::string model,
                      Export(context.flags.Get("mblt"), context.flags.Get("mxq")));
  QB_RETURN_IF_ERROR(
      WithFailureCode(WriteFileAtomically(output, model), FailureCode::kOutputWriteError));
  CompileResult result;
  QB_ASSIGN_OR_RETURN(OutputFile file, DescribeOutput(output));
  result.outputs.push_back(std::move(file));
  result.device = "cpu";
  result.report = Json::Object();
  context.reporter.Result(ResultFields(result), ResultText(result));
  return absl::OkStatus();
}

}  // namespace

const Command& ExportOnnxCommand() {
  static constexpr Command kCommand = {
      "export-onnx", "plain ONNX of an .mblt, QDQ ONNX of an .mxq",
      "Writes a model that ONNX Runtime runs: the simplified float model of an .mblt, or what an "
      ".mxq computes as int8 with QuantizeLinear and DequantizeLinear (signed activations and "
      "weights), layer by layer with the same codes. Example: qbcompiler export-onnx --mxq m.mxq "
      "--output m_qdq.onnx",
      kFlags, Run};
  return kCommand;
}

}  // namespace qb::worker
