#include "core/dataset/dataset.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/failure.h"
#include "core/base/file_map.h"
#include "core/base/status_macros.h"
#include "core/dataset/npy.h"
#include "core/dataset/sample_listing.h"

namespace qb {
namespace {

constexpr size_t kMostNamedSamples = 20;

// One array of a sample: where it is and how it is read.
struct InputFile {
  std::string path;
  SampleReading reading;
};

struct Sample {
  std::string name;
  std::vector<InputFile> files;  // in input order
};

class DirectoryDataset final : public Dataset {
 public:
  DirectoryDataset(std::vector<InputSpec> inputs, std::vector<Sample> samples)
      : inputs_(std::move(inputs)), samples_(std::move(samples)) {}

  int64_t size() const override { return static_cast<int64_t>(samples_.size()); }
  const std::string& name(int64_t index) const override {
    return samples_[static_cast<size_t>(index)].name;
  }
  absl::StatusOr<std::vector<Tensor>> Load(int64_t index) const override {
    const Sample& sample = samples_[static_cast<size_t>(index)];
    std::vector<Tensor> values;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const absl::StatusOr<Tensor> array = ReadNpy(sample.files[i].path);
      if (!array.ok()) {
        return Changed(sample.files[i].path, array.status().message());
      }
      // The file was checked when the set was opened; it may have been replaced since.
      const absl::StatusOr<SampleReading> reading = ChooseReading(array->type(), inputs_[i]);
      if (!reading.ok()) {
        return Changed(sample.files[i].path, reading.status().message());
      }
      values.push_back(ApplyReading(*array, *reading, inputs_[i]));
      if (FirstNonFinite(values.back()) >= 0) {
        return Changed(sample.files[i].path, "found NaN or infinity");
      }
    }
    return values;
  }

 private:
  static absl::Status Changed(const std::string& path, absl::string_view what) {
    return Failure(FailureCode::kCalibrationDataError,
                   absl::StrCat("calibration data: '", path, "': ", what));
  }

  std::vector<InputSpec> inputs_;
  std::vector<Sample> samples_;
};

// The .npy files of a sample's folder, sorted.
absl::StatusOr<std::vector<std::string>> ArraysIn(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (absl::EndsWith(entry->path().string(), ".npy")) {
      paths.push_back(entry->path().string());
    }
  }
  if (error) {
    return absl::InvalidArgumentError(absl::StrCat("cannot be read: ", error.message()));
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string InputNames(absl::Span<const InputSpec> inputs) {
  return absl::StrJoin(inputs, ", ", [](std::string* out, const InputSpec& input) {
    absl::StrAppend(out, "'", input.name, "'");
  });
}

// The input that an array of a sample folder belongs to: the one it is named after, else the only
// one that its shape fits.
absl::StatusOr<size_t> MatchInput(absl::string_view stem, const TensorType& type,
                                  absl::Span<const InputSpec> inputs) {
  std::vector<size_t> fitting;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].name == stem) {
      return i;
    }
    if (ChooseReading(type, inputs[i]).ok()) {
      fitting.push_back(i);
    }
  }
  if (fitting.size() == 1) {
    return fitting[0];
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", stem, ".npy' with ", type.ToString(), " fits ",
                   fitting.empty() ? "no input" : "several inputs, so its name must be an input's",
                   "; the inputs are ", InputNames(inputs)));
}

absl::StatusOr<TensorType> TypeOf(const std::string& path) {
  QB_ASSIGN_OR_RETURN(const FileMap file, FileMap::Open(path));
  QB_ASSIGN_OR_RETURN(NpyHeader header, ParseNpyHeader(file.bytes()));
  return header.type;
}

// Which file holds which input.
absl::StatusOr<std::vector<std::string>> FilesOf(const SamplePath& sample,
                                                 absl::Span<const InputSpec> inputs) {
  if (!sample.is_folder) {
    if (inputs.size() == 1) {
      return std::vector<std::string>{sample.path};
    }
    return absl::InvalidArgumentError(
        absl::StrCat("found one file, expected a folder with a .npy for each of the inputs ",
                     InputNames(inputs)));
  }
  QB_ASSIGN_OR_RETURN(const std::vector<std::string> arrays, ArraysIn(sample.path));
  std::vector<std::string> files(inputs.size());
  for (const std::string& path : arrays) {
    QB_ASSIGN_OR_RETURN(const TensorType type, TypeOf(path));
    const std::string stem = std::filesystem::path(path).stem().string();
    QB_ASSIGN_OR_RETURN(const size_t input, MatchInput(stem, type, inputs));
    if (!files[input].empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", files[input], "' and '", path, "' both hold input '", inputs[input].name, "'"));
    }
    files[input] = path;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (files[i].empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("found no .npy for input '", inputs[i].name, "'"));
    }
  }
  return files;
}

// Reads the whole array, for NaN and infinities. Errors without the path.
absl::StatusOr<SampleReading> CheckFile(const std::string& path, const InputSpec& input) {
  QB_ASSIGN_OR_RETURN(const FileMap file, FileMap::Open(path));
  QB_ASSIGN_OR_RETURN(const NpyHeader header, ParseNpyHeader(file.bytes()));
  QB_ASSIGN_OR_RETURN(SampleReading reading, ChooseReading(header.type, input));
  if (IsFloat(header.type.dtype)) {
    QB_ASSIGN_OR_RETURN(const Tensor array, ParseNpy(file.bytes()));
    const int64_t bad = FirstNonFinite(ApplyReading(array, reading, input));
    if (bad >= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("found NaN or infinity at element ", bad, ", expected finite numbers"));
    }
  }
  return reading;
}

absl::StatusOr<Sample> CheckSample(const SamplePath& found, absl::Span<const InputSpec> inputs) {
  Sample sample{found.name, {}};
  absl::StatusOr<std::vector<std::string>> files = FilesOf(found, inputs);
  if (!files.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", found.path, "': ", files.status().message()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    absl::StatusOr<SampleReading> reading = CheckFile((*files)[i], inputs[i]);
    if (!reading.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", (*files)[i], "': ", reading.status().message()));
    }
    sample.files.push_back({(*files)[i], *std::move(reading)});
  }
  return sample;
}

absl::Status BadSamples(const std::string& path, size_t total,
                        const std::vector<std::string>& problems) {
  std::string message = absl::StrCat("calibration data: ", problems.size(), " of ", total,
                                     " samples of '", path, "' cannot be used:");
  for (size_t i = 0; i < std::min(problems.size(), kMostNamedSamples); ++i) {
    absl::StrAppend(&message, "\n  ", problems[i]);
  }
  if (problems.size() > kMostNamedSamples) {
    absl::StrAppend(&message, "\n  and ", problems.size() - kMostNamedSamples, " more");
  }
  return Failure(FailureCode::kCalibrationDataError, message);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> OpenDataset(const std::string& path,
                                                     absl::Span<const InputSpec> inputs,
                                                     ProgressSink& sink) {
  QB_ASSIGN_OR_RETURN(const std::vector<SamplePath> listed, ListSamples(path));
  std::vector<Sample> samples;
  std::vector<std::string> problems;
  std::set<std::string> notes;
  for (const SamplePath& entry : listed) {
    absl::StatusOr<Sample> sample = CheckSample(entry, inputs);
    if (!sample.ok()) {
      problems.emplace_back(sample.status().message());
      continue;
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      const std::string& note = sample->files[i].reading.note;
      if (!note.empty() && notes.insert(absl::StrCat(inputs[i].name, note)).second) {
        sink.OnLog(
            LogLevel::kInfo, "dataset",
            absl::StrCat("input '", inputs[i].name, "': ", note, " (sample '", sample->name, "')"));
      }
    }
    samples.push_back(*std::move(sample));
  }
  if (!problems.empty()) {
    return BadSamples(path, listed.size(), problems);
  }
  return std::make_unique<DirectoryDataset>(std::vector<InputSpec>(inputs.begin(), inputs.end()),
                                            std::move(samples));
}

}  // namespace qb
