// What a quantization works on: opened, and known to be good before work begins.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/compiler/compile.h"
#include "core/compiler/kept_statistics.h"
#include "core/compiler/phases.h"
#include "core/compiler/placement.h"
#include "core/config/compile_config.h"
#include "core/dataset/dataset.h"
#include "core/dataset/folded_inputs.h"
#include "core/dataset/labels.h"
#include "core/package/mblt.h"
#include "core/quantization/uint8_input.h"
#include "core/target/target_spec.h"

namespace qb {

// The samples of the check after the compile, or null when there are none.
struct CheckData {
  std::unique_ptr<Dataset> own;  // of --eval-data, or some of the calibration's
  const Dataset* dataset = nullptr;
  std::unique_ptr<Labels> labels;
  std::string description;
};

// The model at one size.
struct SizeInputs {
  MbltFile mblt;
  Placement placement;  // of the nodes of mblt.graph
  std::vector<InputSpec> specs;
  DatasetOptions preparation;
  std::vector<Uint8Input> bytes;  // inputs that the executable takes as uint8
  std::unique_ptr<FoldedInputs> folded;
  std::unique_ptr<Dataset> samples;   // as the executable takes them
  std::unique_ptr<Dataset> finished;  // as the model does, where that is something else
  CheckData check_data;

  const Dataset& calibration() const { return finished != nullptr ? *finished : *samples; }
};

// All that a quantization works on, known to be good before work begins.
struct QuantizeInputs {
  std::unique_ptr<StatisticsFiles> statistics;
  const TargetSpec* target = nullptr;
  std::vector<CoreMode> modes;
  std::string device;
  std::vector<SizeInputs> sizes;
};

// The target, after checking that it has the scheme. Errors: those of FindTarget and CheckScheme.
absl::StatusOr<const TargetSpec*> ChooseTarget(const std::string& name,
                                               const CompileConfig& config);

// Writes the settings, as YAML or JSON by the end of `path`, and where each comes from beside them;
// nothing when `path` is empty. Errors: OUTPUT_WRITE_ERROR.
absl::Status SaveConfig(const std::string& path, const CompileConfig& config);

// Fills `inputs` from one .mblt for each size. Writes the settings and the first samples where that
// is asked for. Errors: those of the files, of the settings and of the first samples.
absl::Status PrepareQuantization(const QuantizeRequest& request,
                                 const std::vector<std::string>& mblt_paths,
                                 const CompileConfig& config, Phases& phases,
                                 QuantizeInputs& inputs);

}  // namespace qb
