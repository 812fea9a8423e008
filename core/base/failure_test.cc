#include "core/base/failure.h"

#include <set>

namespace qb {
namespace {

TEST(FailureTable, NamesAndCodesAreUniqueAndRoundTrip) {
  std::set<absl::string_view> names;
  std::set<int> codes;
  for (const FailureRow& row : AllFailures()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_TRUE(codes.insert(static_cast<int>(row.code)).second) << row.name;
    EXPECT_EQ(FailureCodeFromName(row.name), row.code);
    EXPECT_EQ(&FailureRowOf(row.code), &row);
  }
  EXPECT_EQ(FailureCodeFromName("NO_SUCH"), FailureCode::kNone);
}

TEST(Failure, CodeTravelsWithTheStatus) {
  const absl::Status status = Failure(FailureCode::kTargetError, "no such target");
  EXPECT_EQ(FailureCodeOf(status), FailureCode::kTargetError);
  // The first cause is kept.
  EXPECT_EQ(FailureCodeOf(WithFailureCode(status, FailureCode::kInternalError)),
            FailureCode::kTargetError);
}

TEST(Failure, PlainStatusesHaveADefaultCode) {
  EXPECT_EQ(FailureCodeOf(absl::OkStatus()), FailureCode::kNone);
  EXPECT_EQ(FailureCodeOf(absl::CancelledError("")), FailureCode::kCancelled);
  EXPECT_EQ(FailureCodeOf(absl::InternalError("")), FailureCode::kInternalError);
  EXPECT_TRUE(WithFailureCode(absl::OkStatus(), FailureCode::kPoison).ok());
}

}  // namespace
}  // namespace qb
