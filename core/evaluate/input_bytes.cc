#include "core/evaluate/input_bytes.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/failure.h"

namespace qb {

Tensor BytesOf(const Tensor& real, const Uint8Input& meaning) {
  Tensor result = Tensor::Allocate({DType::kUint8, real.shape()});
  uint8_t* bytes = result.mutable_data<uint8_t>();
  const absl::Span<const float> values = real.values<float>();
  const int64_t channels = static_cast<int64_t>(meaning.scale.size());
  int64_t inner = 1;
  for (int64_t axis = meaning.channel_axis + 1; channels > 1 && axis < real.shape().rank();
       ++axis) {
    inner *= real.shape()[axis];
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t c = static_cast<size_t>(static_cast<int64_t>(i) / inner % channels);
    const double byte = std::nearbyint((values[i] - meaning.offset[c]) / meaning.scale[c]);
    bytes[i] = static_cast<uint8_t>(std::clamp(byte, 0.0, 255.0));
  }
  return result;
}

std::vector<Uint8Input> BytesOfInputs(const Json& inputs) {
  std::vector<Uint8Input> result;
  for (const Json& input : inputs.items()) {
    if (!input.contains("codes")) {
      continue;
    }
    const Json& codes = input["codes"];
    Uint8Input bytes;
    bytes.input = input["name"].as_string();
    bytes.channel_axis = codes["channel_axis"].as_int();
    for (const Json& scale : codes["scale"].items()) {
      bytes.scale.push_back(scale.as_double());
    }
    for (const Json& offset : codes["offset"].items()) {
      bytes.offset.push_back(offset.as_double());
    }
    if (input.contains("letterbox")) {
      bytes.letterbox
          .emplace();  // that there is one says how samples are taken; the rest is not used
    }
    result.push_back(std::move(bytes));
  }
  return result;
}

absl::StatusOr<Uint8Input> BytesOfInput(const integer::TensorInfo& info,
                                        absl::Span<const Uint8Input> all) {
  Uint8Input bytes{info.name, {static_cast<double>(info.scale)}, {0.0}, 1};
  for (const Uint8Input& entry : all) {
    bytes = entry.input == info.name ? entry : bytes;
  }
  const int64_t channels = static_cast<int64_t>(bytes.scale.size());
  const bool fits =
      channels == 1 || (bytes.channel_axis >= 0 && bytes.channel_axis < info.shape.rank() &&
                        info.shape[bytes.channel_axis] == channels);
  const bool positive = std::all_of(bytes.scale.begin(), bytes.scale.end(),
                                    [](double scale) { return std::isfinite(scale) && scale > 0; });
  if (channels == 0 || bytes.offset.size() != bytes.scale.size() || !fits || !positive) {
    return Failure(FailureCode::kModelParseError,
                   absl::StrCat("the manifest's codes of input '", info.name,
                                "' do not belong to its shape ", info.shape.ToString()));
  }
  return bytes;
}

}  // namespace qb
