// The files of --calib-stats-load and --calib-stats-save, and what of them belongs to a part.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/calibration/statistics_file.h"
#include "core/dataset/dataset.h"
#include "core/ir/node.h"
#include "core/package/mblt.h"
#include "core/quantization/quantize.h"

namespace qb {

// Both paths may be empty. Errors come before any work: a file that cannot be read or is none of
// statistics.
class StatisticsFiles {
 public:
  // Errors: ARGUMENT_ERROR naming the file.
  static absl::StatusOr<StatisticsFiles> Open(const std::string& load_path,
                                              const std::string& save_path);

  // The parts that come are those of this model on these samples. Errors: those of
  // Dataset::ContentHash.
  absl::Status Use(const MbltFile& model, const Dataset& samples);

  // For one part; `part` tells it from the others of the model. The pointers live as long as this
  // object. Errors: ARGUMENT_ERROR when the loaded file is of another model or of other samples.
  absl::StatusOr<StatisticsReuse> ForPart(const std::string& part);

  // Writes the file of all parts so far, if one is wanted. Errors: OUTPUT_WRITE_ERROR.
  absl::Status Save() const;

 private:
  StatisticsFiles(std::string load_path, std::string save_path)
      : load_path_(std::move(load_path)), save_path_(std::move(save_path)) {}

  std::string load_path_, save_path_;
  std::string model_, data_;
  std::vector<KeptStatistics> loaded_;
  std::vector<std::unique_ptr<KeptStatistics>> saved_;
};

// Names a part by what enters and leaves it.
std::string PartKey(const std::string& name, const std::vector<const Node*>& inputs,
                    const std::vector<const Node*>& outputs);

}  // namespace qb
