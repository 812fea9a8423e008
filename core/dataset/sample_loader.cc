#include "core/dataset/sample_loader.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/status_macros.h"
#include "core/dataset/sample_file.h"

namespace qb {
namespace {

std::string InputNames(absl::Span<const InputSpec> inputs) {
  return absl::StrJoin(inputs, ", ", [](std::string* out, const InputSpec& input) {
    absl::StrAppend(out, "'", input.name, "'");
  });
}

// The files of a sample's folder, sorted. Errors: InvalidArgument without the folder's name.
absl::StatusOr<std::vector<std::string>> FilesIn(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (IsSamplePath(entry->path().string())) {
      paths.push_back(entry->path().string());
    }
  }
  if (error) {
    return absl::InvalidArgumentError(absl::StrCat("cannot be read: ", error.message()));
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

absl::Status At(absl::string_view path, const absl::Status& status) {
  return absl::InvalidArgumentError(absl::StrCat("'", path, "': ", status.message()));
}

std::string Described(const NamedArray& array) {
  return absl::StrCat(array.is_image ? "an image of " : "", array.value.type().ToString());
}

}  // namespace

struct SampleLoader::Source {
  std::string path;
  std::string name;  // of the array or else of the file, to match an input's
  NamedArray array;
  bool named = false;  // by a listing: the name decides alone
};

SampleLoader::SampleLoader(std::vector<InputSpec> inputs, DatasetOptions options)
    : inputs_(std::move(inputs)), options_(std::move(options)) {}

const InputPreparation& SampleLoader::PreparationOf(const InputSpec& input) const {
  const auto found = options_.inputs.find(input.name);
  return found == options_.inputs.end() ? none_ : found->second;
}

absl::StatusOr<std::vector<SampleLoader::Source>> SampleLoader::Read(
    const SamplePath& sample) const {
  // (path, the name that stands for its arrays, whether a listing gave it)
  std::vector<std::pair<std::string, std::string>> files = sample.inputs;
  const bool named = !sample.inputs.empty();
  if (sample.is_folder) {
    absl::StatusOr<std::vector<std::string>> paths = FilesIn(sample.path);
    if (!paths.ok()) {
      return At(sample.path, paths.status());
    }
    for (std::string& path : *paths) {
      files.emplace_back(std::filesystem::path(path).stem().string(), std::move(path));
    }
  } else if (!named) {
    files.emplace_back(std::filesystem::path(sample.path).stem().string(), sample.path);
  }
  std::vector<Source> sources;
  for (const auto& [name, path] : files) {
    absl::StatusOr<std::vector<NamedArray>> arrays = ReadSampleFile(path);
    if (!arrays.ok()) {
      return At(path, arrays.status());
    }
    if (arrays->size() != 1 && (sample.is_folder || named)) {
      return At(path, absl::InvalidArgumentError(absl::StrCat("holds ", arrays->size(),
                                                              " arrays, expected one an input")));
    }
    for (NamedArray& array : *arrays) {
      // Within a folder the file is named after the input, whatever it calls its array.
      const bool own = !array.name.empty() && !sample.is_folder && !named;
      const std::string match = own ? array.name : name;
      sources.push_back({path, match, std::move(array), named});
    }
  }
  return sources;
}

absl::Status SampleLoader::Fits(const NamedArray& array, const InputSpec& input) const {
  const InputPreparation& preparation = PreparationOf(input);
  if (array.is_image || preparation.preprocess) {
    const int64_t rank = array.value.shape().rank();
    if (input.type.shape.rank() < 3 || rank < 2 || rank > 4) {
      return absl::InvalidArgumentError(absl::StrCat("found ", Described(array), ", expected ",
                                                     input.type.ToString(), " of input '",
                                                     input.name, "'"));
    }
    if (preparation.preprocess) {
      return absl::OkStatus();  // its shape is known only after the steps
    }
    std::vector<SampleNote> ignored;
    return PrepareInput(array, input, preparation, options_.image_channels, ignored).status();
  }
  return ChooseReading(array.value.type(), input).status();
}

// The only input that the array fits, or of several the one that bears its name.
absl::StatusOr<size_t> SampleLoader::Match(const Source& source) const {
  std::optional<size_t> called;
  std::vector<size_t> fitting;
  absl::Status mismatch;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const absl::Status status = Fits(source.array, inputs_[i]);
    if (inputs_[i].name == source.name) {
      called = i;
      mismatch = status;
    }
    if (status.ok()) {
      fitting.push_back(i);
    } else if (inputs_.size() == 1) {
      mismatch = status;
    }
  }
  const bool fits_its_name =
      called.has_value() && std::find(fitting.begin(), fitting.end(), *called) != fitting.end();
  if (fits_its_name && (source.named || fitting.size() > 1)) {
    return *called;
  }
  if (source.named && !called.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("there is no input '", source.name,
                                                   "'; the inputs are ", InputNames(inputs_)));
  }
  if (!source.named && fitting.size() == 1) {
    return fitting[0];
  }
  if (!mismatch.ok()) {
    return mismatch;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", source.name, "' with ", Described(source.array), " fits ",
                   fitting.empty() ? "no input" : "several inputs, so its name must be an input's",
                   "; the inputs are ", InputNames(inputs_)));
}

// The sources in the order of the inputs.
absl::StatusOr<std::vector<SampleLoader::Source>> SampleLoader::Pair(
    const SamplePath& sample) const {
  QB_ASSIGN_OR_RETURN(std::vector<Source> sources, Read(sample));
  if (inputs_.size() > 1 && sources.size() == 1 && !sample.is_folder && sample.inputs.empty()) {
    return At(sample.path, absl::InvalidArgumentError(absl::StrCat(
                               "found one array, expected one for each of the inputs ",
                               InputNames(inputs_), " (a folder, an .npz or a .json listing)")));
  }
  std::vector<std::optional<Source>> paired(inputs_.size());
  for (Source& source : sources) {
    absl::StatusOr<size_t> input = Match(source);
    if (!input.ok()) {
      return At(source.path, input.status());
    }
    std::optional<Source>& place = paired[*input];
    if (place.has_value()) {
      return At(source.path, absl::InvalidArgumentError(absl::StrCat(
                                 "'", place->name, "' of '", place->path, "' and '", source.name,
                                 "' both hold input '", inputs_[*input].name, "'")));
    }
    place = std::move(source);
  }
  std::vector<Source> ordered;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!paired[i].has_value()) {
      return At(sample.path, absl::InvalidArgumentError(
                                 absl::StrCat("found no array for input '", inputs_[i].name, "'")));
    }
    ordered.push_back(*std::move(paired[i]));
  }
  return ordered;
}

absl::StatusOr<LoadedSample> SampleLoader::Load(const SamplePath& sample) const {
  QB_ASSIGN_OR_RETURN(std::vector<Source> sources, Pair(sample));
  LoadedSample loaded;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const NamedArray& array = sources[i].array;
    absl::StatusOr<Tensor> value = PrepareInput(array, inputs_[i], PreparationOf(inputs_[i]),
                                                options_.image_channels, loaded.notes);
    if (!value.ok()) {
      return At(sources[i].path, value.status());
    }
    if (const int64_t bad = FirstNonFinite(*value); bad >= 0) {
      return At(sources[i].path,
                absl::InvalidArgumentError(absl::StrCat("found NaN or infinity at element ", bad,
                                                        ", expected finite numbers")));
    }
    loaded.values.push_back(*std::move(value));
    sources[i].array = {};  // memory: the next input's pixels may be as large
  }
  return loaded;
}

}  // namespace qb
