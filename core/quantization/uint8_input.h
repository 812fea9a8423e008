// Executables whose inputs are the bytes of an image.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

#include "core/dataset/preprocess/letterbox.h"
#include "core/integer/network.h"

namespace qb {

// real value = scale * byte + offset: one entry for all, or one a channel.
struct Uint8Input {
  std::string input;
  std::vector<double> scale;   // above 0
  std::vector<double> offset;  // as many
  int64_t channel_axis = 1;    // where there is one entry a channel or a letterbox: 1 or 3
  // What the executable does to the bytes first: it takes them in the size of the letterbox's
  // source.
  std::optional<LetterboxFold> letterbox = std::nullopt;
};

// Makes inputs of a quantized network uint8: Quantize becomes the exact change from byte to code
// (byte - 128), and a layer behind it turns bytes into the codes that the next layer takes: a
// rescaling, or with an entry a channel a depthwise convolution of 1x1 with a bias. What follows is
// untouched; padding adds real zero as before. A letterbox is computed before that, on bytes: one
// layer takes the mean of each block (or the pixel in its middle), another pads with the byte
// pad_value. Its bytes are those of the preprocessing step. The codes are those of a float input
// but where the real value lies within scale / (254 * step) steps of the middle between two codes,
// `step` being that of the codes: there they may differ by one (docs/numerics.md).
//
// Errors: UNSUPPORTED_OPERATOR where an input is not one of the network, or its channels cannot be
// told apart (its first layer does not take channels last).
absl::Status MakeInputsUint8(absl::Span<const Uint8Input> inputs, integer::Network& network);

}  // namespace qb
