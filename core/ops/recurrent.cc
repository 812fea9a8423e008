#include "core/ops/recurrent.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "core/base/status_macros.h"

namespace qb {
namespace {

struct FunctionName {
  const char* name;
  CellFunction function;
};

constexpr auto kFunctionNames = std::to_array<FunctionName>({
    {"Relu", CellFunction::kRelu},
    {"Tanh", CellFunction::kTanh},
    {"Sigmoid", CellFunction::kSigmoid},
    {"Affine", CellFunction::kAffine},
    {"LeakyRelu", CellFunction::kLeakyRelu},
    {"ThresholdedRelu", CellFunction::kThresholdedRelu},
    {"ScaledTanh", CellFunction::kScaledTanh},
    {"HardSigmoid", CellFunction::kHardSigmoid},
    {"Elu", CellFunction::kElu},
    {"Softsign", CellFunction::kSoftsign},
    {"Softplus", CellFunction::kSoftplus},
});

absl::Status CheckFunctions(const RecurrentAttrs& attrs, int64_t directions,
                            const RecurrentForm& form) {
  QB_ASSIGN_OR_RETURN(const std::vector<CellFunction> functions,
                      ParseCellFunctions(attrs.activations));
  const auto wanted = static_cast<size_t>(directions * form.functions);
  if (functions.size() != wanted || attrs.activation_alpha.size() != wanted ||
      attrs.activation_beta.size() != wanted) {
    return absl::InvalidArgumentError(absl::StrCat(
        functions.size(), " activations, ", attrs.activation_alpha.size(), " alphas and ",
        attrs.activation_beta.size(), " betas; accepted: ", wanted, " of each"));
  }
  if (!(attrs.clip >= 0.0f)) {
    return absl::InvalidArgumentError(
        absl::StrCat("clip is ", attrs.clip, "; accepted: a number >= 0"));
  }
  return absl::OkStatus();
}

absl::Status CheckInput(const RecurrentAttrs& attrs, const TensorType& x) {
  constexpr int64_t kMostHidden = int64_t{1} << 24;
  if (x.shape.rank() != 3 || !IsFloat(x.dtype) || attrs.hidden_size < 1 ||
      attrs.hidden_size > kMostHidden) {
    return absl::InvalidArgumentError(
        absl::StrCat("the input is ", x.ToString(), " and hidden_size ", attrs.hidden_size,
                     "; accepted: a float type [steps, batch, inputs] and 1 to ", kMostHidden));
  }
  return absl::OkStatus();
}

struct WantedOperand {
  int64_t index;
  TensorType type;
};

// What the operands after the input must be; the lengths of the sequences may be left out.
std::vector<WantedOperand> WantedOperands(const InferenceInput& input, OpKind kind,
                                          int64_t directions) {
  const TensorType& x = input.type(RecurrentAttrs::kInput);
  const int64_t batch = x.shape[1];
  const int64_t hidden = input.attributes<RecurrentAttrs>().hidden_size;
  const int64_t rows = FormOf(kind).gates * hidden;
  const TensorType state = {x.dtype, Shape{directions, batch, hidden}};
  std::vector<WantedOperand> wanted = {
      {RecurrentAttrs::kW, {x.dtype, Shape{directions, rows, x.shape[2]}}},
      {RecurrentAttrs::kR, {x.dtype, Shape{directions, rows, hidden}}},
      {RecurrentAttrs::kB, {x.dtype, Shape{directions, 2 * rows}}},
      {RecurrentAttrs::kInitialH, state},
  };
  int64_t lengths = RecurrentAttrs::kInitialC;
  if (kind == OpKind::kLSTM) {
    wanted.push_back({RecurrentAttrs::kInitialC, state});
    wanted.push_back({RecurrentAttrs::kPeepholes, {x.dtype, Shape{directions, 3 * hidden}}});
    lengths = RecurrentAttrs::kPeepholes + 1;
  }
  if (static_cast<int64_t>(input.operands.size()) > lengths) {
    wanted.push_back({lengths, {DType::kInt32, Shape{batch}}});
  }
  return wanted;
}

absl::StatusOr<TensorType> InferRecurrent(const InferenceInput& input, OpKind kind) {
  const auto& attrs = input.attributes<RecurrentAttrs>();
  const RecurrentForm form = FormOf(kind);
  const TensorType& x = input.type(RecurrentAttrs::kInput);
  QB_RETURN_IF_ERROR(CheckInput(attrs, x));
  const int64_t directions = attrs.direction == Direction::kBidirectional ? 2 : 1;
  QB_RETURN_IF_ERROR(CheckFunctions(attrs, directions, form));
  for (const auto& [index, type] : WantedOperands(input, kind, directions)) {
    if (input.type(index) != type) {
      return absl::InvalidArgumentError(absl::StrCat("operand ", index, " is ",
                                                     input.type(index).ToString(),
                                                     "; accepted: ", type.ToString()));
    }
  }
  Shape result = {x.shape[0] + form.states, directions, x.shape[1], attrs.hidden_size};
  QB_RETURN_IF_ERROR(CheckedElements(result.dims()).status());
  return TensorType{x.dtype, std::move(result)};
}

}  // namespace

RecurrentForm FormOf(OpKind kind) {
  switch (kind) {
    case OpKind::kLSTM:
      return {4, 3, 2};
    case OpKind::kGRU:
      return {3, 2, 1};
    default:
      return {1, 1, 1};
  }
}

absl::StatusOr<std::vector<CellFunction>> ParseCellFunctions(absl::string_view activations) {
  std::vector<CellFunction> functions;
  for (absl::string_view name : absl::StrSplit(activations, ',', absl::SkipEmpty())) {
    bool known = false;
    for (const FunctionName& row : kFunctionNames) {
      // Exporters differ in case.
      if (absl::AsciiStrToLower(name) == absl::AsciiStrToLower(row.name)) {
        functions.push_back(row.function);
        known = true;
      }
    }
    if (!known) {
      return absl::InvalidArgumentError(
          absl::StrCat("activation '", name.substr(0, 32), "' is not known"));
    }
  }
  return functions;
}

absl::StatusOr<TensorType> InferLstm(const InferenceInput& input) {
  return InferRecurrent(input, OpKind::kLSTM);
}

absl::StatusOr<TensorType> InferGru(const InferenceInput& input) {
  return InferRecurrent(input, OpKind::kGRU);
}

absl::StatusOr<TensorType> InferRnn(const InferenceInput& input) {
  return InferRecurrent(input, OpKind::kRNN);
}

}  // namespace qb
