#include "core/compiler/calibration_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/digest.h"
#include "core/base/status_macros.h"

namespace qb {
namespace {

bool IsChannelCount(int64_t dim) { return dim == 1 || dim == 3 || dim == 4; }

// Sums of one channel of one input over all samples.
struct ChannelSums {
  double count = 0, sum = 0, squares = 0;
  double mean() const { return count > 0 ? sum / count : 0; }
  double deviation() const {
    return count > 0 ? std::sqrt(std::max(0.0, squares / count - mean() * mean())) : 0;
  }
};

struct InputSums {
  std::vector<ChannelSums> channels;
  int64_t inner = 1;  // elements between two channels
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  bool whole = true;  // every value is an integer
};

InputSums SumsFor(const InputSpec& input) {
  InputSums sums;
  const Shape& shape = input.type.shape;
  int64_t axis = -1;
  if (shape.rank() == 4) {
    axis = IsChannelCount(shape[1]) ? 1 : IsChannelCount(shape[3]) ? 3 : -1;
  }
  sums.channels.resize(static_cast<size_t>(axis < 0 ? 1 : shape[axis]));
  for (int64_t i = axis + 1; axis >= 0 && i < shape.rank(); ++i) {
    sums.inner *= shape[i];
  }
  return sums;
}

double ValueAt(const Tensor& tensor, int64_t i) {
  switch (tensor.dtype()) {
    case DType::kFloat32:
      return static_cast<double>(tensor.data<float>()[i]);
    case DType::kFloat64:
      return tensor.data<double>()[i];
    case DType::kInt64:
      return static_cast<double>(tensor.data<int64_t>()[i]);
    case DType::kInt32:
      return static_cast<double>(tensor.data<int32_t>()[i]);
    case DType::kUint8:
    case DType::kBool:
      return static_cast<double>(tensor.data<uint8_t>()[i]);
    case DType::kInt8:
      return static_cast<double>(tensor.data<int8_t>()[i]);
    default:
      return 0;
  }
}

void Add(const Tensor& value, InputSums& sums) {
  const int64_t channels = static_cast<int64_t>(sums.channels.size());
  for (int64_t i = 0; i < value.elements(); ++i) {
    const double x = ValueAt(value, i);
    ChannelSums& channel = sums.channels[static_cast<size_t>(i / sums.inner % channels)];
    channel.count += 1;
    channel.sum += x;
    channel.squares += x * x;
    sums.low = std::min(sums.low, x);
    sums.high = std::max(sums.high, x);
    sums.whole = sums.whole && x == std::floor(x);
  }
}

Json Described(const InputSpec& input, const InputSums& sums) {
  Json channels = Json::Array();
  for (const ChannelSums& channel : sums.channels) {
    channels.Append(
        Json::Object().Set("mean", channel.mean()).Set("deviation", channel.deviation()));
  }
  return Json::Object()
      .Set("name", input.name)
      .Set("type", input.type.ToString())
      .Set("min", sums.low)
      .Set("max", sums.high)
      .Set("channels", std::move(channels));
}

const NormalizeStep* NormalizeOf(const DatasetOptions& options, const std::string& input) {
  const auto found = options.inputs.find(input);
  const NormalizeStep* normalize = nullptr;
  if (found != options.inputs.end()) {
    for (const PipelineStep& step : found->second.pipeline.steps()) {
      const auto* candidate = std::get_if<NormalizeStep>(&step);
      normalize = candidate != nullptr ? candidate : normalize;
    }
  }
  return normalize;
}

// Pixels in 0..1 or around 0 that are divided by 255 once more all end up beside -mean / std.
bool LooksNormalizedTwice(const InputSums& sums, const NormalizeStep& normalize) {
  if (!normalize.divide_by_255 || sums.channels.size() != normalize.mean.size()) {
    return false;
  }
  for (size_t c = 0; c < sums.channels.size(); ++c) {
    const double black = -static_cast<double>(normalize.mean[c]) / normalize.deviation[c];
    const double unit = 1.0 / normalize.deviation[c];  // from black to white
    if (std::abs(sums.channels[c].mean() - black) > 0.02 * unit ||
        sums.channels[c].deviation() > 0.02 * unit) {
      return false;
    }
  }
  return true;
}

void Warn(const InputSpec& input, const InputSums& sums, const DatasetOptions& options,
          Json& warnings) {
  const auto add = [&](absl::string_view text) {
    warnings.Append(absl::StrCat("input '", input.name, "': ", text));
  };
  const NormalizeStep* normalize = NormalizeOf(options, input.name);
  if (normalize != nullptr && LooksNormalizedTwice(sums, *normalize)) {
    add("values hardly vary after normalize: the samples look normalized already, and the pipeline "
        "normalizes them again");
  }
  const bool image = sums.channels.size() == 3 || sums.channels.size() == 1;
  if (normalize == nullptr && image && input.type.dtype == DType::kFloat32 && sums.low >= 0 &&
      sums.high > 30 && sums.high <= 255 && sums.whole) {
    add("values run from 0 to 255 and nothing scales them; most models take 0..1 or normalized "
        "values (a normalize step, or uint8Input)");
  }
  if (sums.channels.size() == 3) {
    // In photographs the red channel is the brighter one on average.
    const double scale = normalize == nullptr || normalize->deviation.size() != 3
                             ? 1.0
                             : normalize->deviation[0] / normalize->deviation[2];
    const double shift = normalize == nullptr || normalize->mean.size() != 3
                             ? 0.0
                             : (normalize->mean[0] - normalize->mean[2]) / normalize->deviation[2];
    const double first = sums.channels[0].mean() * scale + shift, third = sums.channels[2].mean();
    if (third - first > 0.1 * sums.channels[2].deviation()) {
      add("channel 0 is darker than channel 2 on average; photographs in RGB mostly are the other "
          "way round: are these BGR?");
    }
  }
}

}  // namespace

absl::StatusOr<Json> CheckCalibrationSet(const Dataset& dataset, absl::Span<const InputSpec> inputs,
                                         const DatasetOptions& options, const CancelToken& cancel) {
  std::vector<InputSums> sums;
  for (const InputSpec& input : inputs) {
    sums.push_back(SumsFor(input));
  }
  std::set<std::string> different;
  for (int64_t i = 0; i < dataset.size(); ++i) {
    QB_RETURN_IF_ERROR(cancel.Check());
    QB_ASSIGN_OR_RETURN(const std::vector<Tensor> values, dataset.Load(i));
    std::string digests;
    for (size_t k = 0; k < values.size(); ++k) {
      Add(values[k], sums[k]);
      absl::StrAppend(&digests,
                      Sha256Hex(absl::string_view(static_cast<const char*>(values[k].raw()),
                                                  static_cast<size_t>(values[k].size_bytes()))));
    }
    different.insert(std::move(digests));
  }
  Json warnings = Json::Array();
  const int64_t distinct = static_cast<int64_t>(different.size());
  if (distinct < dataset.size()) {
    warnings.Append(distinct == 1 ? std::string("all samples are alike")
                                  : absl::StrCat(dataset.size() - distinct, " of ", dataset.size(),
                                                 " samples equal another one"));
  }
  Json list = Json::Array();
  for (size_t k = 0; k < inputs.size(); ++k) {
    list.Append(Described(inputs[k], sums[k]));
    Warn(inputs[k], sums[k], options, warnings);
  }
  return Json::Object()
      .Set("samples", dataset.size())
      .Set("inputs", std::move(list))
      .Set("warnings", std::move(warnings));
}

}  // namespace qb
