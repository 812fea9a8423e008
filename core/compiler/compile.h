// The entry of the compiler core: model in, .mblt and .mxq out.
//
// compile.cc is the table of contents: a call per phase, and between them the invariant that now
// holds.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/cancel_token.h"
#include "core/base/json.h"
#include "core/base/progress.h"
#include "core/config/compile_config.h"
#include "core/ir/shape.h"

namespace qb {

// Shapes of inputs that leave dimensions open, by input name.
using SizeShapes = std::map<std::string, Shape>;

struct ParseRequest {
  std::string model_path;
  std::string backend = "onnx";
  std::string output_path;  // .mblt
  std::string target;       // device name
  SizeShapes input_shapes;
  // Sizes of the model besides that of input_shapes: they go into one .mxq, and `Parse` writes
  // <stem>_0.mblt, <stem>_1.mblt, ....
  std::vector<SizeShapes> further_sizes;
  int threads = 1;
};

struct QuantizeRequest {
  std::string mblt_path;
  std::vector<std::string> further_mblt_paths;  // the same model at other sizes
  std::string output_path;                      // .mxq
  std::string target;
  std::vector<std::string> calibration_paths;  // one a size, unless use_random_calibration
  std::string evaluation_path;   // empty: the check after the compile uses calibration samples
  std::string labels_path;       // empty: none
  std::string config_save_path;  // empty: none
  // Statistics that an earlier compile of this model on these samples saved, and where to save
  // those of this one (core/calibration/statistics_file.h). Empty: none.
  std::string statistics_load_path, statistics_save_path;
  std::string report_dir;  // folder for the reports of compile_reports.h; empty: none
  bool require_device = false;
  int threads = 1;
};

struct CompileRequest {
  ParseRequest parse;        // output_path is not used: the .mblt is temporary
  QuantizeRequest quantize;  // mblt_path is not used
};

struct OutputFile {
  std::string path;
  std::string sha256;
  int64_t bytes = 0;
};

// Size and digest of a file that was written. Errors: OUTPUT_WRITE_ERROR.
absl::StatusOr<OutputFile> DescribeOutput(const std::string& path);

struct CompileResult {
  std::vector<OutputFile> outputs;
  std::string device;  // "cpu": where it was computed
  Json report;         // accuracy of the check, sizes, phase times, peak memory
};

// Stage names with their share of a typical compile's time, for progress displays.
std::vector<std::pair<std::string, double>> ParseStages();
std::vector<std::pair<std::string, double>> QuantizeStages();
std::vector<std::pair<std::string, double>> CompileStages();

// Imports and simplifies the model and writes the .mblt. Errors: MODEL_PARSE_ERROR,
// UNSUPPORTED_OPERATOR (with all unsupported layers and reasons), TARGET_ERROR, OUTPUT_WRITE_ERROR,
// CANCELLED.
absl::StatusOr<CompileResult> Parse(const ParseRequest& request, const CompileConfig& config,
                                    ProgressSink& sink, const CancelToken& cancel);

// Calibrates, quantizes, schedules and writes the .mxq. Errors: those of Parse on the .mblt, and
// CALIBRATION_DATA_ERROR, ARGUMENT_ERROR, DEVICE_UNAVAILABLE.
absl::StatusOr<CompileResult> Quantize(const QuantizeRequest& request, const CompileConfig& config,
                                       ProgressSink& sink, const CancelToken& cancel);

// Parse into a temporary .mblt beside the output, then Quantize.
absl::StatusOr<CompileResult> Compile(const CompileRequest& request, const CompileConfig& config,
                                      ProgressSink& sink, const CancelToken& cancel);

}  // namespace qb
