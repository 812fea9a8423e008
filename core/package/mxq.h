// The .mxq file: an executable for the abstract machine.
//
//   manifest.json        format, compiler, target, core modes, inputs, outputs, provenance
//   config.yaml          the resolved config, without what must not change the bytes
//   program/<mode>.pb    the program of one core mode (core/npu/program.proto)
//   weights.bin          weights, biases and tables that the programs point into
//   report.json          quantization and support by layer
//
// With CPU offloading there are also `cpu_head.onnx`, `cpu_tail.onnx`, ... with their constants in
// `<name>.weights.bin`, and further NPU parts in folders of their own; with several sizes the later
// ones are in folders `size_2/`, .... The manifest's `stages` and `sizes` say how they go together
// (core/package/mxq_stages.h).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "core/base/json.h"
#include "core/package/mxq_stages.h"

namespace qb {

struct MxqContents {
  Json manifest;
  std::string config_yaml;
  Json report;
  std::map<std::string, std::string> entries;  // programs, weights, CPU graphs, by name
};

// Errors: OUTPUT_WRITE_ERROR.
absl::Status WriteMxq(const std::string& path, const MxqContents& contents);

// An opened file; the views live as long as it does.
class MxqFile {
 public:
  // Errors: MODEL_PARSE_ERROR.
  static absl::StatusOr<std::unique_ptr<MxqFile>> Open(const std::string& path);
  // For bytes that outlive the object.
  static absl::StatusOr<std::unique_ptr<MxqFile>> FromBytes(absl::string_view bytes);
  ~MxqFile();

  const Json& manifest() const;
  const Json& report() const;
  absl::string_view config_yaml() const;
  absl::string_view weights() const;
  // Of the first NPU part and the first size.
  const std::map<std::string, absl::string_view>& programs() const;
  // What runs, by size; at least one, each with at least one stage.
  const std::vector<MxqSize>& sizes() const;

 private:
  struct State;
  explicit MxqFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace qb
