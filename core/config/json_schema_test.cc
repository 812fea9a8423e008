#include "core/config/json_schema.h"

#include <cstdlib>

#include "core/base/atomic_file.h"
#include "core/base/testing/status_matchers.h"
#include "core/config/compile_config.h"
#include "core/config/schema.h"

namespace qb {
namespace {

constexpr char kPage[] = "docs/reference/compile-config.md";

TEST(ConfigReferencePage, IsNotStale) {
  if (std::getenv("QB_UPDATE_GOLDEN") != nullptr) {
    QB_ASSERT_OK(WriteFileAtomically(kPage, ConfigReferencePage()));
  }
  QB_ASSERT_OK_AND_ASSIGN(const std::string page, ReadFile(kPage));
  EXPECT_TRUE(page == ConfigReferencePage())
      << kPage << " is stale: qbcompiler dump-config --reference --output " << kPage;
}

// Follows "properties" down to a field.
const Json* Find(const Json& schema, const std::vector<std::string>& parts) {
  const Json* node = &schema;
  for (const std::string& part : parts) {
    node = &(*node)["properties"][part];
  }
  return node->is_null() ? nullptr : node;
}

TEST(ConfigJsonSchema, EveryFieldIsThereFlatAndGrouped) {
  const Json schema = ConfigJsonSchema();
  EXPECT_EQ(schema["$schema"].as_string(), "https://json-schema.org/draft/2020-12/schema");
  QB_ASSERT_OK_AND_ASSIGN(const CompileConfig config, CompileConfig::Resolve({}));
  for (const FieldDef& field : ConfigFields()) {
    std::vector<std::string> parts;
    std::string part;
    for (const char c : std::string(field.path) + ".") {
      if (c == '.') {
        parts.push_back(part);
        part.clear();
      } else {
        part.push_back(c);
      }
    }
    const Json* leaf = Find(schema, parts);
    ASSERT_NE(leaf, nullptr) << field.path;
    EXPECT_EQ((*leaf)["default"].Dump(), config.Get(field.path).Dump());
    EXPECT_FALSE((*leaf)["description"].as_string().empty()) << field.path;
  }
  EXPECT_NE(Find(schema, {"quantization", "calibration", "mode"}), nullptr);
  EXPECT_NE(Find(schema, {"advancedQuantization", "EquivalentTransformation", "QK", "apply"}),
            nullptr);
}

}  // namespace
}  // namespace qb
