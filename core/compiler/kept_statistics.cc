#include "core/compiler/kept_statistics.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/atomic_file.h"
#include "core/base/digest.h"
#include "core/base/failure.h"
#include "core/base/status_macros.h"

namespace qb {
namespace {

// Of the graph and its constants; not of settings and places, which the manifest has too.
std::string ModelDigest(const MbltFile& model) {
  return Sha256Hex(model.manifest["entries"].Dump());
}

// Of the set: neither order nor names matter, as they do not matter to the result.
absl::StatusOr<std::string> DataDigest(const Dataset& samples) {
  std::vector<uint64_t> hashes;
  for (int64_t i = 0; i < samples.size(); ++i) {
    QB_ASSIGN_OR_RETURN(const uint64_t hash, samples.ContentHash(i));
    hashes.push_back(hash);
  }
  std::sort(hashes.begin(), hashes.end());
  return Sha256Hex(absl::StrJoin(hashes, ","));
}

}  // namespace

absl::StatusOr<StatisticsFiles> StatisticsFiles::Open(const std::string& load_path,
                                                      const std::string& save_path) {
  StatisticsFiles files(load_path, save_path);
  if (load_path.empty()) {
    return files;
  }
  const absl::StatusOr<std::string> text = ReadFile(load_path);
  if (!text.ok()) {
    return Failure(FailureCode::kArgumentError,
                   absl::StrCat("--calib-stats-load: ", text.status().message()));
  }
  absl::StatusOr<std::vector<KeptStatistics>> sets = StatisticsFromText(*text);
  if (!sets.ok()) {
    return Failure(FailureCode::kArgumentError,
                   absl::StrCat("--calib-stats-load '", load_path, "': ", sets.status().message()));
  }
  files.loaded_ = *std::move(sets);
  return files;
}

absl::Status StatisticsFiles::Use(const MbltFile& model, const Dataset& samples) {
  if (load_path_.empty() && save_path_.empty()) {
    return absl::OkStatus();
  }
  model_ = ModelDigest(model);
  QB_ASSIGN_OR_RETURN(data_, DataDigest(samples));
  return absl::OkStatus();
}

absl::StatusOr<StatisticsReuse> StatisticsFiles::ForPart(const std::string& part) {
  StatisticsReuse reuse;
  if (!load_path_.empty()) {
    bool same_model = false, same_samples = false;
    for (const KeptStatistics& set : loaded_) {
      same_model = same_model || set.model == model_;
      same_samples = same_samples || (set.model == model_ && set.data == data_);
      if (set.model == model_ && set.data == data_ && set.part == part) {
        reuse.loaded = &set;
      }
    }
    if (reuse.loaded == nullptr) {
      const char* why = same_samples ? "the model was cut into other parts"
                        : same_model ? "they were measured on other samples, or on these with "
                                       "other preprocessing"
                                     : "they were measured on another model";
      return Failure(FailureCode::kArgumentError, absl::StrCat("--calib-stats-load '", load_path_,
                                                               "': these statistics are not "
                                                               "of this compile: ",
                                                               why,
                                                               "; measure anew with "
                                                               "--calib-stats-save"));
    }
  }
  if (!save_path_.empty()) {
    saved_.push_back(std::make_unique<KeptStatistics>());
    reuse.saved = saved_.back().get();
    reuse.saved->model = model_;
    reuse.saved->data = data_;
    reuse.saved->part = part;
  }
  return reuse;
}

absl::Status StatisticsFiles::Save() const {
  if (save_path_.empty()) {
    return absl::OkStatus();
  }
  std::vector<KeptStatistics> sets;
  for (const auto& set : saved_) {
    sets.push_back(*set);
  }
  return WithFailureCode(WriteFileAtomically(save_path_, StatisticsToText(sets)),
                         FailureCode::kOutputWriteError);
}

std::string PartKey(const std::string& name, const std::vector<const Node*>& inputs,
                    const std::vector<const Node*>& outputs) {
  std::string border;
  for (const auto* nodes : {&inputs, &outputs}) {
    absl::StrAppend(&border, nodes->size(), ";");
    for (const Node* node : *nodes) {
      absl::StrAppend(&border, node->name().size(), ":", node->name());
    }
  }
  return absl::StrCat(name, " ", Sha256Hex(border).substr(0, 16));
}

}  // namespace qb
