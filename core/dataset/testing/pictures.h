// The generated pictures of testdata/make_golden.py, computed again here.
#pragma once

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/digest.h"
#include "core/ir/tensor.h"

namespace qb::testing {

// The upper bytes of splitmix64's numbers.
inline std::vector<uint8_t> NoiseBytes(uint64_t seed, int64_t count) {
  std::vector<uint8_t> bytes;
  uint64_t state = seed;
  for (int64_t i = 0; i < count; ++i) {
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    bytes.push_back(static_cast<uint8_t>((z ^ (z >> 31)) >> 56));
  }
  return bytes;
}

// One channel of a pixel; see Picture.
inline uint8_t PictureValue(int kind, uint8_t noise, uint8_t block, int64_t slope) {
  switch (kind) {
    case 0:
      return noise;
    case 1:
      return static_cast<uint8_t>((noise >> 7) * 255);
    case 2:
      return block;
    default:
      return static_cast<uint8_t>(slope + (noise >> 3));
  }
}

// Kinds: 0 noise, 1 black and white noise, 2 blocks of 7 x 7, 3 a slope with noise.
inline Tensor Picture(int kind, uint64_t seed, int64_t h, int64_t w, int64_t c) {
  const int64_t columns = (w + 6) / 7;
  // Blocks are taken from the front.
  const std::vector<uint8_t> noise = NoiseBytes(seed, h * w * c);
  Tensor image = Tensor::Allocate({DType::kUint8, Shape{h, w, c}});
  uint8_t* out = image.mutable_data<uint8_t>();
  for (int64_t y = 0; y < h; ++y) {
    for (int64_t x = 0; x < w; ++x) {
      for (int64_t k = 0; k < c; ++k) {
        const size_t i = static_cast<size_t>((y * w + x) * c + k);
        const size_t block = static_cast<size_t>((y / 7 * columns + x / 7) * c + k);
        *out++ = PictureValue(kind, noise[i], noise[block], y * 2 + x + k * 50);
      }
    }
  }
  return image;
}

inline std::string DigestOf(const Tensor& tensor) {
  return Sha256Hex(absl::string_view(static_cast<const char*>(tensor.raw()),
                                     static_cast<size_t>(tensor.size_bytes())));
}

// The lines of a golden file, split at spaces.
inline std::vector<std::vector<std::string>> GoldenLines(const std::string& path) {
  std::vector<std::vector<std::string>> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    lines.emplace_back();
    for (std::string word; words >> word;) {
      lines.back().push_back(word);
    }
  }
  return lines;
}

}  // namespace qb::testing
