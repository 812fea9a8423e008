#include "core/ops/trigonometry.h"

#include <array>
#include <cmath>

#include "core/base/check.h"
#include "core/ops/op_def.h"

namespace qb {
namespace {

struct FunctionRow {
  OpKind kind;
  double (*function)(double x);
};

constexpr auto kFunctions = std::to_array<FunctionRow>({
    {OpKind::kSin, [](double x) { return std::sin(x); }},
    {OpKind::kCos, [](double x) { return std::cos(x); }},
    {OpKind::kTan, [](double x) { return std::tan(x); }},
    {OpKind::kAsin, [](double x) { return std::asin(x); }},
    {OpKind::kAcos, [](double x) { return std::acos(x); }},
    {OpKind::kAtan, [](double x) { return std::atan(x); }},
    {OpKind::kSinh, [](double x) { return std::sinh(x); }},
    {OpKind::kCosh, [](double x) { return std::cosh(x); }},
    {OpKind::kAsinh, [](double x) { return std::asinh(x); }},
    {OpKind::kAcosh, [](double x) { return std::acosh(x); }},
    {OpKind::kAtanh, [](double x) { return std::atanh(x); }},
});

const FunctionRow* FindFunction(OpKind kind) {
  for (const FunctionRow& row : kFunctions) {
    if (row.kind == kind) {
      return &row;
    }
  }
  return nullptr;
}

}  // namespace

bool IsTrigonometric(OpKind kind) { return FindFunction(kind) != nullptr; }

double EvaluateTrigonometric(OpKind kind, double x) {
  const FunctionRow* row = FindFunction(kind);
  QB_CHECK_MSG(row != nullptr, "not a pointwise operator: ", OpDefOf(kind).name);
  return row->function(x);
}

}  // namespace qb
