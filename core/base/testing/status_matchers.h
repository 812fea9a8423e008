// Matchers for absl::Status and StatusOr: the ones that this Abseil release does not ship.
#pragma once

#include <gmock/gmock.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace qb::testing {

inline const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& value) {
  return value.status();
}

MATCHER(IsOk, "is OK") {
  *result_listener << StatusOf(arg).ToString();
  return StatusOf(arg).ok();
}

// StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("node 'x'"))
MATCHER_P2(StatusIs, code, message_matcher, "has the status code and message") {
  *result_listener << StatusOf(arg).ToString();
  return StatusOf(arg).code() == code &&
         ::testing::Matches(message_matcher)(std::string(StatusOf(arg).message()));
}

}  // namespace qb::testing

// `QB_ASSERT_OK_AND_ASSIGN(Graph graph, Import(bytes));` NOLINTBEGIN(bugprone-macro-parentheses)
#define QB_TEST_CONCAT_INNER(a, b) a##b
#define QB_TEST_CONCAT(a, b) QB_TEST_CONCAT_INNER(a, b)
#define QB_ASSERT_OK_AND_ASSIGN(lhs, expr) \
  QB_ASSERT_OK_AND_ASSIGN_IMPL(QB_TEST_CONCAT(qb_test_value_, __LINE__), lhs, expr)
#define QB_ASSERT_OK_AND_ASSIGN_IMPL(result, lhs, expr)   \
  auto result = (expr);                                   \
  ASSERT_TRUE(result.ok()) << result.status().ToString(); \
  lhs = std::move(result).value()  // NOLINTEND(bugprone-macro-parentheses)
#define QB_ASSERT_OK(expr) ASSERT_THAT((expr), ::qb::testing::IsOk())
#define QB_EXPECT_OK(expr) EXPECT_THAT((expr), ::qb::testing::IsOk())
