#include "core/quantization/equivalent/equivalent_transformation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/base/status_macros.h"
#include "core/quantization/equivalent/channel_statistics.h"
#include "core/quantization/equivalent/scaled_layers.h"
#include "core/quantization/equivalent/scaling_place.h"

namespace qb {
namespace {

// How much of a value's spread goes over to the weights.
constexpr double kStrengths[] = {0.25, 0.5, 0.75, 1.0};
// Numbers below this quantile are raised to it: a channel that hardly ever speaks shall not be
// blown up.
constexpr double kLeastQuantile = 0.1;
// A place is left alone when the estimate gains less.
constexpr double kMostNoiseShare = 0.98;

double Largest(const std::vector<double>& values) {
  double largest = 0.0;
  for (const double value : values) {
    largest = std::max(largest, std::abs(value));
  }
  return largest;
}

// What the estimate of noise looks at, for the layers that read a value.
struct Readers {
  std::vector<std::vector<std::vector<double>>> weights;  // [reader][input channel][weight]
  std::vector<double> largest;                            // by input channel, of all readers
  std::vector<double> energy;                             // sum of squares

  explicit Readers(const std::vector<Node*>& nodes) {
    for (const Node* node : nodes) {
      weights.push_back(WeightsByInput(*node));
      largest.resize(weights.back().size(), 0.0);
      energy.resize(weights.back().size(), 0.0);
      for (size_t c = 0; c < weights.back().size(); ++c) {
        largest[c] = std::max(largest[c], Largest(weights.back()[c]));
        for (const double weight : weights.back()[c]) {
          energy[c] += weight * weight;
        }
      }
    }
  }
};

// Proportional to the variance that rounding the value (one scale) and the weights (one scale a
// row; of matrix products and 1x1 kernels exactly) adds to the readers' results, with channel c of
// the value divided by s[c].
double NoiseWith(const std::vector<double>& s, const ChannelStatistics& value,
                 const Readers& readers) {
  double range = 0.0;
  for (size_t c = 0; c < s.size(); ++c) {
    range = std::max(range, value.largest[c] / s[c]);
  }
  double of_value = 0.0, energy = 0.0;
  for (size_t c = 0; c < s.size(); ++c) {
    of_value += s[c] * s[c] * readers.energy[c];
    energy += value.mean_square[c] / (s[c] * s[c]);
  }
  double of_weights = 0.0;
  for (const auto& weights : readers.weights) {
    for (size_t row = 0; row < weights[0].size(); ++row) {
      double most = 0.0;
      for (size_t c = 0; c < s.size(); ++c) {
        most = std::max(most, std::abs(weights[c][row]) * s[c]);
      }
      of_weights += most * most;
    }
  }
  return range * range * of_value + of_weights * energy;
}

// value^strength / weight^(1 - strength), around 1; 1 for channels that say nothing.
std::vector<double> NumbersFor(double strength, const std::vector<double>& value,
                               const std::vector<double>& weight) {
  std::vector<double> numbers(value.size(), 1.0);
  std::vector<double> used;
  double log_sum = 0.0;
  for (size_t c = 0; c < value.size(); ++c) {
    if (value[c] > 1e-20 && weight[c] > 1e-20) {
      numbers[c] = std::pow(value[c], strength) / std::pow(weight[c], 1.0 - strength);
      used.push_back(numbers[c]);
      log_sum += std::log(numbers[c]);
    }
  }
  if (used.empty()) {
    return numbers;
  }
  const double mean = std::exp(log_sum / static_cast<double>(used.size()));
  const auto quantile =
      used.begin() + static_cast<int64_t>(kLeastQuantile * static_cast<double>(used.size() - 1));
  std::nth_element(used.begin(), quantile, used.end());
  for (size_t c = 0; c < value.size(); ++c) {
    if (value[c] > 1e-20 && weight[c] > 1e-20) {
      numbers[c] = std::max(numbers[c], *quantile) / mean;
    }
  }
  return numbers;
}

class Transformation {
 public:
  Transformation(Graph& graph, const EquivalentOptions& options)
      : graph_(graph), options_(options) {}

  absl::StatusOr<std::vector<Transformed>> Run(const Dataset& dataset, const CancelToken& cancel) {
    const std::vector<ScalingPlace> places = FindScalingPlaces(graph_, options_);
    const std::vector<ProductPlace> products =
        options_.qk ? FindProductPlaces(graph_) : std::vector<ProductPlace>();
    std::vector<const Node*> wanted;
    wanted.reserve(places.size());
    for (const ScalingPlace& place : places) {
      wanted.push_back(place.value);
    }
    for (const ProductPlace& place : products) {
      wanted.insert(wanted.end(), {place.query, place.key});
    }
    if (wanted.empty()) {
      return std::move(done_);
    }
    QB_ASSIGN_OR_RETURN(statistics_, MeasureChannels(graph_, wanted, dataset,
                                                     {options_.samples, options_.threads}, cancel));
    for (const ScalingPlace& place : places) {
      Scale(place);
    }
    for (const ProductPlace& place : products) {
      Balance(place);
    }
    return std::move(done_);
  }

 private:
  void Scale(const ScalingPlace& place) {
    const ChannelStatistics& value = statistics_.at(place.value->id());
    const Readers readers(place.consumers);
    const std::vector<double> none(value.largest.size(), 1.0);
    const double before = NoiseWith(none, value, readers);
    double least = before * kMostNoiseShare;
    std::vector<double> best;
    for (const double strength : kStrengths) {
      std::vector<double> numbers = NumbersFor(strength, value.largest, readers.largest);
      const double noise = NoiseWith(numbers, value, readers);
      if (noise < least) {
        least = noise;
        best = std::move(numbers);
      }
    }
    if (best.empty()) {
      return;
    }
    std::vector<double> divisors(OutputChannels(*place.producer), 1.0);
    for (size_t c = 0; c < best.size(); ++c) {
      divisors[static_cast<size_t>(place.producer_channel[c])] = 1.0 / best[c];
    }
    ScaleOutputs(graph_, place.producer, divisors);
    for (Node* consumer : place.consumers) {
      ScaleInputs(graph_, consumer, best);
    }
    done_.push_back({place.kind, place.value->name(), least / before});
  }

  static size_t OutputChannels(const Node& node) {
    return static_cast<size_t>(node.shape()[node.shape().rank() - 1]);
  }

  // Rounding the query (one scale) is multiplied by the key's energy and the other way round.
  void Balance(const ProductPlace& place) {
    const ChannelStatistics& query = statistics_.at(place.query->id());
    const ChannelStatistics& key = statistics_.at(place.key->id());
    std::vector<double> largest_query, largest_key;
    std::vector<size_t> channels;
    for (size_t c = 0; c < place.partner.size(); ++c) {
      if (place.partner[c] >= 0) {
        channels.push_back(c);
        largest_query.push_back(query.largest[c]);
        largest_key.push_back(key.largest[static_cast<size_t>(place.partner[c])]);
      }
    }
    const auto noise = [&](const std::vector<double>& s) {
      double range_query = 0.0, range_key = 0.0, energy_query = 0.0, energy_key = 0.0;
      for (size_t i = 0; i < channels.size(); ++i) {
        const size_t q = channels[i];
        const size_t k = static_cast<size_t>(place.partner[q]);
        range_query = std::max(range_query, query.largest[q] / s[i]);
        range_key = std::max(range_key, key.largest[k] * s[i]);
        energy_query += query.mean_square[q] / (s[i] * s[i]);
        energy_key += key.mean_square[k] * s[i] * s[i];
      }
      return range_query * range_query * energy_key + range_key * range_key * energy_query;
    };
    const double before = noise(std::vector<double>(channels.size(), 1.0));
    double least = before * kMostNoiseShare;
    std::vector<double> best;
    for (const double strength : kStrengths) {
      std::vector<double> numbers = NumbersFor(strength, largest_query, largest_key);
      if (const double own = noise(numbers); own < least) {
        least = own;
        best = std::move(numbers);
      }
    }
    if (best.empty()) {
      return;
    }
    std::vector<double> of_query(OutputChannels(*place.query), 1.0);
    std::vector<double> of_key(OutputChannels(*place.key), 1.0);
    std::vector<double>& other = place.query == place.key ? of_query : of_key;
    for (size_t i = 0; i < channels.size(); ++i) {
      of_query[channels[i]] = 1.0 / best[i];
      other[static_cast<size_t>(place.partner[channels[i]])] = best[i];
    }
    ScaleOutputs(graph_, place.query, of_query);
    if (place.query != place.key) {
      ScaleOutputs(graph_, place.key, of_key);
    }
    done_.push_back({"QK", place.product->name(), least / before});
  }

  Graph& graph_;
  const EquivalentOptions& options_;
  std::map<int64_t, ChannelStatistics> statistics_;
  std::vector<Transformed> done_;
};

}  // namespace

absl::StatusOr<std::vector<Transformed>> ApplyEquivalentTransformation(
    Graph& graph, const Dataset& dataset, const EquivalentOptions& options,
    const CancelToken& cancel) {
  return Transformation(graph, options).Run(dataset, cancel);
}

}  // namespace qb
