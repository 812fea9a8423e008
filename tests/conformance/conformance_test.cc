// Every case of ONNX's own test data has to give ONNX's results, or stand in a file with the reason
// why not: a case may neither leave nor join that file silently.
//
// expectations.txt is for Debian's libonnx-testdata. QBC_CONFORMANCE names a folder with another
// set (node/<case>/model.onnx), whose file is tests/bench/conformance_newer.txt. QB_UPDATE_GOLDEN=1
// rewrites the file of the set that runs.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "tests/conformance/conformance_case.h"

namespace qb::conformance {
namespace {

constexpr char kDataFolder[] = "/usr/share/libonnx-testdata/data";
constexpr char kExpectations[] = "tests/conformance/expectations.txt";
constexpr char kNewerExpectations[] = "tests/bench/conformance_newer.txt";
constexpr const char* kSuites[] = {"node", "pytorch-converted", "pytorch-operator", "simple"};

// What is known about a case that does not pass. "refused": importer or executor say that they
// cannot; "differs": the results are not those of the file, for the reason given.
struct Expected {
  std::string state;
  std::string reason;
};
using Expectations = std::map<std::string, Expected>;  // by "node/test_x"

constexpr char kRefused[] = "refused";
constexpr char kDiffers[] = "differs";

Expectations ReadExpectations(const char* path) {
  Expectations expectations;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    const std::vector<std::string> fields = absl::StrSplit(line, absl::MaxSplits('\t', 2));
    if (!line.empty() && line[0] != '#' && fields.size() == 3) {
      expectations[fields[0]] = {fields[1], fields[2]};
    }
  }
  return expectations;
}

void WriteExpectations(const char* path, const Expectations& expectations) {
  std::ofstream file(path);
  file << "# Cases of ONNX's test data that do not pass: name, state, reason. \"refused\": the "
          "message "
          "of importer\n# or executor, written by QB_UPDATE_GOLDEN=1 qb_conformance_test. "
          "\"differs\": why the results are not\n# those of the file, written by hand. A line that "
          "goes is progress, one that comes is a loss.\n";
  for (const auto& [name, expected] : expectations) {
    file << name << '\t' << expected.state << '\t' << expected.reason << '\n';
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

struct Count {
  int64_t passed = 0;
  int64_t all = 0;
};

struct Tally {
  std::map<std::string, Count> by_suite;
  Expectations not_passed;
};

Tally RunAll(const std::string& data, const std::vector<std::string>& names) {
  Tally tally;
  for (const std::string& name : names) {
    const CaseResult result = RunCase(absl::StrCat(data, "/", name));
    Count& count = tally.by_suite[name.substr(0, name.find('/'))];
    ++count.all;
    switch (result.kind) {
      case CaseResult::Kind::kPassed:
        ++count.passed;
        break;
      case CaseResult::Kind::kNotSupported:
        tally.not_passed[name] = {kRefused, result.detail};
        break;
      case CaseResult::Kind::kFailed:
        tally.not_passed[name] = {kDiffers, result.detail};
        break;
    }
  }
  for (const auto& [suite, count] : tally.by_suite) {
    std::cout << suite << ": " << count.passed << " of " << count.all << " passed\n";
  }
  return tally;
}

void ExpectSame(const Expectations& got, const Expectations& expected, const char* path) {
  for (const auto& [name, found] : got) {
    const auto known = expected.find(name);
    EXPECT_TRUE(known != expected.end() && known->second.state == found.state)
        << name << " does not pass (" << found.state << "): " << found.reason;
  }
  for (const auto& [name, known] : expected) {
    EXPECT_TRUE(got.contains(name)) << name << " passes now; remove it from " << path;
    EXPECT_GT(known.reason.size(), 10u) << name << " has no reason in " << path;
  }
}

// Messages of refusals are taken over; why a result differs has to be found out.
Expectations Updated(const Expectations& got, const Expectations& known) {
  Expectations updated;
  for (const auto& [name, found] : got) {
    const auto before = known.find(name);
    const bool explained = before != known.end() && before->second.state == kDiffers;
    if (found.state == kRefused) {
      updated[name] = found;
    } else if (explained) {
      updated[name] = before->second;
    }
  }
  return updated;
}

void RunSet(const std::string& data, const char* path) {
  const std::vector<std::string> names = ListCases(data);
  if (names.empty()) {
    GTEST_SKIP() << "SKIPPED: 1 test, no ONNX test data in " << data
                 << " (apt install libonnx-testdata)";
  }
  const Tally tally = RunAll(data, names);
  Expectations known = ReadExpectations(path);
  if (std::getenv("QB_UPDATE_GOLDEN") != nullptr) {
    known = Updated(tally.not_passed, known);
    WriteExpectations(path, known);
  }
  ExpectSame(tally.not_passed, known, path);
}

TEST(Conformance, CasesOfOnnxPassOrHaveAReason) { RunSet(kDataFolder, kExpectations); }

TEST(Conformance, NewerCasesPassOrHaveAReason) {
  const char* data = std::getenv("QBC_CONFORMANCE");
  if (data == nullptr) {
    GTEST_SKIP() << "SKIPPED: 1 test, QBC_CONFORMANCE names no folder of newer ONNX test data";
  }
  RunSet(data, kNewerExpectations);
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
