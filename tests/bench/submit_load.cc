// Sends many SubmitJob calls at once, or the same calls to an echo that has no database.
//
//   submit_load ADDRESS submit|echo|beanstalkd CLIENTS SECONDS SHA256 BYTES
//
// `echo` starts its own server and takes no address ("-"). `beanstalkd` puts jobs of 1 KiB. Prints
// one line: calls a second, p50 and p99 in milliseconds, calls that failed.
#include <grpcpp/grpcpp.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/uuid.h"
#include "proto/qbc/v1/job_service.grpc.pb.h"

namespace {

namespace pb = ::qbc::v1;
using Clock = std::chrono::steady_clock;

// Answers every submit with its own spec, as fast as gRPC can.
class Echo final : public pb::JobService::CallbackService {
 public:
  grpc::ServerUnaryReactor* SubmitJob(grpc::CallbackServerContext* context,
                                      const pb::SubmitJobRequest* request,
                                      pb::SubmitJobResponse* response) override {
    *response->mutable_job()->mutable_spec() = request->spec();
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
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
  // A settings file of 1 KiB, most of it a comment.
  spec.mutable_config()->set_file_text("# " + std::string(1000, 'x') + "\n");
  spec.set_cache_policy(pb::CACHE_POLICY_BYPASS);
  return request;
}

// One call a round; false: it failed.
using Caller = std::function<bool()>;

Caller SubmitCaller(const std::string& address, const pb::SubmitJobRequest& base) {
  // A channel for each client, as clients are.
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const std::shared_ptr<grpc::Channel> channel =
      grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  const std::shared_ptr<pb::JobService::Stub> stub = pb::JobService::NewStub(channel);
  return [stub, request = pb::SubmitJobRequest(base)]() mutable {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    request.set_request_id(qb::MakeUuidV7());
    pb::SubmitJobResponse response;
    return stub->SubmitJob(&context, request, &response).ok();
  };
}

Caller BeanstalkdCaller(const std::string& address) {
  const size_t colon = address.rfind(':');
  addrinfo* found = nullptr;
  int fd = -1;
  if (getaddrinfo(address.substr(0, colon).c_str(), address.substr(colon + 1).c_str(), nullptr,
                  &found) == 0) {
    fd = socket(found->ai_family, SOCK_STREAM, 0);
    if (connect(fd, found->ai_addr, found->ai_addrlen) != 0) {
      close(fd);
      fd = -1;
    }
    freeaddrinfo(found);
  }
  return [fd] {
    const std::string put = "put 0 0 60 1024\r\n" + std::string(1024, 'x') + "\r\n";
    if (send(fd, put.data(), put.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(put.size())) {
      return false;
    }
    char answer[64] = {};
    const ssize_t size = recv(fd, answer, sizeof(answer), 0);
    return size > 0 && std::string(answer, static_cast<size_t>(size)).rfind("INSERTED", 0) == 0;
  };
}

struct Result {
  std::vector<double> ms;
  int failed = 0;
};

Result Load(const std::function<Caller()>& make_caller, int clients, double seconds) {
  std::vector<Result> results(static_cast<size_t>(clients));
  std::vector<std::thread> threads;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(seconds));
  for (Result& result : results) {
    threads.emplace_back([&result, &make_caller, end] {
      const Caller call = make_caller();
      while (Clock::now() < end) {
        const auto start = Clock::now();
        result.failed += call() ? 0 : 1;
        result.ms.push_back(
            std::chrono::duration<double, std::milli>(Clock::now() - start).count());
      }
    });
  }
  Result all;
  for (size_t i = 0; i < threads.size(); ++i) {
    threads[i].join();
    all.ms.insert(all.ms.end(), results[i].ms.begin(), results[i].ms.end());
    all.failed += results[i].failed;
  }
  std::sort(all.ms.begin(), all.ms.end());
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fprintf(
        stderr, "usage: submit_load ADDRESS submit|echo|beanstalkd CLIENTS SECONDS SHA256 BYTES\n");
    return 2;
  }
  std::string address = argv[1];
  const std::string mode = argv[2];
  const int clients = std::atoi(argv[3]);
  const double seconds = std::atof(argv[4]);
  const pb::SubmitJobRequest request = MakeRequest(argv[5], std::atoll(argv[6]));
  Echo echo;
  std::unique_ptr<grpc::Server> server;
  if (mode == "echo") {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&echo);
    server = builder.BuildAndStart();
    address = absl::StrCat("127.0.0.1:", port);
  }
  const Result result = Load(
      [&] {
        return mode == "beanstalkd" ? BeanstalkdCaller(address) : SubmitCaller(address, request);
      },
      clients, seconds);
  if (server != nullptr) {
    server->Shutdown();
  }
  const size_t count = result.ms.size();
  std::printf("%.0f %.3f %.3f %d\n", static_cast<double>(count) / seconds,
              count == 0 ? 0 : result.ms[count / 2],
              count == 0 ? 0 : result.ms[std::min(count - 1, count * 99 / 100)], result.failed);
  return result.failed == 0 ? 0 : 1;
}
