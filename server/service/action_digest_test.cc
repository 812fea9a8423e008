#include "server/service/action_digest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace qb::server {
namespace {

namespace pb = ::qbc::v1;

void AddFile(const std::string& path, char digit, int64_t bytes, pb::Manifest* manifest) {
  pb::ManifestEntry* entry = manifest->add_entries();
  entry->set_path(path);
  entry->set_sha256(std::string(64, digit));
  entry->set_size_bytes(bytes);
}

pb::JobSpec Spec() {
  pb::JobSpec spec;
  spec.set_kind(pb::JOB_KIND_COMPILE);
  spec.mutable_model()->set_main("m.onnx");
  AddFile("m.onnx", 'a', 10, spec.mutable_model());
  AddFile("m.data", 'b', 20, spec.mutable_model());
  AddFile("c.npy", 'c', 3, spec.add_calibration());
  spec.set_target_device("aries-rb");
  return spec;
}

// Calculated apart from this program, by the rule in the header: names must not change.
TEST(ActionDigest, HasTheFrozenForm) {
  EXPECT_EQ(ActionDigest(Spec(), R"({"config":{}})"),
            "3b003fa3790d689d8310961af3c2cad310c2d26933323d0a1a52b7e16532142f");
}

TEST(ActionDigest, ForgetsWhatTheResultDoesNotDependOn) {
  pb::JobSpec spec = Spec();
  spec.mutable_model()->mutable_entries()->SwapElements(0, 1);
  spec.set_threads(4);
  spec.set_priority(7);
  (*spec.mutable_labels())["k"] = "v";
  spec.mutable_run_timeout()->set_seconds(5);
  spec.set_cache_policy(pb::CACHE_POLICY_REFRESH);
  EXPECT_EQ(ActionDigest(spec, "{}"), ActionDigest(Spec(), "{}"));
}

TEST(ActionDigest, TellsEverythingElseApart) {
  const std::vector<std::function<void(pb::JobSpec&)>> changes = {
      [](pb::JobSpec&) {},
      [](pb::JobSpec& spec) { spec.set_kind(pb::JOB_KIND_PARSE); },
      [](pb::JobSpec& spec) { spec.mutable_model()->set_main("m.data"); },
      [](pb::JobSpec& spec) { spec.mutable_model()->mutable_entries(0)->set_path("n.onnx"); },
      [](pb::JobSpec& spec) { spec.mutable_model()->mutable_entries(0)->set_size_bytes(11); },
      [](pb::JobSpec& spec) {
        spec.mutable_model()->mutable_entries(0)->set_sha256(std::string(64, 'd'));
      },
      [](pb::JobSpec& spec) { spec.clear_calibration(); },
      [](pb::JobSpec& spec) { AddFile("d.npy", 'd', 4, spec.add_calibration()); },
      [](pb::JobSpec& spec) { *spec.mutable_evaluation() = spec.calibration(0); },
      [](pb::JobSpec& spec) { spec.set_evaluation_labels("labels.csv"); },
      [](pb::JobSpec& spec) { spec.set_target_device("regulus-ra"); },
  };
  std::set<std::string> digests;
  for (const auto& change : changes) {
    pb::JobSpec spec = Spec();
    change(spec);
    digests.insert(ActionDigest(spec, "{}"));
  }
  digests.insert(ActionDigest(Spec(), "{ }"));
  EXPECT_EQ(digests.size(), changes.size() + 1);
}

}  // namespace
}  // namespace qb::server
