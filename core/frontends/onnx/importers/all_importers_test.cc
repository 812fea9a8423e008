#include "core/frontends/onnx/importers/all_importers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "core/frontends/onnx/onnx_import.h"

namespace qb::onnx_import {
namespace {

// docs/operators.md names exactly the operators of the table, with the opsets that have them.
TEST(AllImporters, ThePageForUsersListsThem) {
  std::vector<std::string> listed;
  std::ifstream page("docs/operators.md");
  for (std::string line; std::getline(page, line);) {
    const std::vector<std::string> cells = absl::StrSplit(line, '|');
    if (cells.size() > 3 && absl::StartsWith(line, "| `")) {
      listed.push_back(absl::StrCat(cells[1], cells[2]));
    }
  }
  std::vector<std::string> expected;
  for (const OpImporter& row : AllImporters()) {
    const std::string until =
        row.last_opset == kNewestOnnxOpset ? "" : absl::StrCat(" to ", row.last_opset);
    expected.push_back(absl::StrCat(" `", row.op_type, "`  ", row.first_opset, until, " "));
  }
  EXPECT_EQ(listed, expected);
}

TEST(AllImporters, AreFoundByName) {
  EXPECT_EQ(FindImporter("Relu")->op_type, "Relu");
  EXPECT_EQ(FindImporter("relu"), nullptr);
  EXPECT_EQ(FindImporter(""), nullptr);
}

}  // namespace
}  // namespace qb::onnx_import
