// Propagation of absl::Status: the two macros that this Abseil release does not ship.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define QB_STATUS_CONCAT_INNER(a, b) a##b
#define QB_STATUS_CONCAT(a, b) QB_STATUS_CONCAT_INNER(a, b)

// Returns from the enclosing function when `expr`, an absl::Status, is not OK.
#define QB_RETURN_IF_ERROR(expr)      \
  do {                                \
    absl::Status qb_status_ = (expr); \
    if (!qb_status_.ok()) {           \
      return qb_status_;              \
    }                                 \
  } while (false)

// `QB_ASSIGN_OR_RETURN(Graph graph, Import(bytes));` NOLINTBEGIN(bugprone-macro-parentheses)
#define QB_ASSIGN_OR_RETURN(lhs, expr) \
  QB_ASSIGN_OR_RETURN_IMPL(QB_STATUS_CONCAT(qb_status_or_, __LINE__), lhs, expr)

#define QB_ASSIGN_OR_RETURN_IMPL(result, lhs, expr) \
  auto result = (expr);                             \
  if (!result.ok()) {                               \
    return std::move(result).status();              \
  }                                                 \
  lhs = std::move(result).value()  // NOLINTEND(bugprone-macro-parentheses)
