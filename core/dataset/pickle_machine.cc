#include "core/dataset/pickle_machine.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"

namespace qb {
namespace {

using Kind = PickleValue::Kind;

constexpr size_t kMostBytes = size_t{16} << 20;
constexpr size_t kMostValues = 200000;
constexpr int kMark = -1;  // on the stack

absl::Status Bad(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("the pickle ", what));
}

bool IsStorage(absl::string_view global) {
  return absl::StartsWith(global, "torch ") && absl::EndsWith(global, "Storage");
}

bool IsAccepted(absl::string_view global) {
  return IsStorage(global) || global == "torch._utils _rebuild_tensor_v2" ||
         global == "torch._utils _rebuild_parameter" || global == "collections OrderedDict";
}

class Machine {
 public:
  explicit Machine(absl::string_view bytes) : bytes_(bytes) {}

  absl::StatusOr<PickleResult> Run() {
    while (!stopped_) {
      QB_ASSIGN_OR_RETURN(const absl::string_view opcode, Take(1));
      QB_RETURN_IF_ERROR(Step(opcode[0]));
      if (result_.values.size() > kMostValues || stack_.size() > kMostValues) {
        return Bad("has too many values; tensors need few");
      }
    }
    return std::move(result_);
  }

 private:
  absl::StatusOr<absl::string_view> Take(size_t count) {
    if (bytes_.size() - position_ < count) {
      return Bad("is cut off");
    }
    position_ += count;
    return bytes_.substr(position_ - count, count);
  }

  absl::StatusOr<uint64_t> TakeNumber(size_t count) {
    QB_ASSIGN_OR_RETURN(const absl::string_view raw, Take(count));
    uint64_t value = 0;
    for (size_t i = count; i-- > 0;) {
      value = value << 8 | static_cast<uint8_t>(raw[i]);
    }
    return value;
  }

  absl::StatusOr<absl::string_view> TakeLine() {
    const size_t end = bytes_.find('\n', position_);
    if (end == absl::string_view::npos) {
      return Bad("is cut off");
    }
    const absl::string_view line = bytes_.substr(position_, end - position_);
    position_ = end + 1;
    return line;
  }

  absl::Status Push(PickleValue value) {
    stack_.push_back(static_cast<int>(result_.values.size()));
    result_.values.push_back(std::move(value));
    return absl::OkStatus();
  }
  absl::Status PushInt(Kind kind, int64_t number) {
    PickleValue value;
    value.kind = kind;
    value.number = number;
    return Push(std::move(value));
  }
  absl::Status PushText(Kind kind, absl::string_view text) {
    PickleValue value;
    value.kind = kind;
    value.text = std::string(text);
    return Push(std::move(value));
  }
  absl::Status PushItems(Kind kind, std::vector<int> items) {
    PickleValue value;
    value.kind = kind;
    value.items = std::move(items);
    return Push(std::move(value));
  }

  absl::StatusOr<int> Pop() {
    if (stack_.empty() || stack_.back() == kMark) {
      return Bad("takes a value that is not there");
    }
    const int value = stack_.back();
    stack_.pop_back();
    return value;
  }

  absl::StatusOr<std::vector<int>> PopItems(size_t count) {
    std::vector<int> items(count);
    for (size_t i = count; i-- > 0;) {
      QB_ASSIGN_OR_RETURN(items[i], Pop());
    }
    return items;
  }

  absl::StatusOr<std::vector<int>> PopToMark() {
    const auto mark = std::find(stack_.rbegin(), stack_.rend(), kMark);
    if (mark == stack_.rend()) {
      return Bad("takes values down to a mark that is not there");
    }
    std::vector<int> items(mark.base(), stack_.end());
    stack_.erase(mark.base() - 1, stack_.end());
    return items;
  }

  PickleValue& At(int index) { return result_.values[static_cast<size_t>(index)]; }
  bool Is(int index, Kind kind) { return At(index).kind == kind; }

  // The value below the popped items, which must be of a kind.
  absl::StatusOr<int> Top(Kind kind) {
    if (stack_.empty() || stack_.back() == kMark || !Is(stack_.back(), kind)) {
      return Bad("fills a value of another kind");
    }
    return stack_.back();
  }

  absl::Status Extend(Kind kind, const std::vector<int>& items) {
    QB_ASSIGN_OR_RETURN(const int target, Top(kind));
    if (kind == Kind::kDict && items.size() % 2 != 0) {
      return Bad("sets a key without a value");
    }
    At(target).items.insert(At(target).items.end(), items.begin(), items.end());
    return absl::OkStatus();
  }

  absl::Status PushGlobal(absl::string_view module, absl::string_view name) {
    const std::string global = absl::StrCat(module, " ", name);
    if (!IsAccepted(global)) {
      return Bad(absl::StrCat("names '", module.substr(0, 80), ".", name.substr(0, 80),
                              "'; only tensors are read, nothing is ever run"));
    }
    return PushText(Kind::kGlobal, global);
  }

  absl::StatusOr<std::vector<int64_t>> Numbers(int tuple) {
    if (!Is(tuple, Kind::kTuple) && !Is(tuple, Kind::kList)) {
      return Bad("gives a shape that is no tuple");
    }
    std::vector<int64_t> numbers;
    for (const int item : At(tuple).items) {
      if (!Is(item, Kind::kInt)) {
        return Bad("gives a shape that is not of integers");
      }
      numbers.push_back(At(item).number);
    }
    return numbers;
  }

  // ("storage", class, key, device, elements)
  absl::Status LoadStorage() {
    QB_ASSIGN_OR_RETURN(const int id, Pop());
    const std::vector<int> parts = At(id).items;
    if (!Is(id, Kind::kTuple) || parts.size() != 5 || At(parts[0]).text != "storage" ||
        !Is(parts[1], Kind::kGlobal) || !IsStorage(At(parts[1]).text) ||
        !Is(parts[2], Kind::kText) || !Is(parts[4], Kind::kInt)) {
      return Bad("refers to something that is no storage of a tensor");
    }
    PickleValue storage;
    storage.kind = Kind::kStorage;
    storage.dtype = At(parts[1]).text.substr(6);
    storage.text = At(parts[2]).text;
    storage.number = At(parts[4]).number;
    return Push(std::move(storage));
  }

  absl::Status RebuildTensor(const std::vector<int>& arguments) {
    if (arguments.size() < 4 || !Is(arguments[0], Kind::kStorage) ||
        !Is(arguments[1], Kind::kInt)) {
      return Bad("rebuilds a tensor from other things than a storage, an offset and shapes");
    }
    PickleValue tensor;
    tensor.kind = Kind::kTensor;
    tensor.storage = arguments[0];
    tensor.number = At(arguments[1]).number;
    QB_ASSIGN_OR_RETURN(tensor.sizes, Numbers(arguments[2]));
    QB_ASSIGN_OR_RETURN(tensor.strides, Numbers(arguments[3]));
    return Push(std::move(tensor));
  }

  absl::Status Reduce() {
    QB_ASSIGN_OR_RETURN(const int arguments, Pop());
    QB_ASSIGN_OR_RETURN(const int callable, Pop());
    if (!Is(callable, Kind::kGlobal) || !Is(arguments, Kind::kTuple)) {
      return Bad("calls something that is no name");
    }
    const std::vector<int> items = At(arguments).items;
    const std::string& global = At(callable).text;
    if (global == "torch._utils _rebuild_tensor_v2") {
      return RebuildTensor(items);
    }
    if (global == "torch._utils _rebuild_parameter" && !items.empty()) {
      stack_.push_back(items[0]);
      return absl::OkStatus();
    }
    if (global == "collections OrderedDict" && items.empty()) {
      return PushItems(Kind::kDict, {});
    }
    return Bad(absl::StrCat("calls '", global, "' in a way that no tensor needs"));
  }

  // An OrderedDict's attributes are dropped; nothing else may have any.
  absl::Status Build() {
    QB_RETURN_IF_ERROR(Pop().status());
    return Top(Kind::kDict).status();
  }

  absl::Status Memoize(uint64_t key) {
    if (stack_.empty() || stack_.back() == kMark) {
      return Bad("remembers a value that is not there");
    }
    memo_[key] = stack_.back();
    return absl::OkStatus();
  }

  absl::Status Recall(uint64_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) {
      return Bad("recalls a value that it never had");
    }
    stack_.push_back(found->second);
    return absl::OkStatus();
  }

  // LONG1: a signed integer of up to 8 bytes.
  absl::Status PushLong() {
    QB_ASSIGN_OR_RETURN(const uint64_t size, TakeNumber(1));
    if (size > 8) {
      return Bad("has an integer above 64 bits");
    }
    QB_ASSIGN_OR_RETURN(uint64_t value, TakeNumber(size));
    if (size > 0 && size < 8 && (value >> (8 * size - 1) & 1) != 0) {
      value |= ~uint64_t{0} << (8 * size);
    }
    return PushInt(Kind::kInt, static_cast<int64_t>(value));
  }

  absl::Status PushUnicode(size_t length_bytes) {
    QB_ASSIGN_OR_RETURN(const uint64_t size, TakeNumber(length_bytes));
    QB_ASSIGN_OR_RETURN(const absl::string_view text, Take(size));
    return PushText(Kind::kText, text);
  }

  absl::Status PushTuple(size_t count) {
    QB_ASSIGN_OR_RETURN(std::vector<int> items, PopItems(count));
    return PushItems(Kind::kTuple, std::move(items));
  }

  absl::Status TakeGlobal() {
    QB_ASSIGN_OR_RETURN(const absl::string_view module, TakeLine());
    QB_ASSIGN_OR_RETURN(const absl::string_view name, TakeLine());
    return PushGlobal(module, name);
  }

  absl::Status StackGlobal() {
    QB_ASSIGN_OR_RETURN(const int name, Pop());
    QB_ASSIGN_OR_RETURN(const int module, Pop());
    return PushGlobal(At(module).text, At(name).text);
  }

  absl::Status Stop() {
    QB_ASSIGN_OR_RETURN(result_.root, Pop());
    stopped_ = true;
    return absl::OkStatus();
  }

  absl::Status Step(char opcode) {
    switch (opcode) {
      case '\x80':  // PROTO
        return Take(1).status();
      case '\x95':  // FRAME
        return Take(8).status();
      case '.':
        return Stop();
      case '(':
        stack_.push_back(kMark);
        return absl::OkStatus();
      case 'c':
        return TakeGlobal();
      case '\x93':
        return StackGlobal();
      case 'Q':
        return LoadStorage();
      case 'R':
        return Reduce();
      case 'b':
        return Build();
      default:
        return StepOverValue(opcode);
    }
  }

  // Opcodes that push a value.
  absl::Status StepOverValue(char opcode) {
    const auto number = [&](size_t size) -> absl::Status {
      QB_ASSIGN_OR_RETURN(const uint64_t value, TakeNumber(size));
      return PushInt(Kind::kInt,
                     size == 4 ? static_cast<int32_t>(value) : static_cast<int64_t>(value));
    };
    switch (opcode) {
      case 'N':
        return PushInt(Kind::kNone, 0);
      case '\x88':
        return PushInt(Kind::kBool, 1);
      case '\x89':
        return PushInt(Kind::kBool, 0);
      case 'J':
        return number(4);
      case 'K':
        return number(1);
      case 'M':
        return number(2);
      case '\x8a':
        return PushLong();
      case 'G':
        QB_RETURN_IF_ERROR(Take(8).status());
        return PushInt(Kind::kFloat, 0);
      case 'X':
        return PushUnicode(4);
      case '\x8c':
        return PushUnicode(1);
      case '}':
        return PushItems(Kind::kDict, {});
      case ']':
        return PushItems(Kind::kList, {});
      case ')':
        return PushItems(Kind::kTuple, {});
      case '\x85':
      case '\x86':
      case '\x87':
        return PushTuple(static_cast<size_t>(static_cast<uint8_t>(opcode) - 0x84));
      default:
        return StepOverStack(opcode);
    }
  }

  // Opcodes that gather, fill and remember.
  absl::Status StepOverStack(char opcode) {
    switch (opcode) {
      case 't': {
        QB_ASSIGN_OR_RETURN(std::vector<int> items, PopToMark());
        return PushItems(Kind::kTuple, std::move(items));
      }
      case 'a': {
        QB_ASSIGN_OR_RETURN(const std::vector<int> items, PopItems(1));
        return Extend(Kind::kList, items);
      }
      case 'e': {
        QB_ASSIGN_OR_RETURN(const std::vector<int> items, PopToMark());
        return Extend(Kind::kList, items);
      }
      case 's': {
        QB_ASSIGN_OR_RETURN(const std::vector<int> items, PopItems(2));
        return Extend(Kind::kDict, items);
      }
      case 'u': {
        QB_ASSIGN_OR_RETURN(const std::vector<int> items, PopToMark());
        return Extend(Kind::kDict, items);
      }
      case 'q':
      case 'r': {
        QB_ASSIGN_OR_RETURN(const uint64_t key, TakeNumber(opcode == 'q' ? 1 : 4));
        return Memoize(key);
      }
      case '\x94':
        return Memoize(memo_.size());
      case 'h':
      case 'j': {
        QB_ASSIGN_OR_RETURN(const uint64_t key, TakeNumber(opcode == 'h' ? 1 : 4));
        return Recall(key);
      }
      default:
        return Bad(absl::StrCat("has the opcode 0x", absl::Hex(static_cast<uint8_t>(opcode)),
                                ", which no tensor needs"));
    }
  }

  absl::string_view bytes_;
  size_t position_ = 0;
  bool stopped_ = false;
  std::vector<int> stack_;
  std::map<uint64_t, int> memo_;
  PickleResult result_;
};

}  // namespace

absl::StatusOr<PickleResult> RunPickle(absl::string_view bytes) {
  if (bytes.size() > kMostBytes) {
    return Bad(absl::StrCat("has ", bytes.size(), " bytes; up to ", kMostBytes, " are read"));
  }
  return Machine(bytes).Run();
}

}  // namespace qb
