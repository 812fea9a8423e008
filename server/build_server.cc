#include "server/build_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/resource_quota.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "server/events/watch_hub.h"
#include "server/http/http_server.h"
#include "server/http/site.h"
#include "server/jobs/sqlite_blob_index.h"
#include "server/jobs/sqlite_database.h"
#include "server/jobs/sqlite_statistics.h"
#include "server/metrics/server_metrics.h"
#include "server/process/file_lock.h"
#include "server/rpc/listen_address.h"
#include "server/rpc/rpc_services.h"
#include "server/runtime/clock.h"
#include "server/runtime/durable_files.h"
#include "server/runtime/task_pool.h"
#include "server/runtime/ticker.h"
#include "server/service/blob_service.h"
#include "server/service/job_service.h"
#include "server/service/server_info.h"
#include "server/service/worker_service.h"

namespace qb::server {
namespace {

constexpr size_t kMemoryForCallsBytes = size_t{256} << 20;
constexpr int kMaxStreamsPerConnection = 1000;
constexpr int kMinPingIntervalMs = 10'000;

JobServiceOptions MakeJobOptions(const ServerOptions& options) {
  JobServiceOptions job_options;
  job_options.limits = options.limits;
  job_options.targets = options.targets;
  return job_options;
}

qbc::v1::GetCapabilitiesResponse DescribeServer(const ServerOptions& options) {
  const JobServiceOptions job_options = MakeJobOptions(options);
  qbc::v1::GetCapabilitiesResponse fixed;
  fixed.set_api_version("qbc.v1");
  fixed.set_server_version(options.version);
  for (const std::string& target : options.targets) {
    fixed.add_targets(target);
  }
  qbc::v1::Limits* limits = fixed.mutable_limits();
  limits->set_max_blob_bytes(options.blobs.max_blob_bytes);
  limits->set_max_manifest_entries(options.limits.manifest.max_entries);
  limits->set_max_job_input_bytes(options.limits.max_job_input_bytes);
  limits->set_max_find_missing(BlobServiceOptions().max_find_missing);
  limits->set_max_page_size(job_options.max_page_size);
  limits->set_max_run_timeout_s(options.limits.max_run_timeout_s);
  limits->set_max_queue_ttl_s(options.limits.max_queue_ttl_s);
  limits->set_max_queued_jobs(static_cast<int32_t>(options.store.max_waiting_jobs));
  limits->set_max_threads(options.limits.max_threads);
  return fixed;
}

// What the outside may know about the server's own state. Made before the store, which reports to
// it.
struct ServerWatch {
  static constexpr int64_t kLongestTickMs = 10'000;

  // The ticker works through the store: it stands still when that does.
  absl::Status Alive(int64_t now_ms) const {
    return now_ms - last_tick_ms < kLongestTickMs
               ? absl::OkStatus()
               : absl::UnavailableError("the store has not answered for 10 s");
  }

  absl::Status Ready(const std::string& data_dir, int64_t min_free_bytes) const {
    if (draining) {
      return absl::UnavailableError("the server is ending");
    }
    if (store_failed) {
      return absl::UnavailableError("the store has failed");
    }
    struct statvfs disk = {};
    if (statvfs(data_dir.c_str(), &disk) != 0 ||
        static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize) <
            static_cast<double>(min_free_bytes)) {
      return absl::UnavailableError("the disk of the data folder is full");
    }
    return absl::OkStatus();
  }

  std::atomic<bool> draining = false;
  std::atomic<bool> store_failed = false;
  std::atomic<int64_t> last_tick_ms = 0;
  ServerMetrics metrics;
};

// Members stand in the order of their making: each uses only those above it.
class BuiltServer final : public CompileServer {
 public:
  static absl::StatusOr<std::unique_ptr<BuiltServer>> Build(ServerOptions options) {
    QB_ASSIGN_OR_RETURN(const ListenAddress listen, ParseListenAddress(options.listen));
    QB_RETURN_IF_ERROR(MakeFolders(options.data_dir));
    QB_ASSIGN_OR_RETURN(FileLock folder_lock,
                        FileLock::Take(options.data_dir + "/lock", "--data-dir is in use"));
    std::optional<FileLock> socket_lock;
    if (!listen.unix_path.empty()) {
      // gRPC would take over the socket of a living server without a word.
      QB_ASSIGN_OR_RETURN(FileLock lock,
                          FileLock::Take(listen.unix_path + ".lock", "--listen is in use"));
      socket_lock.emplace(std::move(lock));
    }
    auto watch = std::make_unique<ServerWatch>();
    SqliteDatabaseOptions database_options;
    database_options.writer.on_fatal = [watch = watch.get(),
                                        tell = options.on_fatal](const absl::Status& cause) {
      watch->store_failed = true;
      tell(cause);
    };
    database_options.writer.on_commit = [watch = watch.get()](const CommitTiming& timing) {
      watch->metrics.OnCommit(
          {timing.operations, timing.longest_wait, timing.commit, timing.wal_bytes});
    };
    QB_ASSIGN_OR_RETURN(
        std::unique_ptr<SqliteDatabase> database,
        SqliteDatabase::Open(options.data_dir + "/qbc.db", std::move(database_options)));
    auto server = std::unique_ptr<BuiltServer>(
        new BuiltServer(std::move(options), std::move(folder_lock), std::move(socket_lock),
                        std::move(watch), std::move(database)));
    QB_RETURN_IF_ERROR(server->Start(listen));
    return server;
  }

  ~BuiltServer() override { Shutdown(absl::ZeroDuration()); }

  const std::string& address() const override { return address_; }
  const std::string& http_address() const override { return http_address_; }

  void StopGivingWork() override {
    watch_->draining = true;
    dispatcher_.StopGivingWork();
    grpc_->GetHealthCheckService()->SetServingStatus(false);
  }

  void Shutdown(absl::Duration grace) override {
    if (grpc_ == nullptr) {
      return;
    }
    StopGivingWork();
    dispatcher_.Close();
    hub_.Close();
    if (http_ != nullptr) {
      http_->Shutdown();
    }
    grpc_->Shutdown(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(grace));
    grpc_->Wait();
    if (ticker_ != nullptr) {
      ticker_->Stop();
    }
    grpc_.reset();
    // What reactors have left behind runs before the store goes.
    pool_.Shutdown();
  }

 private:
  BuiltServer(ServerOptions options, FileLock folder_lock, std::optional<FileLock> socket_lock,
              std::unique_ptr<ServerWatch> watch, std::unique_ptr<SqliteDatabase> database)
      : options_(std::move(options)),
        folder_lock_(std::move(folder_lock)),
        socket_lock_(std::move(socket_lock)),
        watch_(std::move(watch)),
        database_(std::move(database)),
        blob_index_(*database_),
        statistics_(*database_),
        store_(*database_, options_.store),
        logs_(options_.data_dir + "/logs", options_.logs),
        pool_(options_.pool_threads, options_.max_queued_calls),
        hub_(clock_, WatchLimits().idle_ms),
        dispatcher_(store_, clock_, pool_, options_.dispatch) {}

  absl::Status Start(const ListenAddress& listen) {
    QB_ASSIGN_OR_RETURN(blobs_,
                        BlobStore::Create(options_.data_dir, blob_index_, clock_, options_.blobs));
    QB_RETURN_IF_ERROR(dispatcher_.Start());
    store_.SetCommitListener([this](const CommitNotice& notice) {
      hub_.Notify(notice.executions);
      if (notice.jobs_changed) {
        hub_.NotifyJobs();
      }
      if (notice.leasable_from_ms.has_value()) {
        dispatcher_.WorkAvailable(*notice.leasable_from_ms);
      }
    });
    logs_.SetListener([this](int64_t execution) { hub_.Notify({execution}); });
    job_service_ = std::make_unique<JobService>(
        JobServiceParts{store_, *blobs_, logs_, hub_, dispatcher_, clock_},
        MakeJobOptions(options_));
    blob_service_ = std::make_unique<BlobService>(*blobs_, BlobServiceOptions());
    worker_service_ =
        std::make_unique<WorkerService>(store_, logs_, dispatcher_, clock_, WorkerServiceOptions());
    server_info_ = std::make_unique<ServerInfo>(dispatcher_, DescribeServer(options_));
    rpcs_.push_back(MakeJobRpc(*job_service_, pool_));
    rpcs_.push_back(MakeBlobRpc(*blob_service_, pool_));
    rpcs_.push_back(MakeWorkerRpc(*worker_service_, pool_));
    rpcs_.push_back(MakeServerInfoRpc(*server_info_, pool_));
    QB_RETURN_IF_ERROR(Listen(listen));
    ticker_ = std::make_unique<Ticker>(options_.tick, [this] {
      dispatcher_.Tick();
      hub_.Tick();
      watch_->last_tick_ms = clock_.MonotonicMs();
    });
    return options_.http_listen.empty() ? absl::OkStatus() : ListenHttp();
  }

  absl::Status ListenHttp() {
    QB_ASSIGN_OR_RETURN(const ListenAddress listen,
                        ParseListenAddress(options_.http_listen, "--http-listen"));
    if (!listen.unix_path.empty()) {
      return absl::InvalidArgumentError("--http-listen: expected 127.0.0.1:PORT");
    }
    watch_->last_tick_ms = clock_.MonotonicMs();
    QB_RETURN_IF_ERROR(
        watch_->metrics.Start({&statistics_, &clock_, [this] { return dispatcher_.ListWorkers(); },
                               options_.data_dir, options_.version}));
    SiteParts parts{
        {*job_service_, *blob_service_, *server_info_, statistics_, clock_,
         [](const HttpRequest&) {
           return Caller{};  // as CallerOf for gRPC: one tenant until there are tokens
         }},
        [this] { return watch_->Alive(clock_.MonotonicMs()); },
        [this] { return watch_->Ready(options_.data_dir, options_.blobs.min_free_bytes); },
        [this] { return watch_->metrics.Scrape(); }};
    HttpServerOptions http;
    http.host = listen.host == "[::1]" ? "::1" : listen.host;
    http.port = listen.port;
    http.on_done = [this](const HttpDone& done) {
      watch_->metrics.OnHttp(done.route, done.status, done.duration);
    };
    QB_ASSIGN_OR_RETURN(http_, StartHttpServer(std::move(http), MakeSite(parts)));
    http_address_ = absl::StrCat("http://", listen.host, ":", http_->port());
    return absl::OkStatus();
  }

  absl::Status Listen(const ListenAddress& listen) {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    grpc::ServerBuilder builder;
    grpc::ResourceQuota quota("qbc-server");
    quota.Resize(kMemoryForCallsBytes);
    builder.SetResourceQuota(quota);
    // Off: two servers would share a port, and each would see half of the calls.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreamsPerConnection);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                               kMinPingIntervalMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    int port = 0;
    builder.AddListeningPort(listen.ToGrpc(), grpc::InsecureServerCredentials(), &port);
    for (const auto& rpc : rpcs_) {
      builder.RegisterService(rpc.get());
    }
    // The socket is made with the mode that the mask leaves: 0600, from its first moment.
    const mode_t mask = umask(0177);
    grpc_ = builder.BuildAndStart();
    umask(mask);
    if (grpc_ == nullptr) {
      return absl::UnavailableError(
          absl::StrCat("--listen: cannot listen on '", listen.ToGrpc(), "': is it in use?"));
    }
    address_ = listen.unix_path.empty() ? absl::StrCat(listen.host, ":", port) : listen.ToGrpc();
    return absl::OkStatus();
  }

  const ServerOptions options_;
  const FileLock folder_lock_;
  const std::optional<FileLock> socket_lock_;
  const SystemClock clock_;
  const std::unique_ptr<ServerWatch> watch_;
  const std::unique_ptr<SqliteDatabase> database_;
  SqliteBlobIndex blob_index_;
  SqliteStatistics statistics_;
  SqliteJobStore store_;
  AttemptLogs logs_;
  TaskPool pool_;
  WatchHub hub_;
  Dispatcher dispatcher_;
  std::unique_ptr<BlobStore> blobs_;
  std::unique_ptr<JobService> job_service_;
  std::unique_ptr<BlobService> blob_service_;
  std::unique_ptr<WorkerService> worker_service_;
  std::unique_ptr<ServerInfo> server_info_;
  std::vector<std::unique_ptr<grpc::Service>> rpcs_;
  std::unique_ptr<grpc::Server> grpc_;
  std::unique_ptr<Ticker> ticker_;
  std::unique_ptr<HttpServer> http_;
  std::string address_;
  std::string http_address_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CompileServer>> BuildServer(ServerOptions options) {
  // gRPC ends itself when its last object goes, and then waits up to 10 s for a poller. One
  // reference that is never given back leaves that to the end of the process.
  static const bool initialized = [] {
    grpc_init();
    return true;
  }();
  static_cast<void>(initialized);
  return BuiltServer::Build(std::move(options));
}

}  // namespace qb::server
