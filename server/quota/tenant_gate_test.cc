#include "server/quota/tenant_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/cord.h"

#include "core/base/testing/status_matchers.h"
#include "proto/google/rpc/error_details.pb.h"
#include "server/quota/refusal.h"
#include "server/testing/fake_clock.h"
#include "server/testing/memory_blob_index.h"

namespace qb::server {
namespace {

using ::qb::testing::StatusIs;
using ::testing::HasSubstr;

template <typename Message>
Message Payload(const absl::Status& status, absl::string_view url) {
  Message message;
  const auto payload = status.GetPayload(url);
  EXPECT_TRUE(payload.has_value() && message.ParseFromString(std::string(*payload))) << status;
  return message;
}

class TenantGateTest : public ::testing::Test {
 protected:
  void Use(const TenantLimits& limits) {
    book_ = std::make_unique<LimitBook>(limits);
    gate_ = std::make_unique<TenantGate>(*book_, index_, clock_, 1);
  }

  static UploadRequest Upload(const std::string& tenant, const std::string& id, int64_t size) {
    UploadRequest request;
    request.tenant = tenant;
    request.upload_id = id;
    request.size_bytes = size;
    return request;
  }

  testing::FakeClock clock_;
  testing::MemoryBlobIndex index_;
  std::unique_ptr<LimitBook> book_;
  std::unique_ptr<TenantGate> gate_;
};

TEST_F(TenantGateTest, SubmitsOfATenantHaveARateOfTheirOwn) {
  Use({.submits_per_second = 2, .submit_burst = 3});
  for (int i = 0; i < 3; ++i) {
    QB_EXPECT_OK(gate_->AdmitSubmit("a"));
  }
  const absl::Status refused = gate_->AdmitSubmit("a");
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kResourceExhausted,
                                HasSubstr("SUBMIT_RATE_LIMIT: tenant 'a'")));
  const auto quota = Payload<google::rpc::QuotaFailure>(refused, kQuotaFailurePayload);
  ASSERT_EQ(quota.violations_size(), 1);
  EXPECT_EQ(quota.violations(0).subject(), "tenant:a");
  const auto retry = Payload<google::rpc::RetryInfo>(refused, kRetryInfoPayload);
  EXPECT_GE(retry.retry_delay().nanos(), 500'000'000);
  EXPECT_LE(retry.retry_delay().nanos(), 625'000'000);
  QB_EXPECT_OK(gate_->AdmitSubmit("b"));
  clock_.AdvanceMs(500);
  QB_EXPECT_OK(gate_->AdmitSubmit("a"));
}

TEST_F(TenantGateTest, NoLimitIsNoLimit) {
  Use({});
  for (int i = 0; i < 10'000; ++i) {
    QB_ASSERT_OK(gate_->AdmitSubmit("a"));
  }
  QB_EXPECT_OK(gate_->AdmitUpload(Upload("a", "u", int64_t{1} << 50)).status());
}

TEST_F(TenantGateTest, UploadsTakePlaceWhileTheirTicketLives) {
  Use({.max_parallel_uploads = 1});
  auto first = gate_->AdmitUpload(Upload("a", "one", 1));
  QB_ASSERT_OK(first.status());
  EXPECT_THAT(gate_->AdmitUpload(Upload("a", "two", 1)).status(),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("PARALLEL_UPLOADS_LIMIT")));
  QB_EXPECT_OK(gate_->AdmitUpload(Upload("b", "two", 1)).status());
  first->reset();
  QB_EXPECT_OK(gate_->AdmitUpload(Upload("a", "two", 1)).status());
}

TEST_F(TenantGateTest, StreamsTakePlaceWhileTheirTicketLives) {
  TenantLimits limits;
  limits.max_open_streams = 2;
  Use(limits);
  absl::StatusOr<StreamTicket> first = gate_->AdmitStream("a");
  const absl::StatusOr<StreamTicket> second = gate_->AdmitStream("a");
  QB_EXPECT_OK(second.status());
  const absl::Status refused = gate_->AdmitStream("a").status();
  EXPECT_THAT(refused,
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("OPEN_STREAMS_LIMIT")));
  EXPECT_EQ(
      Payload<google::rpc::QuotaFailure>(refused, kQuotaFailurePayload).violations(0).subject(),
      "tenant:a");
  QB_EXPECT_OK(gate_->AdmitStream("b").status());
  first->reset();
  QB_EXPECT_OK(gate_->AdmitStream("a").status());
}

TEST_F(TenantGateTest, StoredFilesAndUploadsCountTogether) {
  Use({.max_stored_bytes = 100});
  QB_ASSERT_OK(index_.AddBlob({"a", "old", std::string(64, 'a'), 40, 40}, 0));
  QB_ASSERT_OK(index_.PutUpload({"a", "half", std::string(64, 'b'), 30, 10}, 0));
  // 40 + 30 are taken.
  const absl::Status refused = gate_->AdmitUpload(Upload("a", "new", 31)).status();
  EXPECT_THAT(refused,
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("STORED_BYTES_LIMIT")));
  EXPECT_THAT(refused.message(), HasSubstr("70 bytes are stored"));
  const auto ticket = gate_->AdmitUpload(Upload("a", "new", 30));
  QB_ASSERT_OK(ticket.status());
  EXPECT_THAT(gate_->AdmitUpload(Upload("a", "more", 1)).status(),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("STORED_BYTES_LIMIT")));
  // What goes on counts once.
  QB_EXPECT_OK(gate_->AdmitUpload(Upload("a", "half", 30)).status());
  QB_EXPECT_OK(gate_->AdmitUpload(Upload("b", "new", 100)).status());
}

TEST_F(TenantGateTest, UploadedBytesHaveARate) {
  Use({.upload_bytes_per_second = 1000, .upload_burst_bytes = 1000});
  QB_EXPECT_OK(gate_->AdmitUpload(Upload("a", "one", 3000)).status());
  const absl::Status refused = gate_->AdmitUpload(Upload("a", "two", 1)).status();
  EXPECT_THAT(refused,
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("UPLOAD_RATE_LIMIT")));
  EXPECT_GE(Payload<google::rpc::RetryInfo>(refused, kRetryInfoPayload).retry_delay().seconds(), 2);
  clock_.AdvanceMs(2001);
  QB_EXPECT_OK(gate_->AdmitUpload(Upload("a", "two", 1)).status());
}

TEST_F(TenantGateTest, GoingOnPaysForWhatIsStillToCome) {
  Use({.upload_bytes_per_second = 10, .upload_burst_bytes = 100});
  UploadRequest request = Upload("a", "one", 1000);
  request.offset = 990;
  QB_EXPECT_OK(gate_->AdmitUpload(request).status());
  QB_EXPECT_OK(gate_->AdmitUpload(request).status());
}

}  // namespace
}  // namespace qb::server
