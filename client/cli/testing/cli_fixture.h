// Runs qbc commands against a server in memory.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "client/cli/environment.h"
#include "client/cli/run.h"
#include "client/cpp/testing/fake_stub.h"
#include "core/base/atomic_file.h"
#include "core/base/json.h"
#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"

namespace qb::client {

struct RunResult {
  int code = 0;
  std::string out;
  std::string err;
};

class CliFixture : public ::testing::Test {
 protected:
  CliFixture() {
    environment_.get_env = [this](const std::string& name) { return variables_[name]; };
    environment_.retry = {.first_delay = absl::Microseconds(10),
                          .longest_delay = absl::Microseconds(100),
                          .budget = absl::Milliseconds(30)};
    environment_.second_interrupt_window = absl::Milliseconds(30);
    environment_.interruption = &interruption_;
    environment_.create_stub =
        [this](const ServerAccess& access) -> absl::StatusOr<std::unique_ptr<Stub>> {
      access_ = access;
      address_ = access.address;
      return std::make_unique<FakeStub>(&server_);
    };
    environment_.execute = [this](const std::string& program,
                                  const std::vector<std::string>& arguments) {
      executed_ = {program};
      executed_.insert(executed_.end(), arguments.begin(), arguments.end());
      return absl::NotFoundError("cannot be run");
    };
    EXPECT_TRUE(WriteFileAtomically(dir_.File("net.onnx"), "model bytes").ok());
    EXPECT_TRUE(WriteFileAtomically(dir_.File("calib/a.npy"), "sample a").ok());
    EXPECT_TRUE(WriteFileAtomically(dir_.File("calib/b.npy"), "sample b").ok());
  }

  RunResult Run(const std::vector<std::string>& arguments) {
    std::istringstream in(input_);
    std::ostringstream out;
    std::ostringstream err;
    environment_.in = &in;
    environment_.out = &out;
    environment_.err = &err;
    RunResult result;
    result.code = RunQbc(arguments, environment_);
    result.out = out.str();
    result.err = err.str();
    return result;
  }

  // `qbc compile` of the fixture's model, with further arguments.
  RunResult Compile(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"compile",  dir_.File("net.onnx"), "--target-device",
                                          "aries-rb", "--calib-data-path",   dir_.File("calib"),
                                          "-o",       dir_.File("out.mxq")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(arguments);
  }

  // The job that was submitted last.
  qbc::v1::Job LastJob() {
    absl::MutexLock lock(&server_.mutex);
    return server_.jobs.back();
  }

  void SucceedEveryJob() {
    server_.on_submit = [this](const qbc::v1::Job& job) {
      FinishFakeJob(server_, job.id(), "the mxq");
    };
  }
  void FailEveryJob(qbc::v1::FailureReason reason, const std::string& name,
                    const std::string& message) {
    server_.on_submit = [this, reason, name, message](const qbc::v1::Job& job) {
      FailFakeJob(server_, job.id(), reason, name, message);
    };
  }

  // Each line of `text` as JSON.
  static std::vector<Json> Lines(const std::string& text) {
    std::vector<Json> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
      absl::StatusOr<Json> json = Json::Parse(line);
      EXPECT_TRUE(json.ok()) << line;
      lines.push_back(json.ok() ? *std::move(json) : Json());
    }
    return lines;
  }

  qb::testing::TempDir dir_;
  FakeServer server_;
  Interruption interruption_;
  std::map<std::string, std::string> variables_;
  std::string address_;
  ServerAccess access_;  // of the last connection
  std::string input_;    // what standard input has
  std::vector<std::string> executed_;
  CliEnvironment environment_;
};

}  // namespace qb::client
