#include "core/calibration/statistics_file.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <type_traits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "core/base/digest.h"
#include "core/base/failure.h"
#include "core/base/json.h"
#include "core/base/status_macros.h"

namespace qb {
namespace {

constexpr char kFormat[] = "qbc-calibration-statistics";
constexpr char kVersion[] = "1.0";
constexpr int kMostDepth = 12;
constexpr int64_t kMostCount = int64_t{1} << 52;

template <typename... Parts>
absl::Status Bad(const Parts&... parts) {
  return Failure(FailureCode::kArgumentError, absl::StrCat("calibration statistics: ", parts...));
}

template <typename Number>
Json NumbersToJson(const std::vector<Number>& numbers) {
  Json list = Json::Array();
  for (const Number number : numbers) {
    if constexpr (std::is_same_v<Number, float>) {
      list.Append(Json(static_cast<double>(number)));
    } else {
      list.Append(Json(number));
    }
  }
  return list;
}

Json ValueToJson(const KeptStatistics::Value& value) {
  const TensorStatistics& found = value.statistics;
  return Json::Object()
      .SetNew("name", value.name)
      .SetNew("levels", value.levels)
      .SetNew("two_sided", value.two_sided)
      .SetNew("elements", found.elements)
      .SetNew("min", static_cast<double>(found.min))
      .SetNew("max", static_cast<double>(found.max))
      .SetNew("threshold", static_cast<double>(found.threshold))
      .SetNew("low", static_cast<double>(found.low))
      .SetNew("high", static_cast<double>(found.high))
      .SetNew("above_threshold", found.above_threshold)
      .SetNew("channel_min", NumbersToJson(value.channels.min))
      .SetNew("channel_max", NumbersToJson(value.channels.max));
}

template <typename Item, typename ToJson>
Json ListToJson(const std::vector<Item>& items, const ToJson& to_json) {
  Json list = Json::Array();
  for (const Item& item : items) {
    list.Append(to_json(item));
  }
  return list;
}

Json TapsToJson(const KeptStatistics::Taps& taps) {
  return Json::Object().SetNew("layer", taps.layer).SetNew("means", NumbersToJson(taps.means));
}

Json CorrectedLayerToJson(const KeptCorrection::Layer& layer) {
  return Json::Object()
      .SetNew("name", layer.name)
      .SetNew("largest_shift", layer.largest_shift)
      .SetNew("biases", NumbersToJson(layer.biases));
}

Json CorrectionToJson(const KeptCorrection& correction) {
  return Json::Object()
      .SetNew("key", correction.key)
      .SetNew("layers", ListToJson(correction.layers, CorrectedLayerToJson));
}

Json SetToJson(const KeptStatistics& set) {
  return Json::Object()
      .SetNew("model", set.model)
      .SetNew("data", set.data)
      .SetNew("part", set.part)
      .SetNew("measurement", set.measurement)
      .SetNew("samples", set.samples)
      .SetNew("window_samples", set.window_samples)
      .SetNew("values", ListToJson(set.values, ValueToJson))
      .SetNew("taps", ListToJson(set.taps, TapsToJson))
      .SetNew("corrections", ListToJson(set.corrections, CorrectionToJson));
}

// Members of an object of the file; the first problem is kept and every value after it is neutral.
class Reader {
 public:
  Reader(const Json& object, const char* what) : object_(object), what_(what) {
    if (!object.is_object()) {
      status_ = Bad(what, " is no object");
    }
  }

  std::string Text(absl::string_view key) {
    const Json& value = object_[key];
    if (!value.is_string()) {
      Problem(key, "a text");
    }
    return value.as_string();
  }
  bool Truth(absl::string_view key) {
    if (!object_[key].is_bool()) {
      Problem(key, "true or false");
    }
    return object_[key].as_bool();
  }
  int64_t Count(absl::string_view key) {
    const Json& value = object_[key];
    if (!value.is_int() || value.as_int() < 0 || value.as_int() > kMostCount) {
      Problem(key, "a count from 0 to 2^52");
      return 0;
    }
    return value.as_int();
  }
  double Real(absl::string_view key) {
    const Json& value = object_[key];
    if (!value.is_number() || !std::isfinite(value.as_double())) {
      Problem(key, "a finite number");
      return 0.0;
    }
    return value.as_double();
  }
  float Single(absl::string_view key) {
    const float value = static_cast<float>(Real(key));
    if (!std::isfinite(value)) {
      Problem(key, "a finite float32");
      return 0.0f;
    }
    return value;
  }
  std::vector<double> Reals(absl::string_view key) {
    std::vector<double> values;
    for (const Json& item : List(key)) {
      if (!item.is_number() || !std::isfinite(item.as_double())) {
        Problem(key, "finite numbers");
        return {};
      }
      values.push_back(item.as_double());
    }
    return values;
  }
  std::vector<float> Singles(absl::string_view key) {
    std::vector<float> values;
    for (const double value : Reals(key)) {
      values.push_back(static_cast<float>(value));
      if (!std::isfinite(values.back())) {
        Problem(key, "finite float32 numbers");
        return {};
      }
    }
    return values;
  }
  std::vector<int64_t> Integers(absl::string_view key) {
    std::vector<int64_t> values;
    for (const Json& item : List(key)) {
      if (!item.is_int()) {
        Problem(key, "whole numbers");
        return {};
      }
      values.push_back(item.as_int());
    }
    return values;
  }
  const std::vector<Json>& List(absl::string_view key) {
    if (!object_[key].is_array()) {
      Problem(key, "a list");
    }
    return object_[key].items();
  }
  template <typename Item>
  std::vector<Item> Items(absl::string_view key, absl::StatusOr<Item> (*read)(const Json&)) {
    std::vector<Item> items;
    for (const Json& json : List(key)) {
      absl::StatusOr<Item> item = read(json);
      if (!item.ok()) {
        status_.Update(item.status());
        return {};
      }
      items.push_back(*std::move(item));
    }
    return items;
  }
  const absl::Status& status() const { return status_; }

 private:
  void Problem(absl::string_view key, absl::string_view wanted) {
    status_.Update(Bad("'", key, "' of ", what_, " is not ", wanted));
  }

  const Json& object_;
  const char* what_;
  absl::Status status_;
};

absl::StatusOr<KeptStatistics::Value> ReadValue(const Json& json) {
  Reader read(json, "a value");
  KeptStatistics::Value value;
  value.name = read.Text("name");
  value.levels = read.Count("levels");
  value.two_sided = read.Truth("two_sided");
  value.statistics.elements = read.Count("elements");
  value.statistics.min = read.Single("min");
  value.statistics.max = read.Single("max");
  value.statistics.threshold = read.Single("threshold");
  value.statistics.low = read.Single("low");
  value.statistics.high = read.Single("high");
  value.statistics.above_threshold = read.Count("above_threshold");
  value.channels = {read.Singles("channel_min"), read.Singles("channel_max")};
  QB_RETURN_IF_ERROR(read.status());
  const TensorStatistics& found = value.statistics;
  if (found.min > 0.0f || found.max < 0.0f || found.low > 0.0f || found.high < 0.0f ||
      found.threshold < 0.0f || found.above_threshold > found.elements) {
    return Bad("value '", value.name,
               "': min above max, a threshold below 0, or more elements "
               "above it than there are");
  }
  return value;
}

absl::StatusOr<KeptStatistics::Taps> ReadTaps(const Json& json) {
  Reader read(json, "the taps of a layer");
  KeptStatistics::Taps taps{read.Text("layer"), read.Reals("means")};
  QB_RETURN_IF_ERROR(read.status());
  return taps;
}

absl::StatusOr<KeptCorrection::Layer> ReadCorrectedLayer(const Json& json) {
  Reader read(json, "a corrected layer");
  KeptCorrection::Layer layer{read.Text("name"), read.Real("largest_shift"),
                              read.Integers("biases")};
  QB_RETURN_IF_ERROR(read.status());
  return layer;
}

absl::StatusOr<KeptCorrection> ReadCorrection(const Json& json) {
  Reader read(json, "a correction");
  KeptCorrection correction{read.Text("key"), read.Items("layers", ReadCorrectedLayer)};
  QB_RETURN_IF_ERROR(read.status());
  return correction;
}

absl::StatusOr<KeptStatistics> ReadSet(const Json& json) {
  Reader read(json, "a set");
  KeptStatistics set;
  set.model = read.Text("model");
  set.data = read.Text("data");
  set.part = read.Text("part");
  set.measurement = read.Text("measurement");
  set.samples = read.Count("samples");
  set.window_samples = read.Count("window_samples");
  set.values = read.Items("values", ReadValue);
  set.taps = read.Items("taps", ReadTaps);
  set.corrections = read.Items("corrections", ReadCorrection);
  QB_RETURN_IF_ERROR(read.status());
  return set;
}

absl::Status CheckHeader(absl::string_view line, absl::string_view body) {
  const absl::StatusOr<Json> header = Json::Parse(line, kMostDepth);
  if (!header.ok() || (*header)["format"].as_string() != kFormat) {
    return Bad("this is no file of statistics (--calib-stats-save writes one)");
  }
  const std::string& version = (*header)["format_version"].as_string();
  if (!absl::StartsWith(version, "1.")) {
    return Bad("format version '", version, "'; this compiler reads 1.x");
  }
  if ((*header)["sha256"].as_string() != Sha256Hex(body)) {
    return Bad("the file is damaged: its second line has not the digest that the first one names");
  }
  return absl::OkStatus();
}

std::string CodesText(int64_t levels, bool two_sided) {
  return two_sided ? "with a zero point" : absl::StrCat("from zero to ", levels);
}

absl::StatusOr<TensorStatistics> FindValue(
    const std::map<std::string, const KeptStatistics::Value*>& values,
    const CalibrationRequest::Range& range) {
  const auto found = values.find(range.node->name());
  if (found == values.end()) {
    return Bad("value '", range.node->name(),
               "' was not measured; measure anew for these settings");
  }
  const KeptStatistics::Value& value = *found->second;
  if (value.levels != range.levels || value.two_sided != range.two_sided) {
    return Bad("value '", range.node->name(), "' was measured for codes ",
               CodesText(value.levels, value.two_sided), "; this compile needs them ",
               CodesText(range.levels, range.two_sided), ": measure anew for these settings");
  }
  return value.statistics;
}

absl::Status FindChannels(const std::map<std::string, const KeptStatistics::Value*>& values,
                          const CalibrationRequest& request, CalibrationTable& table) {
  for (const Node* node : request.channels) {
    const size_t count = static_cast<size_t>(node->shape()[node->shape().rank() - 1]);
    const auto found = values.find(node->name());
    if (found == values.end() || found->second->channels.min.size() != count ||
        found->second->channels.max.size() != count) {
      return Bad("the channels of value '", node->name(),
                 "' were not measured; measure anew for these settings");
    }
    table.channels[node->id()] = found->second->channels;
  }
  return absl::OkStatus();
}

}  // namespace

std::string MeasurementText(const CalibrationOptions& options) {
  std::string text = absl::StrCat("mode ", static_cast<int>(options.mode));
  if (options.mode == CalibrationMode::kMaxPercentile) {
    absl::StrAppend(&text, ", percentile ", Json(options.percentile).Dump(), ", topkRatio ",
                    Json(options.topk_ratio).Dump(), ", pools of ", options.most_pool_bytes,
                    " bytes");
  }
  if (options.mode == CalibrationMode::kHistogram) {
    absl::StrAppend(&text, ", objective ", static_cast<int>(options.objective), ", bins ",
                    options.bins, ", percentile ", Json(options.percentile).Dump());
  }
  return text;
}

void KeepTable(const CalibrationRequest& request, const CalibrationOptions& options,
               const CalibrationTable& table, KeptStatistics& kept) {
  kept.values.clear();
  kept.taps.clear();
  kept.measurement = MeasurementText(options);
  kept.samples = table.samples;
  kept.window_samples = static_cast<int64_t>(table.window_samples.size());
  for (const CalibrationRequest::Range& range : request.ranges) {
    const auto channels = table.channels.find(range.node->id());
    kept.values.push_back(
        {range.node->name(), range.levels, range.two_sided, table.ranges.at(range.node->id()),
         channels == table.channels.end() ? ChannelExtremes() : channels->second});
  }
  for (const CalibrationRequest::Window& window : request.windows) {
    const auto found = table.windows.find(window.user->id());
    if (found != table.windows.end()) {
      kept.taps.push_back({window.user->name(), found->second});
    }
  }
}

absl::StatusOr<CalibrationTable> TableOf(const KeptStatistics& kept,
                                         const CalibrationRequest& request,
                                         const CalibrationOptions& options) {
  if (const std::string wanted = MeasurementText(options); kept.measurement != wanted) {
    return Bad("they were measured with ", kept.measurement, "; this compile asks for ", wanted);
  }
  std::map<std::string, const KeptStatistics::Value*> values;
  for (const KeptStatistics::Value& value : kept.values) {
    values[value.name] = &value;
  }
  CalibrationTable table;
  table.samples = kept.samples;
  for (const CalibrationRequest::Range& range : request.ranges) {
    QB_ASSIGN_OR_RETURN(table.ranges[range.node->id()], FindValue(values, range));
  }
  QB_RETURN_IF_ERROR(FindChannels(values, request, table));
  if (request.window_samples == 0 || request.windows.empty()) {
    return table;
  }
  if (std::min(request.window_samples, kept.samples) != kept.window_samples) {
    return Bad("they hold the means of ", kept.window_samples, " samples for bias correction, ",
               std::min(request.window_samples, kept.samples),
               " are needed; measure anew with the settings of biasCorrection");
  }
  std::map<std::string, const KeptStatistics::Taps*> taps;
  for (const KeptStatistics::Taps& of_layer : kept.taps) {
    taps[of_layer.layer] = &of_layer;
  }
  for (const CalibrationRequest::Window& window : request.windows) {
    const auto found = taps.find(window.user->name());
    if (found == taps.end() ||
        static_cast<int64_t>(found->second->means.size()) != window.geometry.taps()) {
      return Bad("the input means of layer '", window.user->name(),
                 "' were not measured; measure anew for these settings");
    }
    table.windows[window.user->id()] = found->second->means;
  }
  return table;
}

std::string StatisticsToText(const std::vector<KeptStatistics>& sets) {
  const std::string body = Json::Object().SetNew("sets", ListToJson(sets, SetToJson)).Dump() + "\n";
  const std::string header = Json::Object()
                                 .SetNew("format", kFormat)
                                 .SetNew("format_version", kVersion)
                                 .SetNew("sha256", Sha256Hex(body))
                                 .Dump();
  return absl::StrCat(header, "\n", body);
}

absl::StatusOr<std::vector<KeptStatistics>> StatisticsFromText(absl::string_view text) {
  const size_t end = text.find('\n');
  const absl::string_view line = text.substr(0, end);
  const absl::string_view body =
      end == absl::string_view::npos ? absl::string_view() : text.substr(end + 1);
  QB_RETURN_IF_ERROR(CheckHeader(line, body));
  return StatisticsFromBody(body);
}

absl::StatusOr<std::vector<KeptStatistics>> StatisticsFromBody(absl::string_view body) {
  const absl::StatusOr<Json> json = Json::Parse(body, kMostDepth);
  if (!json.ok()) {
    return Bad(json.status().message());
  }
  Reader read(*json, "the second line");
  std::vector<KeptStatistics> sets = read.Items("sets", ReadSet);
  QB_RETURN_IF_ERROR(read.status());
  return sets;
}

}  // namespace qb
