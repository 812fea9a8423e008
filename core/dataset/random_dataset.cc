#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/dataset/dataset.h"

namespace qb {
namespace {

// splitmix64 (Steele, Lea, Flood 2014): the whole sequence follows from the seed, on every
// platform.
class Noise {
 public:
  explicit Noise(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // Uniform in [-1, 1).
  float NextFloat() { return static_cast<float>(Next() >> 40) * 0x1p-23f - 1.0f; }

 private:
  uint64_t state_;
};

template <typename T>
void FillIntegers(Noise& noise, Tensor& tensor) {
  T* values = tensor.mutable_data<T>();
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    values[i] = static_cast<T>(noise.Next() >> 57);
  }
}

Tensor RandomTensor(const TensorType& type, Noise& noise) {
  Tensor tensor = Tensor::Allocate(type);
  switch (type.dtype) {
    case DType::kFloat32: {
      float* values = tensor.mutable_data<float>();
      for (int64_t i = 0; i < tensor.elements(); ++i) {
        values[i] = noise.NextFloat();
      }
      break;
    }
    case DType::kFloat64: {
      double* values = tensor.mutable_data<double>();
      for (int64_t i = 0; i < tensor.elements(); ++i) {
        values[i] = noise.NextFloat();
      }
      break;
    }
    case DType::kInt64:
      FillIntegers<int64_t>(noise, tensor);
      break;
    case DType::kInt32:
      FillIntegers<int32_t>(noise, tensor);
      break;
    case DType::kInt8:
    case DType::kUint8:
      FillIntegers<uint8_t>(noise, tensor);
      break;
    case DType::kBool: {
      uint8_t* values = tensor.mutable_data<uint8_t>();
      for (int64_t i = 0; i < tensor.elements(); ++i) {
        values[i] = static_cast<uint8_t>(noise.Next() >> 63);
      }
      break;
    }
    default:
      break;  // zeros are a valid sample of any other type
  }
  return tensor;
}

class RandomDataset final : public Dataset {
 public:
  RandomDataset(std::vector<InputSpec> inputs, int64_t count, uint64_t seed)
      : inputs_(std::move(inputs)), seed_(seed) {
    for (int64_t i = 0; i < count; ++i) {
      names_.push_back(absl::StrCat("random", i));
    }
  }

  int64_t size() const override { return static_cast<int64_t>(names_.size()); }
  const std::string& name(int64_t index) const override {
    return names_[static_cast<size_t>(index)];
  }
  absl::StatusOr<std::vector<Tensor>> Load(int64_t index) const override {
    Noise noise(seed_ ^ static_cast<uint64_t>(index) * 0xd1342543de82ef95u);
    std::vector<Tensor> values;
    for (const InputSpec& input : inputs_) {
      values.push_back(RandomTensor(input.type, noise));
    }
    return values;
  }

 private:
  std::vector<InputSpec> inputs_;
  uint64_t seed_;
  std::vector<std::string> names_;
};

}  // namespace

std::unique_ptr<Dataset> MakeRandomDataset(absl::Span<const InputSpec> inputs, int64_t count,
                                           uint64_t seed) {
  return std::make_unique<RandomDataset>(std::vector<InputSpec>(inputs.begin(), inputs.end()),
                                         count, seed);
}

}  // namespace qb
