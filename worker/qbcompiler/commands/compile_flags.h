// Flags that compile, parse and quantize share, and what they resolve to.
#pragma once

#include <string>

#include "absl/status/statusor.h"

#include "core/base/flags.h"
#include "core/compiler/compile.h"
#include "core/config/compile_config.h"
#include "worker/qbcompiler/reporter.h"

namespace qb::worker {

inline constexpr FlagDef kModelFlag = {"model", 'm', FlagKind::kValue, "FILE",
                                       "the trained model (.onnx; external data beside it)"};
inline constexpr FlagDef kMbltFlag = {"mblt", 0, FlagKind::kValue, "FILE",
                                      "a model that `parse` wrote"};
inline constexpr FlagDef kMbltsFlag = {
    "mblt", 0, FlagKind::kRepeated, "FILE",
    "a model that `parse` wrote; several are one model at several sizes"};
inline constexpr FlagDef kOutputFlag = {"output", 'o', FlagKind::kValue, "FILE",
                                        "where the result goes; it appears only when complete"};
inline constexpr FlagDef kBackendFlag = {"backend", 0, FlagKind::kValue, "NAME",
                                         "kind of model; default onnx"};
inline constexpr FlagDef kTargetFlag = {"target-device", 0, FlagKind::kValue, "NAME",
                                        "NPU target, e.g. aries-rb"};
inline constexpr FlagDef kDeviceFlag = {
    "device", 0, FlagKind::kValue, "gpu|cpu",
    "where to compute; gpu falls back to the CPU with a warning"};
inline constexpr FlagDef kRequireDeviceFlag = {"require-device", 0, FlagKind::kSwitch, "",
                                               "fail instead of falling back to the CPU"};
inline constexpr FlagDef kOffloadFlag = {"cpu-offload", 0, FlagKind::kNegatable, "",
                                         "run layers that the NPU does not support on the CPU"};
inline constexpr FlagDef kPresetFlag = {"config-preset", 0, FlagKind::kValue, "NAME",
                                        "settings by name; see `qbcompiler presets`"};
inline constexpr FlagDef kConfigFlag = {"compile-config", 'c', FlagKind::kValue, "FILE",
                                        "settings as YAML or JSON"};
inline constexpr FlagDef kCalibFlag = {
    "calib-data-path", 0, FlagKind::kRepeated, "DIR",
    "calibration samples: a folder, or a .txt or .json listing; one for each size"};
inline constexpr FlagDef kRandomFlag = {"use-random-calib", 0, FlagKind::kNegatable, "",
                                        "calibrate on noise; for smoke tests only"};
inline constexpr FlagDef kSavePathFlag = {"config-save-path", 0, FlagKind::kValue, "FILE",
                                          "write the resolved settings there before calibration"};
inline constexpr FlagDef kReportDirFlag = {
    "report-dir", 0, FlagKind::kValue, "DIR",
    "also write report.html, report.json and graph.json there, with figures of each layer"};
inline constexpr FlagDef kSchemeFlag = {"inference-scheme", 0, FlagKind::kValue, "NAME",
                                        "core mode: single, multi, global4, global8, all"};
inline constexpr FlagDef kShapeFlag = {"input-shape", 0, FlagKind::kRepeated, "NAME:1x3x224x224",
                                       "shape of an input that leaves dimensions open; several "
                                       "sizes with commas between them go into one executable"};
inline constexpr FlagDef kThreadsFlag = {"threads", 0, FlagKind::kValue, "N",
                                         "threads to use; default: all that the process may use"};
inline constexpr FlagDef kEvalDataFlag = {
    "eval-data", 0, FlagKind::kValue, "DIR",
    "samples for the check after the compile; default: up to 8 calibration samples"};
inline constexpr FlagDef kEvalLabelsFlag = {"eval-labels", 0, FlagKind::kValue, "FILE",
                                            "labels of those samples (CSV: sample,label)"};
inline constexpr FlagDef kStatsSaveFlag = {
    "calib-stats-save", 0, FlagKind::kValue, "FILE",
    "write what calibration measured there, for later compiles of this model on these samples"};
inline constexpr FlagDef kStatsLoadFlag = {
    "calib-stats-load", 0, FlagKind::kValue, "FILE",
    "take what an earlier compile of this model on these samples measured"};

// Reads the config file, applies preset and flags, logs warnings; turns debug messages on when the
// setting `debug` asks for them. Errors: CONFIG_ERROR, TARGET_ERROR, ARGUMENT_ERROR.
absl::StatusOr<CompileConfig> ResolveConfig(const ParsedFlags& flags, Reporter& reporter);

// The value of a flag that must be given. Errors: ARGUMENT_ERROR.
absl::StatusOr<std::string> Required(const ParsedFlags& flags, absl::string_view name);
// --target-device; the error lists the devices.
absl::StatusOr<std::string> RequiredTarget(const ParsedFlags& flags);
// --threads, else the config's, else all; never more than the process may use.
absl::StatusOr<int> ThreadCount(const ParsedFlags& flags, int64_t configured);
// --input-shape, for each size of the model that it names; one without shapes when the flag is not
// given. Errors: ARGUMENT_ERROR.
absl::StatusOr<std::vector<SizeShapes>> InputSizes(const ParsedFlags& flags);
// The same where one size is accepted.
absl::StatusOr<SizeShapes> InputShapes(const ParsedFlags& flags);

// Without the output: only `parse` has one.
absl::StatusOr<ParseRequest> MakeParseRequest(const ParsedFlags& flags,
                                              const CompileConfig& config);
absl::StatusOr<QuantizeRequest> MakeQuantizeRequest(const ParsedFlags& flags,
                                                    const CompileConfig& config);

// The result line for programs, and the summary for people.
Json ResultFields(const CompileResult& result);
std::string ResultText(const CompileResult& result);

}  // namespace qb::worker
