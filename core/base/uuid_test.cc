#include "core/base/uuid.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace qb {
namespace {

TEST(Uuid, HasVersionSevenAndTheTime) {
  // The time of the example in RFC 9562, appendix A.6.
  const std::string uuid = MakeUuidV7(0x017F22E279B0);
  EXPECT_EQ(uuid.substr(0, 15), "017f22e2-79b0-7");
  EXPECT_TRUE(uuid[19] == '8' || uuid[19] == '9' || uuid[19] == 'a' || uuid[19] == 'b') << uuid;
  EXPECT_TRUE(IsUuid(uuid));
}

TEST(Uuid, SortsByTimeAndNeverRepeats) {
  EXPECT_LT(MakeUuidV7(1000), MakeUuidV7(1001));
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(seen.insert(MakeUuidV7(5)).second);
  }
}

TEST(Uuid, RefusesOtherText) {
  EXPECT_FALSE(IsUuid(""));
  EXPECT_FALSE(IsUuid("017F22E2-79B0-7CC3-98C4-DC0C0C07398F"));
  EXPECT_FALSE(IsUuid("017f22e2-79b0-7cc3-98c4_dc0c0c07398f"));
  EXPECT_TRUE(IsUuid("017f22e2-79b0-7cc3-98c4-dc0c0c07398f"));
}

}  // namespace
}  // namespace qb
