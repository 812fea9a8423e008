// Sends SubmitJob calls at a fixed rate, whatever becomes of them: load that does not wait for
// answers, as from many clients that know nothing of each other.
//
//   open_load ADDRESS CALLS_PER_SECOND SECONDS DEADLINE_MS SHA256 BYTES
//
// Prints one JSON object: calls a second that were sent and that succeeded, latencies, refusals and
// how many of them do not say when to try again.
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/base/uuid.h"
#include "proto/google/rpc/error_details.pb.h"
#include "proto/google/rpc/status.pb.h"
#include "proto/qbc/v1/job_service.grpc.pb.h"

namespace {

namespace pb = ::qbc::v1;
using Clock = std::chrono::steady_clock;

constexpr int kChannels = 8;

double MsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

bool SaysWhenToRetry(const grpc::Status& status) {
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) {
    return false;
  }
  return std::any_of(details.details().begin(), details.details().end(),
                     [](const auto& detail) { return detail.template Is<google::rpc::RetryInfo>(); });
}

// What the calls came to. Thread-safe.
class Tally {
 public:
  void Count(const grpc::Status& status, double ms) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++ended_;
    if (status.ok()) {
      ok_ms_.push_back(ms);
    } else if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
      ++late_;
    } else if (status.error_code() == grpc::StatusCode::UNAVAILABLE ||
               status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED) {
      refused_ms_.push_back(ms);
      silent_ += SaysWhenToRetry(status) ? 0 : 1;
    } else {
      ++other_;
    }
  }

  size_t ended() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return ended_;
  }

  void Print(size_t sent, double seconds) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::printf(
        "{\"sent\": %zu, \"sent_per_s\": %.0f, \"ok\": %zu, \"ok_per_s\": %.0f, \"ok_p50_ms\": %.1f, "
        "\"ok_p99_ms\": %.1f, \"refused\": %zu, \"refused_p50_ms\": %.1f, \"refused_p99_ms\": %.1f, "
        "\"without_retry_info\": %d, \"deadline_exceeded\": %d, \"other\": %d}\n",
        sent, static_cast<double>(sent) / seconds, ok_ms_.size(),
        static_cast<double>(ok_ms_.size()) / seconds, Percentile(ok_ms_, 50),
        Percentile(ok_ms_, 99), refused_ms_.size(), Percentile(refused_ms_, 50),
        Percentile(refused_ms_, 99), silent_, late_, other_);
  }

 private:
  static double Percentile(std::vector<double>& values, size_t percent) {
    if (values.empty()) {
      return 0;
    }
    std::sort(values.begin(), values.end());
    return values[std::min(values.size() - 1, values.size() * percent / 100)];
  }

  std::mutex mutex_;
  std::vector<double> ok_ms_;
  std::vector<double> refused_ms_;
  size_t ended_ = 0;
  int silent_ = 0;
  int late_ = 0;
  int other_ = 0;
};

pb::SubmitJobRequest MakeRequest(const std::string& sha256, int64_t bytes) {
  pb::SubmitJobRequest request;
  pb::JobSpec& spec = *request.mutable_spec();
  spec.set_target_device("aries-rb");
  spec.mutable_model()->set_main("model.txt");
  pb::ManifestEntry* entry = spec.mutable_model()->add_entries();
  entry->set_path("model.txt");
  entry->set_sha256(sha256);
  entry->set_size_bytes(bytes);
  spec.mutable_config()->set_overrides_json(R"({"use-random-calib": true})");
  spec.set_cache_policy(pb::CACHE_POLICY_BYPASS);
  return request;
}

// Lives until its answer comes.
struct Call {
  grpc::ClientContext context;
  pb::SubmitJobRequest request;
  pb::SubmitJobResponse response;
  Clock::time_point start;
};

void Send(pb::JobService::Stub& stub, const pb::SubmitJobRequest& base, int deadline_ms,
          Tally& tally) {
  auto call = std::make_shared<Call>();
  call->request = base;
  call->request.set_request_id(qb::MakeUuidV7());
  call->context.set_deadline(std::chrono::system_clock::now() +
                             std::chrono::milliseconds(deadline_ms));
  call->start = Clock::now();
  Call* raw = call.get();
  stub.async()->SubmitJob(&raw->context, &raw->request, &raw->response,
                          [call, &tally](const grpc::Status& status) {
                            tally.Count(status, MsSince(call->start));
                          });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fprintf(stderr,
                 "usage: open_load ADDRESS CALLS_PER_SECOND SECONDS DEADLINE_MS SHA256 BYTES\n");
    return 2;
  }
  const double rate = std::atof(argv[2]);
  const double seconds = std::atof(argv[3]);
  const int deadline_ms = std::atoi(argv[4]);
  const pb::SubmitJobRequest request = MakeRequest(argv[5], std::atoll(argv[6]));
  std::vector<std::unique_ptr<pb::JobService::Stub>> stubs;
  stubs.reserve(kChannels);
  for (int i = 0; i < kChannels; ++i) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto channel =
        grpc::CreateCustomChannel(argv[1], grpc::InsecureChannelCredentials(), arguments);
    channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(10));
    stubs.push_back(pb::JobService::NewStub(channel));
  }
  Tally tally;
  size_t sent = 0;
  const Clock::time_point start = Clock::now();
  while (MsSince(start) < seconds * 1000) {
    // What is due by now, in small bursts.
    const auto due = static_cast<size_t>(MsSince(start) / 1000 * rate);
    while (sent < due) {
      Send(*stubs[sent % kChannels], request, deadline_ms, tally);
      ++sent;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const double sending_s = MsSince(start) / 1000;
  while (tally.ended() < sent) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  tally.Print(sent, sending_s);
  return 0;
}
