#include "core/quantization/kept_correction.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/digest.h"
#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/integer/network_digest.h"
#include "core/integer/validate.h"

namespace qb {
namespace {

void AddNames(const std::vector<std::string>& names, std::string& text) {
  absl::StrAppend(&text, names.size(), ";");
  for (const std::string& name : names) {
    absl::StrAppend(&text, name.size(), ":", name);
  }
}

integer::ConvParams& MutableConvOf(integer::Layer& layer) {
  auto* transposed = std::get_if<integer::ConvTransposeParams>(&layer.params);
  return transposed == nullptr ? std::get<integer::ConvParams>(layer.params) : transposed->conv;
}

absl::Status PutBack(const KeptCorrection::Layer& kept, integer::Layer& layer) {
  integer::ConvParams& conv = MutableConvOf(layer);
  const bool wide = !conv.wide_bias.empty();
  bool fits = kept.biases.size() == (wide ? conv.wide_bias.size() : conv.bias.size());
  for (size_t m = 0; fits && m < kept.biases.size(); ++m) {
    const int64_t bias = kept.biases[m];
    if (wide) {
      conv.wide_bias[m] = bias;
    } else {
      conv.bias[m] = static_cast<int32_t>(bias);
      fits = conv.bias[m] == bias;
    }
  }
  if (!fits) {
    return Failure(FailureCode::kArgumentError,
                   absl::StrCat("calibration statistics: the biases of layer '", kept.name,
                                "' do not fit the layer; measure anew"));
  }
  return absl::OkStatus();
}

}  // namespace

std::string CorrectionKey(const LoweredNetwork& lowered, const BiasCorrectionOptions& options,
                          int64_t samples) {
  std::string text = absl::StrCat(integer::NetworkDigest(lowered.network), ";", samples, ";");
  AddNames(options.apply_layers, text);
  AddNames(options.exclude_layers, text);
  for (const LoweredNetwork::LinearLayer& linear : lowered.linear_layers) {
    absl::StrAppend(&text, linear.layer, "=", linear.node->name(), ";");
  }
  return Sha256Hex(text);
}

KeptCorrection KeepCorrection(std::string key, const LoweredNetwork& lowered,
                              const std::map<int64_t, double>& shifts) {
  KeptCorrection kept;
  kept.key = std::move(key);
  for (const LoweredNetwork::LinearLayer& linear : lowered.linear_layers) {
    const auto shift = shifts.find(linear.node->id());
    if (shift == shifts.end()) {
      continue;  // left as it was
    }
    const integer::ConvParams& conv = ConvOf(lowered.network.layers[linear.layer]);
    KeptCorrection::Layer layer{linear.node->name(), shift->second, conv.wide_bias};
    if (layer.biases.empty()) {
      layer.biases.assign(conv.bias.begin(), conv.bias.end());
    }
    kept.layers.push_back(std::move(layer));
  }
  return kept;
}

const KeptCorrection* FindCorrection(const KeptStatistics* kept, const std::string& key) {
  if (kept == nullptr) {
    return nullptr;
  }
  const auto found =
      std::find_if(kept->corrections.begin(), kept->corrections.end(),
                   [&](const KeptCorrection& correction) { return correction.key == key; });
  return found == kept->corrections.end() ? nullptr : &*found;
}

absl::StatusOr<std::map<int64_t, double>> PutBackCorrection(const KeptCorrection& kept,
                                                            LoweredNetwork& lowered) {
  std::map<std::string, const KeptCorrection::Layer*> layers;
  for (const KeptCorrection::Layer& layer : kept.layers) {
    layers[layer.name] = &layer;
  }
  std::map<int64_t, double> shifts;
  for (const LoweredNetwork::LinearLayer& linear : lowered.linear_layers) {
    const auto found = layers.find(linear.node->name());
    if (found == layers.end()) {
      continue;
    }
    QB_RETURN_IF_ERROR(PutBack(*found->second, lowered.network.layers[linear.layer]));
    shifts[linear.node->id()] = found->second->largest_shift;
  }
  // The proof of the accumulators comes before what a file says.
  QB_RETURN_IF_ERROR(
      WithFailureCode(integer::ValidateNetwork(lowered.network), FailureCode::kArgumentError));
  return shifts;
}

}  // namespace qb
