// LSTM, GRU, RNN: step by step over a sequence.
#include "core/ops/recurrent.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

#include "core/execute/kernels/all_kernels.h"
#include "core/execute/kernels/dtype_dispatch.h"
#include "core/execute/kernels/row_reduction.h"

namespace qb::execute {
namespace {

template <typename T>
struct CellActivation {
  CellFunction function = CellFunction::kTanh;
  T alpha{};
  T beta{};
  T clip{};

  T operator()(T x) const {
    if (clip > T{0}) {
      x = std::clamp(x, -clip, clip);
    }
    switch (function) {
      case CellFunction::kRelu:
        return std::max(x, T{0});
      case CellFunction::kTanh:
        return std::tanh(x);
      case CellFunction::kSigmoid:
        return T{1} / (T{1} + std::exp(-x));
      case CellFunction::kAffine:
        return alpha * x + beta;
      case CellFunction::kLeakyRelu:
        return x < T{0} ? alpha * x : x;
      case CellFunction::kThresholdedRelu:
        return x >= alpha ? x : T{0};
      case CellFunction::kScaledTanh:
        return alpha * std::tanh(beta * x);
      case CellFunction::kHardSigmoid:
        return std::clamp(alpha * x + beta, T{0}, T{1});
      case CellFunction::kElu:
        return x < T{0} ? alpha * std::expm1(x) : x;
      case CellFunction::kSoftsign:
        return x / (T{1} + std::abs(x));
      case CellFunction::kSoftplus:
        break;
    }
    return std::log1p(std::exp(-std::abs(x))) + std::max(x, T{0});
  }
};

// Dot products in interleaved parts, as row_reduction.h.
template <typename T>
T Dot(const T* a, const T* b, int64_t count) {
  constexpr int64_t kLanes = 16;
  T lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) {
      lanes[k] += a[i + k] * b[i + k];
    }
  }
  for (int64_t k = 0; i < count; ++i, ++k) {
    lanes[k] += a[i] * b[i];
  }
  return CombineRow(lanes, kLanes, Sum<T>());
}

// One direction's parameters, and the state of one sequence.
template <typename T>
struct Cell {
  OpKind kind = OpKind::kLSTM;
  int64_t inputs = 0;
  int64_t hidden = 0;
  bool linear_before_reset = false;
  bool input_forget = false;
  const T* w = nullptr;
  const T* r = nullptr;
  const T* b = nullptr;  // of W, then of R
  const T* peepholes = nullptr;
  std::vector<CellActivation<T>> functions;
  std::vector<T> h, c, next;

  int64_t rows() const { return FormOf(kind).gates * hidden; }
  // The input's part of a gate, with its bias.
  T FromInput(const T* x, int64_t row) const { return Dot(w + row * inputs, x, inputs) + b[row]; }
  T FromState(const std::vector<T>& state, int64_t row) const {
    return Dot(r + row * hidden, state.data(), hidden) + b[rows() + row];
  }
  T Gate(const T* x, int64_t row) const { return FromInput(x, row) + FromState(h, row); }

  void Step(const T* x) {
    switch (kind) {
      case OpKind::kLSTM:
        StepLstm(x);
        break;
      case OpKind::kGRU:
        StepGru(x);
        break;
      default:
        for (int64_t i = 0; i < hidden; ++i) {
          next[static_cast<size_t>(i)] = functions[0](Gate(x, i));
        }
        break;
    }
    std::swap(h, next);
  }

  // Gates in the order input, output, forget, cell; peepholes input, output, forget.
  void StepLstm(const T* x) {
    for (int64_t i = 0; i < hidden; ++i) {
      T& cell = c[static_cast<size_t>(i)];
      const T in = functions[0](Gate(x, i) + peepholes[i] * cell);
      const T kept = functions[0](Gate(x, 2 * hidden + i) + peepholes[2 * hidden + i] * cell);
      const T forget = input_forget ? T{1} - in : kept;
      cell = forget * cell + in * functions[1](Gate(x, 3 * hidden + i));
      const T out = functions[0](Gate(x, hidden + i) + peepholes[hidden + i] * cell);
      next[static_cast<size_t>(i)] = out * functions[2](cell);
    }
  }

  // Gates in the order update, reset, hidden.
  void StepGru(const T* x) {
    std::vector<T> reset(static_cast<size_t>(hidden));
    for (int64_t i = 0; i < hidden; ++i) {
      reset[static_cast<size_t>(i)] = functions[0](Gate(x, hidden + i));
    }
    std::vector<T> masked = h;
    for (size_t i = 0; i < masked.size(); ++i) {
      masked[i] *= reset[i];
    }
    for (int64_t i = 0; i < hidden; ++i) {
      const auto at = static_cast<size_t>(i);
      const int64_t row = 2 * hidden + i;
      const T update = functions[0](Gate(x, i));
      const T from_state =
          linear_before_reset ? reset[at] * FromState(h, row) : FromState(masked, row);
      const T candidate = functions[1](FromInput(x, row) + from_state);
      next[at] = (T{1} - update) * candidate + update * h[at];
    }
  }
};

template <typename T>
class SequenceKernel final : public Kernel {
 public:
  SequenceKernel(const Node& node, std::vector<CellFunction> functions)
      : node_(node), attrs_(node.attrs<RecurrentAttrs>()), functions_(std::move(functions)) {}

  absl::Status Run(const KernelArgs& args) const override {
    const Shape& x = node_.operand(RecurrentAttrs::kInput)->shape();
    const int64_t directions = node_.shape()[1];
    for (int64_t n = 0; n < x[1]; ++n) {
      const int64_t length = LengthOf(args, n);
      if (length < 0 || length > x[0]) {
        return absl::InvalidArgumentError(
            absl::StrCat("a sequence has length ", length, "; accepted: 0 to ", x[0]));
      }
      for (int64_t d = 0; d < directions; ++d) {
        RunSequence(args, d, n, length);
      }
    }
    return absl::OkStatus();
  }

 private:
  int64_t LengthOf(const KernelArgs& args, int64_t n) const {
    const int64_t operand =
        node_.op() == OpKind::kLSTM ? RecurrentAttrs::kPeepholes + 1 : RecurrentAttrs::kInitialC;
    return node_.operand_count() > operand ? args.operand<int32_t>(operand)[n]
                                           : node_.operand(RecurrentAttrs::kInput)->shape()[0];
  }

  Cell<T> MakeCell(const KernelArgs& args, int64_t direction, int64_t n) const {
    const Shape& x = node_.operand(RecurrentAttrs::kInput)->shape();
    Cell<T> cell;
    cell.kind = node_.op();
    cell.inputs = x[2];
    cell.hidden = attrs_.hidden_size;
    cell.linear_before_reset = attrs_.linear_before_reset;
    cell.input_forget = attrs_.input_forget;
    const int64_t rows = cell.rows();
    cell.w = args.operand<T>(RecurrentAttrs::kW) + direction * rows * cell.inputs;
    cell.r = args.operand<T>(RecurrentAttrs::kR) + direction * rows * cell.hidden;
    cell.b = args.operand<T>(RecurrentAttrs::kB) + direction * 2 * rows;
    const int64_t count = FormOf(cell.kind).functions;
    for (int64_t f = direction * count; f < (direction + 1) * count; ++f) {
      const auto at = static_cast<size_t>(f);
      cell.functions.push_back({functions_[at], static_cast<T>(attrs_.activation_alpha[at]),
                                static_cast<T>(attrs_.activation_beta[at]),
                                static_cast<T>(attrs_.clip)});
    }
    const int64_t state = (direction * x[1] + n) * cell.hidden;
    const T* h = args.operand<T>(RecurrentAttrs::kInitialH) + state;
    cell.h.assign(h, h + cell.hidden);
    cell.next.resize(cell.h.size());
    if (cell.kind == OpKind::kLSTM) {
      const T* c = args.operand<T>(RecurrentAttrs::kInitialC) + state;
      cell.c.assign(c, c + cell.hidden);
      cell.peepholes = args.operand<T>(RecurrentAttrs::kPeepholes) + direction * 3 * cell.hidden;
    }
    return cell;
  }

  // Steps beyond the sequence's length give 0 and leave the state.
  void RunSequence(const KernelArgs& args, int64_t direction, int64_t n, int64_t length) const {
    const Shape& x = node_.operand(RecurrentAttrs::kInput)->shape();
    const Shape& y = node_.shape();
    Cell<T> cell = MakeCell(args, direction, n);
    const bool backwards = attrs_.direction == Direction::kReverse || (direction == 1 && y[1] == 2);
    const auto place = [&](int64_t row) {
      return args.output<T>() + ((row * y[1] + direction) * y[2] + n) * y[3];
    };
    for (int64_t s = length; s < x[0]; ++s) {
      std::fill_n(place(s), y[3], T{0});
    }
    for (int64_t i = 0; i < length; ++i) {
      const int64_t step = backwards ? length - 1 - i : i;
      cell.Step(args.operand<T>(RecurrentAttrs::kInput) + (step * x[1] + n) * x[2]);
      std::copy(cell.h.begin(), cell.h.end(), place(step));
    }
    std::copy(cell.h.begin(), cell.h.end(), place(x[0]));
    if (node_.op() == OpKind::kLSTM) {
      std::copy(cell.c.begin(), cell.c.end(), place(x[0] + 1));
    }
  }

  const Node& node_;
  const RecurrentAttrs& attrs_;
  const std::vector<CellFunction> functions_;
};

}  // namespace

KernelOr MakeRecurrent(const KernelRequest& request) {
  const absl::StatusOr<std::vector<CellFunction>> functions =
      ParseCellFunctions(request.node->attrs<RecurrentAttrs>().activations);
  if (!functions.ok()) {
    return functions.status();
  }
  return DispatchArithmetic(request.node->type().dtype, [&](auto tag) -> KernelOr {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_floating_point_v<T>) {
      return std::make_unique<SequenceKernel<T>>(*request.node, *functions);
    } else {
      return absl::UnimplementedError("no kernel for integers");
    }
  });
}

}  // namespace qb::execute
