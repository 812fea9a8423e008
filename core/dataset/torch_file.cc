#include "core/dataset/torch_file.h"

#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/dataset/archive.h"
#include "core/dataset/pickle_machine.h"

namespace qb {
namespace {

using Kind = PickleValue::Kind;

// Views of one storage may overlap; how much they may hold in all goes by the file's size.
constexpr int64_t kMostBytesBeyondFile = int64_t{64} << 20;
constexpr absl::string_view kBfloat16 = "BFloat16Storage";

struct StorageType {
  absl::string_view name;
  DType dtype;
};

constexpr auto kStorages = std::to_array<StorageType>({
    {"FloatStorage", DType::kFloat32},
    {"DoubleStorage", DType::kFloat64},
    {"HalfStorage", DType::kFloat16},
    {kBfloat16, DType::kUint16},
    {"LongStorage", DType::kInt64},
    {"IntStorage", DType::kInt32},
    {"ShortStorage", DType::kInt16},
    {"CharStorage", DType::kInt8},
    {"ByteStorage", DType::kUint8},
    {"BoolStorage", DType::kBool},
});

absl::Status Bad(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("torch file: ", what));
}

class TorchFile {
 public:
  TorchFile(const Archive& archive, std::string prefix, const PickleResult& pickle,
            size_t file_bytes)
      : archive_(archive),
        prefix_(std::move(prefix)),
        pickle_(pickle),
        file_bytes_(static_cast<int64_t>(file_bytes)) {}

  absl::StatusOr<std::vector<NamedArray>> Arrays() const {
    const PickleValue* root = &At(pickle_.root);
    if ((root->kind == Kind::kList || root->kind == Kind::kTuple) && root->items.size() == 1) {
      root = &At(root->items[0]);
    }
    std::vector<NamedArray> arrays;
    int64_t room = kMostBytesBeyondFile + 4 * file_bytes_;
    if (root->kind == Kind::kTensor) {
      QB_ASSIGN_OR_RETURN(Tensor value, Load(*root));
      arrays.push_back({"", std::move(value)});
      return arrays;
    }
    if (root->kind != Kind::kDict) {
      return Bad("its content is neither a tensor nor a dictionary of tensors");
    }
    for (size_t i = 0; i < root->items.size(); i += 2) {
      const PickleValue& key = At(root->items[i]);
      const PickleValue& value = At(root->items[i + 1]);
      if (key.kind != Kind::kText || value.kind != Kind::kTensor) {
        return Bad(absl::StrCat("'", key.text.substr(0, 80), "' in its dictionary is no tensor"));
      }
      QB_ASSIGN_OR_RETURN(Tensor tensor, Load(value));
      room -= tensor.size_bytes();
      if (room < 0) {
        return Bad("its tensors share storages so often that they would not fit in memory");
      }
      arrays.push_back({key.text, std::move(tensor)});
    }
    return arrays;
  }

 private:
  const PickleValue& At(int index) const { return pickle_.values[static_cast<size_t>(index)]; }

  absl::StatusOr<Tensor> Load(const PickleValue& view) const {
    const PickleValue& storage = At(view.storage);
    const StorageType* type = nullptr;
    for (const StorageType& row : kStorages) {
      type = row.name == storage.dtype ? &row : type;
    }
    if (type == nullptr) {
      return Bad(absl::StrCat("a tensor of ", storage.dtype.substr(0, 80), " is not read"));
    }
    const Archive::Entry* entry = archive_.Find(absl::StrCat(prefix_, "data/", storage.text));
    if (entry == nullptr) {
      return Bad(absl::StrCat("the storage '", storage.text.substr(0, 80), "' is missing"));
    }
    QB_ASSIGN_OR_RETURN(const std::string bytes, Archive::Read(*entry));
    const int64_t size = SizeBytes(type->dtype);
    QB_RETURN_IF_ERROR(CheckView(view, static_cast<int64_t>(bytes.size()) / size));
    Tensor tensor = Gather(view, type->dtype, bytes);
    return type->name == kBfloat16 ? Widened(tensor) : tensor;
  }

  // Every element that the view reaches lies in the storage.
  static absl::Status CheckView(const PickleValue& view, int64_t available) {
    if (view.sizes.size() != view.strides.size() || view.sizes.size() > 16) {
      return Bad("a tensor whose sizes and strides do not belong together");
    }
    QB_ASSIGN_OR_RETURN(const int64_t elements, CheckedElements(view.sizes));
    int64_t last = view.number;
    bool inside = view.number >= 0 && elements <= available;
    for (size_t i = 0; i < view.sizes.size() && elements > 0; ++i) {
      int64_t reach = 0;
      inside = inside && view.strides[i] >= 0 &&
               !__builtin_mul_overflow(view.sizes[i] - 1, view.strides[i], &reach) &&
               !__builtin_add_overflow(last, reach, &last);
    }
    if (!inside || (elements > 0 && last >= available)) {
      return Bad(absl::StrCat("a tensor of ", Shape(view.sizes).ToString(), " at ", view.number,
                              " reaches beyond its storage of ", available, " elements"));
    }
    return absl::OkStatus();
  }

  static Tensor Gather(const PickleValue& view, DType dtype, const std::string& bytes) {
    Tensor tensor = Tensor::Allocate({dtype, Shape(view.sizes)});
    const size_t size = static_cast<size_t>(SizeBytes(dtype));
    std::vector<int64_t> index(view.sizes.size(), 0);
    int64_t source = view.number;
    char* target = static_cast<char*>(tensor.mutable_raw());
    for (int64_t i = 0; i < tensor.elements(); ++i, target += size) {
      std::memcpy(target, bytes.data() + static_cast<size_t>(source) * size, size);
      for (size_t axis = index.size(); axis-- > 0;) {
        source += view.strides[axis];
        if (++index[axis] < view.sizes[axis]) {
          break;
        }
        source -= view.strides[axis] * index[axis];
        index[axis] = 0;
      }
    }
    return tensor;
  }

  static Tensor Widened(const Tensor& bfloat16) {
    Tensor result = Tensor::Allocate({DType::kFloat32, bfloat16.shape()});
    for (int64_t i = 0; i < bfloat16.elements(); ++i) {
      result.mutable_data<float>()[i] =
          std::bit_cast<float>(static_cast<uint32_t>(bfloat16.data<uint16_t>()[i]) << 16);
    }
    return result;
  }

  const Archive& archive_;
  const std::string prefix_;  // of every entry: "archive/"
  const PickleResult& pickle_;
  const int64_t file_bytes_;
};

}  // namespace

absl::StatusOr<std::vector<NamedArray>> ParseTorchFile(absl::string_view bytes) {
  if (absl::StartsWith(bytes, "\x80\x02")) {
    return Bad("the format of torch before 1.6 (a bare pickle) is not read; save it again");
  }
  QB_ASSIGN_OR_RETURN(const Archive archive, Archive::Open(bytes));
  const Archive::Entry* pickle = nullptr;
  for (const Archive::Entry& entry : archive.entries()) {
    if (absl::EndsWith(entry.name, "/data.pkl")) {
      pickle = &entry;
    }
  }
  if (pickle == nullptr) {
    return Bad("its archive has no data.pkl");
  }
  const std::string prefix = pickle->name.substr(0, pickle->name.size() - 8);
  if (const Archive::Entry* order = archive.Find(prefix + "byteorder"); order != nullptr) {
    QB_ASSIGN_OR_RETURN(const std::string text, Archive::Read(*order));
    if (text != "little") {
      return Bad("it was written on a big-endian machine");
    }
  }
  QB_ASSIGN_OR_RETURN(const std::string program, Archive::Read(*pickle));
  QB_ASSIGN_OR_RETURN(const PickleResult result, RunPickle(program));
  return TorchFile(archive, prefix, result, bytes.size()).Arrays();
}

}  // namespace qb
