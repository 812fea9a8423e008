// Every method with requests that have something wrong in them: the server never fails itself, and
// each refusal says what a program needs to know.
//
// QB_RPC_MESSAGES: how many messages (default 20 000); QB_RPC_SEED: other ones.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/stubs/logging.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "core/base/testing/status_matchers.h"
#include "proto/google/rpc/error_details.pb.h"
#include "proto/google/rpc/status.pb.h"
#include "server/service/error_reasons.h"
#include "server/testing/message_mutator.h"
#include "server/testing/raw_call.h"
#include "server/testing/server_fixture.h"

namespace qb::server {
namespace {

using ::google::protobuf::Message;
using ::google::protobuf::MethodDescriptor;
using ::testing::IsEmpty;
using enum grpc::StatusCode;

constexpr int kThreads = 32;  // most of the time is that of calls that wait
constexpr size_t kReportedProblems = 20;

int64_t FromEnvironment(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  int64_t value = 0;
  return text != nullptr && absl::SimpleAtoi(text, &value) ? value : otherwise;
}

// A method and good requests for it; of a stream of the client, its messages in order.
struct Target {
  const MethodDescriptor* method;
  std::vector<std::vector<std::unique_ptr<Message>>> good;

  std::string Path() const {
    return absl::StrCat("/", method->service()->full_name(), "/", method->name());
  }
  // Ends by itself only when there is something to say.
  bool MayWait() const { return method->server_streaming() || method->name() == "Sync"; }
};

// What one answer looks like to a program. "" when all is well.
std::string ProblemOf(const grpc::Status& status, std::set<std::string>& reasons) {
  google::rpc::Status details;
  google::rpc::ErrorInfo info;
  if (!details.ParseFromString(status.error_details()) || details.details_size() == 0 ||
      !details.details(0).UnpackTo(&info)) {
    return "no ErrorInfo";
  }
  if (info.domain() != "compile.qb" || info.reason().empty()) {
    return absl::StrCat("ErrorInfo of domain '", info.domain(), "', reason '", info.reason(), "'");
  }
  reasons.insert(info.reason());
  if (details.code() != static_cast<int>(status.error_code())) {
    return "the details have another code";
  }
  bool has_violation = false;
  bool says_when = false;
  for (const auto& detail : details.details()) {
    google::rpc::BadRequest bad_request;
    if (detail.UnpackTo(&bad_request)) {
      has_violation = bad_request.field_violations_size() > 0;
      for (const auto& violation : bad_request.field_violations()) {
        has_violation =
            has_violation && !violation.field().empty() && !violation.description().empty();
      }
    }
    says_when = says_when || detail.Is<google::rpc::RetryInfo>();
  }
  if (status.error_code() == INVALID_ARGUMENT && !has_violation) {
    return "INVALID_ARGUMENT without a FieldViolation";
  }
  // A blob beyond the server's limit is too large for ever; a limit of a tenant passes.
  const bool passes = status.error_code() == UNAVAILABLE || info.reason().ends_with("_LIMIT") ||
                      info.reason() == "DISK_LOW";
  return passes && !says_when ? "no RetryInfo" : "";
}

// What has been seen. Thread-safe.
class Findings {
 public:
  void Count(const std::string& code) {
    absl::MutexLock lock(&mutex_);
    ++codes_[code];
  }
  void Reasons(const std::set<std::string>& reasons) {
    absl::MutexLock lock(&mutex_);
    reasons_.insert(reasons.begin(), reasons.end());
  }
  void Problem(std::string text) {
    absl::MutexLock lock(&mutex_);
    if (problems_.size() < kReportedProblems) {
      problems_.push_back(std::move(text));
    }
  }
  std::map<std::string, int64_t> codes() {
    absl::MutexLock lock(&mutex_);
    return codes_;
  }
  std::set<std::string> reasons() {
    absl::MutexLock lock(&mutex_);
    return reasons_;
  }
  std::vector<std::string> problems() {
    absl::MutexLock lock(&mutex_);
    return problems_;
  }

 private:
  absl::Mutex mutex_;
  std::map<std::string, int64_t> codes_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> reasons_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> problems_ ABSL_GUARDED_BY(mutex_);
};

class RpcMutationTest : public ServerTest {
 protected:
  ServerOptions Options() override {
    ServerOptions options = ServerTest::Options();
    options.log = Log([](const LogLine& /*line*/) {});
    options.tenant_limits.max_queued_jobs = 0;
    return options;
  }

  template <typename Request>
  static std::unique_ptr<Message> Good(const std::function<void(Request&)>& fill) {
    auto request = std::make_unique<Request>();
    fill(*request);
    return request;
  }

  // Good requests, with ids of things that are there.
  void MakeThings() {
    waiting_ = SubmitGood();
    for (int i = 0; i < 16; ++i) {
      pb::SubmitJobResponse response;
      pb::JobSpec spec = Spec("model");
      spec.set_cache_policy(pb::CACHE_POLICY_BYPASS);
      ASSERT_TRUE(Submit(spec, response).ok());
      jobs_of_things_.push_back(response.job().id());
    }
    const pb::SyncResponse leased = Sync(8);
    ASSERT_EQ(leased.assignments_size(), 8);
    for (const pb::Assignment& assignment : leased.assignments()) {
      keys_.push_back(assignment.key());
    }
    pb::WriteBlobResponse half;
    Upload("half of an upload", "half", {0, 4}, half);
  }

  std::unique_ptr<Message> GoodFor(const MethodDescriptor& method, size_t variant) {
    std::unique_ptr<Message> request(google::protobuf::MessageFactory::generated_factory()
                                         ->GetPrototype(method.input_type())
                                         ->New());
    const auto* type = method.input_type();
    const auto& fields = *request->GetReflection();
    const std::string& job =
        variant == 0 ? waiting_ : jobs_of_things_[variant % jobs_of_things_.size()];
    const auto set = [&](const char* name, const std::string& value) {
      const auto* field = type->FindFieldByName(name);
      if (field != nullptr && !field->is_repeated() &&
          field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_STRING) {
        fields.SetString(request.get(), field, value);
      }
    };
    set("job_id", job);
    set("tenant", "b");
    set("sha256", Sha256Hex("model"));
    set("upload_id", "half");
    set("worker_id", "w");
    set("epoch", epoch_);
    set("data", "bytes");
    for (const char* name : {"key", "attempt"}) {
      const auto* field = type->FindFieldByName(name);
      if (field != nullptr && field->message_type() == pb::AttemptKey::descriptor()) {
        fields.MutableMessage(request.get(), field)->CopyFrom(keys_[variant % keys_.size()]);
      }
    }
    if (const auto* field = type->FindFieldByName("spec"); field != nullptr) {
      pb::JobSpec spec = Spec("model");
      spec.mutable_config()->set_overrides_json(R"({"use-random-calib": true})");
      spec.mutable_config()->set_file_text("calibration:\n  mode: 1\n");
      spec.mutable_resources()->set_cpus(1);
      spec.mutable_run_timeout()->set_seconds(10);
      spec.set_priority(static_cast<int>(variant));
      *spec.add_calibration() = spec.model();
      fields.MutableMessage(request.get(), field)->CopyFrom(spec);
    }
    return request;
  }

  static std::vector<std::unique_ptr<Message>> GoodUpload(size_t variant) {
    const std::string bytes = absl::StrCat("upload ", variant);
    std::vector<std::unique_ptr<Message>> messages;
    messages.push_back(Good<pb::WriteBlobRequest>([&](pb::WriteBlobRequest& request) {
      request.mutable_header()->set_sha256(Sha256Hex(bytes));
      request.mutable_header()->set_size_bytes(static_cast<int64_t>(bytes.size()));
      request.mutable_header()->set_upload_id(absl::StrCat("upload-", variant));
    }));
    messages.push_back(Good<pb::WriteBlobRequest>(
        [&](pb::WriteBlobRequest& request) { request.set_data(bytes); }));
    return messages;
  }

  std::vector<Target> Targets() {
    std::vector<Target> targets;
    for (const auto* file :
         {pb::SubmitJobRequest::descriptor()->file(), pb::ReadBlobRequest::descriptor()->file(),
          pb::SyncRequest::descriptor()->file(),
          pb::GetCapabilitiesRequest::descriptor()->file()}) {
      for (int i = 0; i < file->service_count(); ++i) {
        for (int j = 0; j < file->service(i)->method_count(); ++j) {
          Target target{file->service(i)->method(j), {}};
          for (size_t variant = 0; variant < 8; ++variant) {
            if (target.method->client_streaming()) {
              target.good.push_back(GoodUpload(variant));
            } else {
              target.good.emplace_back();
              target.good.back().push_back(GoodFor(*target.method, variant));
            }
          }
          targets.push_back(std::move(target));
        }
      }
    }
    return targets;
  }

  std::string waiting_;
  std::vector<std::string> jobs_of_things_;
  std::vector<pb::AttemptKey> keys_;
};

// One message: what is sent depends on the seed and its number alone.
void SendOne(const std::vector<Target>& targets, uint64_t seed, grpc::GenericStub& stub,
             std::set<std::string>& reasons, Findings& findings) {
  MessageMutator mutator(seed);
  const Target* target = &targets[mutator.Pick(targets.size())];
  if (target->MayWait() && mutator.Pick(4) != 0) {
    target = &targets[mutator.Pick(targets.size())];  // calls that wait cost time
  }
  const auto& good = target->good[mutator.Pick(target->good.size())];
  const size_t which = mutator.Pick(good.size());
  std::vector<std::string> requests;
  requests.reserve(good.size());
  bool readable = true;
  for (size_t i = 0; i < good.size(); ++i) {
    const std::unique_ptr<Message> message(good[i]->New());
    message->CopyFrom(*good[i]);
    if (i == which) {
      mutator.MutateFields(*message);
    }
    requests.push_back(message->SerializePartialAsString());
    if (i == which && mutator.Pick(4) == 0) {
      mutator.MutateBytes(requests.back());
    }
    readable = message->ParseFromString(requests.back()) && readable;
  }
  RawCall call(stub, target->Path(), requests,
               std::chrono::milliseconds(target->MayWait() ? 20 : 30'000));
  const grpc::Status& status = call.Wait();
  const std::string code = status.ok() ? "OK" : absl::StrCat("code ", status.error_code());
  findings.Count(readable ? code : absl::StrCat("unreadable: ", code));
  std::string problem;
  if (status.ok() ||
      (target->MayWait() && status.error_details().empty() &&
       (status.error_code() == DEADLINE_EXCEEDED || status.error_code() == CANCELLED))) {
    return;  // answered, or it waits, as it should
  }
  if (status.error_code() == INTERNAL || status.error_code() == UNKNOWN ||
      status.error_code() == DATA_LOSS) {
    problem = "the server failed";
  } else {
    problem = ProblemOf(status, reasons);
  }
  if (!problem.empty()) {
    findings.Problem(absl::StrCat(target->Path(), " (seed ", seed, "): ", problem, ": code ",
                                  status.error_code(), " '", status.error_message().substr(0, 300),
                                  "' for ",
                                  absl::BytesToHexString(requests[which].substr(0, 200))));
  }
}

TEST_F(RpcMutationTest, TheServerNeverFailsAndEveryRefusalSaysWhatIsWrong) {
  google::protobuf::SetLogHandler(nullptr);  // it tells of each text that is no UTF-8
  MakeThings();
  const std::vector<Target> targets = Targets();
  const int64_t count = FromEnvironment("QB_RPC_MESSAGES", 20'000);
  const auto seed = static_cast<uint64_t>(FromEnvironment("QB_RPC_SEED", 1));
  Findings findings;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      grpc::ChannelArguments arguments;
      arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
      grpc::GenericStub stub(grpc::CreateCustomChannel(
          server_->address(), grpc::InsecureChannelCredentials(), arguments));
      std::set<std::string> reasons;
      for (int64_t i = thread; i < count; i += kThreads) {
        SendOne(targets, seed * 1'000'000'007 + static_cast<uint64_t>(i), stub, reasons, findings);
      }
      findings.Reasons(reasons);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const auto& [code, times] : findings.codes()) {
    RecordProperty(code, absl::StrCat(times));
    std::printf("%s: %lld\n", code.c_str(), static_cast<long long>(times));  // NOLINT
  }
  EXPECT_THAT(findings.problems(), IsEmpty());
  for (const std::string& reason : findings.reasons()) {
    std::printf("reason %s\n", reason.c_str());
    EXPECT_TRUE(IsKnownReason(reason)) << reason;
  }
  // It goes on as if nothing had been.
  EXPECT_NE(SubmitGood(), "");
  grpc::Status status;
  pb::CancelJobRequest cancel;
  cancel.set_job_id(waiting_);
  grpc::ClientContext context;
  pb::Job job;
  EXPECT_TRUE(jobs_->CancelJob(&context, cancel, &job).ok());
}

}  // namespace
}  // namespace qb::server
