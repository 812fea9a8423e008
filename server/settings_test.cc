// Settings of jobs, and what errors tell, through a whole server.
#include <gmock/gmock.h>

#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "core/base/json.h"
#include "core/base/testing/status_matchers.h"
#include "proto/google/rpc/error_details.pb.h"
#include "proto/google/rpc/status.pb.h"
#include "server/testing/server_fixture.h"

namespace qb::server {
namespace {

using SettingsTest = ServerTest;

google::rpc::Status DetailsOf(const grpc::Status& status) {
  google::rpc::Status details;
  EXPECT_TRUE(details.ParseFromString(status.error_details()));
  return details;
}

TEST_F(SettingsTest, EveryErrorSaysWhyForPrograms) {
  grpc::ClientContext context;
  pb::GetJobRequest request;
  request.set_job_id("nothing");
  pb::Job job;
  const google::rpc::Status details = DetailsOf(jobs_->GetJob(&context, request, &job));
  EXPECT_EQ(details.code(), grpc::StatusCode::NOT_FOUND);
  ASSERT_EQ(details.details_size(), 1);
  google::rpc::ErrorInfo info;
  ASSERT_TRUE(details.details(0).UnpackTo(&info));
  EXPECT_EQ(info.reason(), "NOT_FOUND");
  EXPECT_EQ(info.domain(), "compile.qb");

  pb::SubmitJobResponse response;
  ASSERT_TRUE(DetailsOf(Submit(Spec("absent"), response)).details(0).UnpackTo(&info));
  EXPECT_EQ(info.reason(), "MISSING_BLOB");
}

TEST_F(SettingsTest, ABadSpecIsToldCompletelyAndNothingIsStored) {
  pb::JobSpec spec = Spec("x");
  spec.set_threads(-1);
  spec.mutable_config()->set_file_text("calibration: {mode: 9, mod: 1}\nhf_config: {}");
  pb::SubmitJobResponse response;
  const grpc::Status status = Submit(spec, response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  const google::rpc::Status details = DetailsOf(status);
  ASSERT_EQ(details.details_size(), 2);
  google::rpc::ErrorInfo info;
  ASSERT_TRUE(details.details(0).UnpackTo(&info));
  EXPECT_EQ(info.reason(), "ARGUMENT_ERROR");
  EXPECT_EQ(info.metadata().at("violations"), "4");
  google::rpc::BadRequest bad;
  ASSERT_TRUE(details.details(1).UnpackTo(&bad));
  ASSERT_EQ(bad.field_violations_size(), 4);
  EXPECT_EQ(bad.field_violations(0).field(), "spec.threads");
  EXPECT_EQ(bad.field_violations(1).field(), "calibration.mode");
  EXPECT_EQ(bad.field_violations(1).reason(), "CONFIG_ERROR");
  EXPECT_EQ(bad.field_violations(2).field(), "calibration.mod");
  EXPECT_EQ(bad.field_violations(3).field(), "hf_config");

  grpc::ClientContext context;
  pb::ValidateJobRequest request;
  *request.mutable_spec() = spec;
  pb::ValidateJobResponse answer;
  ASSERT_TRUE(jobs_->ValidateJob(&context, request, &answer).ok());
  ASSERT_EQ(answer.violations_size(), 4);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(answer.violations(i).field(), bad.field_violations(i).field());
    EXPECT_EQ(answer.violations(i).description(), bad.field_violations(i).description());
    EXPECT_EQ(answer.violations(i).reason(), bad.field_violations(i).reason());
  }
  EXPECT_EQ(answer.resolved_config_json(), "");
  grpc::ClientContext list_context;
  pb::ListJobsResponse jobs;
  ASSERT_TRUE(jobs_->ListJobs(&list_context, {}, &jobs).ok());
  EXPECT_EQ(jobs.jobs_size(), 0);
}

// Long and not ASCII: what the transport makes of it must still fit into its trailers.
TEST_F(SettingsTest, ViolationsThatFindNoRoomAreCounted) {
  std::string text;
  for (int i = 0; i < 60; ++i) {
    std::string key(30, 'k');
    for (int j = 0; j < 30; ++j) {
      key.append("\u00e4\\n");
    }
    absl::StrAppend(&text, text.empty() ? "{" : ",", "\"", key, i, "\":1");
  }
  text.append("}");
  pb::JobSpec spec = Spec("x");
  spec.mutable_config()->set_file_text(text);
  pb::SubmitJobResponse response;
  const grpc::Status status = Submit(spec, response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_LE(status.error_details().size(), 4096u);
  const google::rpc::Status details = DetailsOf(status);
  ASSERT_EQ(details.details_size(), 2);
  google::rpc::ErrorInfo info;
  google::rpc::BadRequest bad;
  ASSERT_TRUE(details.details(0).UnpackTo(&info));
  ASSERT_TRUE(details.details(1).UnpackTo(&bad));
  int total = 0, left_out = 0;
  ASSERT_TRUE(absl::SimpleAtoi(info.metadata().at("violations"), &total));
  ASSERT_TRUE(absl::SimpleAtoi(info.metadata().at("violations_left_out"), &left_out));
  EXPECT_EQ(total, 50);
  EXPECT_EQ(bad.field_violations_size() + left_out, total);
  EXPECT_GT(bad.field_violations_size(), 5);

  grpc::ClientContext context;
  pb::ValidateJobRequest request;
  *request.mutable_spec() = spec;
  pb::ValidateJobResponse answer;
  ASSERT_TRUE(jobs_->ValidateJob(&context, request, &answer).ok());
  EXPECT_EQ(answer.violations_size(), total);
}

TEST_F(SettingsTest, SettingsCanBeLookedAtWithoutAModel) {
  grpc::ClientContext context;
  pb::ValidateJobRequest request;
  request.mutable_spec()->mutable_config()->set_preset("classification");
  pb::ValidateJobResponse answer;
  ASSERT_TRUE(jobs_->ValidateJob(&context, request, &answer).ok());
  EXPECT_THAT(answer.violations(), ::testing::IsEmpty());
}

TEST_F(SettingsTest, AJobShowsEverySettingWithItsOrigin) {
  Store("model");
  pb::JobSpec spec = Spec("model");
  spec.set_device("cpu");
  spec.mutable_config()->set_file_text("{\"debug\": true}");
  pb::SubmitJobResponse response;
  ASSERT_TRUE(Submit(spec, response).ok());
  grpc::ClientContext context;
  pb::GetJobRequest request;
  request.set_job_id(response.job().id());
  pb::Job job;
  ASSERT_TRUE(jobs_->GetJob(&context, request, &job).ok());
  QB_ASSERT_OK_AND_ASSIGN(const Json resolved, Json::Parse(job.resolved_config_json()));
  EXPECT_EQ(resolved["settings"]["device"]["origin"].as_string(), "--device");
  EXPECT_EQ(resolved["settings"]["debug"]["origin"].as_string(), "file spec.config.file_text");
  EXPECT_EQ(resolved["settings"]["bufferMode"]["origin"].as_string(), "default");
  EXPECT_EQ(resolved["config"]["debug"].as_bool(), true);
}

}  // namespace
}  // namespace qb::server
