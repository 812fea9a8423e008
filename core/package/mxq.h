// The .mxq file: an executable for the abstract machine.
//
//   manifest.json        format, compiler, target, core modes, inputs, outputs, provenance
//   config.yaml          the resolved config, without what must not change the bytes
//   program/<mode>.pb    the program of one core mode (core/npu/program.proto)
//   weights.bin          weights, biases and tables that the programs point into
//   report.json          quantization and support by layer
#pragma once

#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/json.h"

namespace qb {

struct MxqContents {
  Json manifest;
  std::string config_yaml;
  std::map<std::string, std::string> programs;  // by core mode
  std::string weights;
  Json report;
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
  const std::map<std::string, absl::string_view>& programs() const;

 private:
  struct State;
  explicit MxqFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace qb
