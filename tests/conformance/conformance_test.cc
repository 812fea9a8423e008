// Every case of ONNX's own test data that the importer claims has to give ONNX's results.
//
// expected_skips.txt lists the cases that it does not claim, with the reason: a case may neither
// leave nor join the list silently. QB_UPDATE_GOLDEN=1 rewrites the file. QB_ONNX_TESTDATA names
// another folder of test data, for which the list does not count.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "tests/conformance/conformance_case.h"

namespace qb::conformance {
namespace {

constexpr char kDataFolder[] = "/usr/share/libonnx-testdata/data";
constexpr char kSkipsFile[] = "tests/conformance/expected_skips.txt";
constexpr const char* kSuites[] = {"node", "pytorch-converted", "pytorch-operator", "simple"};

// Cases whose expected values contradict the text of the operator; ONNX Runtime fails them too.
constexpr const char* kWrongData[] = {
    // The result's size is computed unrounded (4 * 0.8 = 3.2) in the coordinates of align_corners.
    "node/test_resize_downsample_scales_cubic_align_corners",
    "node/test_resize_downsample_scales_linear_align_corners",
};

bool IsWrongData(const std::string& name) {
  return std::find(std::begin(kWrongData), std::end(kWrongData), name) != std::end(kWrongData);
}

using Skips = std::map<std::string, std::string>;  // "node/test_x" -> reason

Skips ReadSkips() {
  Skips skips;
  std::ifstream file(kSkipsFile);
  std::string line;
  while (std::getline(file, line)) {
    const size_t tab = line.find('\t');
    if (!line.empty() && line[0] != '#' && tab != std::string::npos) {
      skips[line.substr(0, tab)] = line.substr(tab + 1);
    }
  }
  return skips;
}

void WriteSkips(const Skips& skips) {
  std::ofstream file(kSkipsFile);
  file << "# Cases of ONNX's test data that the importer refuses, and its message. Written by\n"
          "# QB_UPDATE_GOLDEN=1 qb_conformance_test; a line that goes is progress, one that comes "
          "is a loss.\n";
  for (const auto& [name, reason] : skips) {
    file << name << '\t' << reason << '\n';
  }
}

// "node/test_abs", sorted; only folders that hold a model.
std::vector<std::string> ListCases(const std::string& data) {
  std::vector<std::string> names;
  for (const char* suite : kSuites) {
    std::error_code missing;
    for (const auto& entry :
         std::filesystem::directory_iterator(absl::StrCat(data, "/", suite), missing)) {
      if (std::filesystem::exists(entry.path() / "model.onnx")) {
        names.push_back(absl::StrCat(suite, "/", entry.path().filename().string()));
      }
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

struct Tally {
  int64_t passed = 0;
  Skips skipped;
  std::vector<std::string> failed;
};

Tally RunAll(const std::string& data, const std::vector<std::string>& names) {
  Tally tally;
  for (const std::string& name : names) {
    const CaseResult result = RunCase(absl::StrCat(data, "/", name));
    switch (result.kind) {
      case CaseResult::Kind::kPassed:
        ++tally.passed;
        break;
      case CaseResult::Kind::kNotSupported:
        tally.skipped[name] = result.detail;
        break;
      case CaseResult::Kind::kFailed:
        if (!IsWrongData(name)) {
          tally.failed.push_back(absl::StrCat(name, ": ", result.detail));
        }
        break;
    }
  }
  std::cout << tally.passed << " passed, " << tally.failed.size() << " failed, "
            << tally.skipped.size() << " not supported, of " << names.size() << "\n";
  return tally;
}

void ExpectSameSkips(const Skips& got, const Skips& expected) {
  for (const auto& [name, reason] : got) {
    EXPECT_TRUE(expected.contains(name)) << name << " is not supported any more: " << reason;
  }
  for (const auto& [name, reason] : expected) {
    EXPECT_TRUE(got.contains(name)) << name << " is supported now; remove it from " << kSkipsFile;
  }
}

TEST(Conformance, ClaimedCasesGiveTheResultsOfOnnx) {
  const char* other = std::getenv("QB_ONNX_TESTDATA");
  const std::string data = other != nullptr ? other : kDataFolder;
  const std::vector<std::string> names = ListCases(data);
  if (names.empty()) {
    GTEST_SKIP() << "SKIPPED: 1 test, no ONNX test data in " << data
                 << " (apt install libonnx-testdata)";
  }
  const Tally tally = RunAll(data, names);
  EXPECT_TRUE(tally.failed.empty()) << absl::StrJoin(tally.failed, "\n");
  EXPECT_GT(tally.passed, 0);
  if (other != nullptr) {
    return;
  }
  if (std::getenv("QB_UPDATE_GOLDEN") != nullptr) {
    WriteSkips(tally.skipped);
    return;
  }
  ExpectSameSkips(tally.skipped, ReadSkips());
}

TEST(Conformance, ComparisonSeesDifferences) {
  const Tensor one = Tensor::OfFloats({2}, {1.0f, 100.0f});
  EXPECT_TRUE(CompareTensors(one, Tensor::OfFloats({2}, {1.0f, 100.005f})).ok());
  EXPECT_FALSE(CompareTensors(one, Tensor::OfFloats({2}, {1.0f, 100.05f})).ok());
  EXPECT_FALSE(CompareTensors(one, Tensor::OfFloats({2}, {1.0f, NAN})).ok());
  EXPECT_FALSE(CompareTensors(one, Tensor::OfFloats({1, 2}, {1.0f, 100.0f})).ok());
  EXPECT_FALSE(CompareTensors(Tensor::OfInt64s({1}, {1}), Tensor::OfInt64s({1}, {2})).ok());
}

}  // namespace
}  // namespace qb::conformance
