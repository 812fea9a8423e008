#include "server/build_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <atomic>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"

#include "core/base/status_macros.h"
#include "server/auth/authenticator.h"
#include "server/events/watch_hub.h"
#include "server/http/http_server.h"
#include "server/http/site.h"
#include "server/jobs/sqlite_access_index.h"
#include "server/jobs/sqlite_blob_index.h"
#include "server/jobs/sqlite_database.h"
#include "server/jobs/sqlite_retention.h"
#include "server/jobs/sqlite_statistics.h"
#include "server/listeners.h"
#include "server/process/file_lock.h"
#include "server/quota/disk_guard.h"
#include "server/quota/tenant_gate.h"
#include "server/retention/collector.h"
#include "server/rpc/call_gate.h"
#include "server/rpc/grpc_listener.h"
#include "server/rpc/listen_address.h"
#include "server/rpc/rpc_services.h"
#include "server/runtime/clock.h"
#include "server/runtime/durable_files.h"
#include "server/runtime/task_pool.h"
#include "server/runtime/ticker.h"
#include "server/server_watch.h"
#include "server/service/blob_service.h"
#include "server/service/job_service.h"
#include "server/service/server_info.h"
#include "server/service/worker_service.h"

namespace qb::server {
namespace {

// How often health, and the files that say who may call and how much, are looked at.
constexpr int64_t kRefreshMs = 500;

JobServiceOptions MakeJobOptions(const ServerOptions& options) {
  JobServiceOptions job_options;
  job_options.limits = options.limits;
  job_options.targets = options.targets;
  job_options.retention = options.retention;
  job_options.log = options.log;
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
  limits->set_max_threads(options.limits.max_threads);
  return fixed;
}

// gRPC would take over the socket of a living server without a word.
absl::Status LockSocket(absl::string_view flag, const ListenAddress& listen,
                        std::vector<FileLock>& locks) {
  if (!listen.unix_path.empty()) {
    QB_ASSIGN_OR_RETURN(FileLock lock, FileLock::Take(listen.unix_path + ".lock",
                                                      absl::StrCat(flag, " is in use")));
    locks.push_back(std::move(lock));
  }
  return absl::OkStatus();
}

// What is opened before the server is put together.
struct Opened {
  ListenAddress listen;
  ListenAddress worker_listen;
  std::vector<FileLock> locks;
  std::unique_ptr<ServerWatch> watch;
  std::unique_ptr<SqliteDatabase> database;
  std::unique_ptr<LimitBook> limits;
};

// The store reports to `watch`.
SqliteDatabaseOptions MakeDatabaseOptions(const ServerOptions& options, ServerWatch* watch) {
  SqliteDatabaseOptions database;
  database.writer.on_fatal = [watch, tell = options.on_fatal](const absl::Status& cause) {
    watch->store_failed = true;
    tell(cause);
  };
  database.writer.on_commit = [watch](const CommitTiming& timing) {
    watch->metrics.OnCommit(
        {timing.operations, timing.longest_wait, timing.commit, timing.wal_bytes});
  };
  return database;
}

absl::StatusOr<Opened> OpenFiles(const ServerOptions& options) {
  Opened opened;
  QB_ASSIGN_OR_RETURN(opened.listen, PlanClientListener(options));
  QB_RETURN_IF_ERROR(MakeFolders(options.data_dir));
  QB_ASSIGN_OR_RETURN(FileLock folder_lock,
                      FileLock::Take(options.data_dir + "/lock", "--data-dir is in use"));
  opened.locks.push_back(std::move(folder_lock));
  QB_RETURN_IF_ERROR(LockSocket("--listen", opened.listen, opened.locks));
  if (options.require_credentials) {
    QB_ASSIGN_OR_RETURN(opened.worker_listen, PlanWorkerListener(options));
    QB_RETURN_IF_ERROR(LockSocket("--worker-listen", opened.worker_listen, opened.locks));
  }
  QB_ASSIGN_OR_RETURN(opened.limits, LimitBook::Create(options.limits_file, options.tenant_limits));
  opened.watch = std::make_unique<ServerWatch>();
  QB_ASSIGN_OR_RETURN(opened.database,
                      SqliteDatabase::Open(options.data_dir + "/qbc.db",
                                           MakeDatabaseOptions(options, opened.watch.get())));
  return opened;
}

// Members stand in the order of their making: each uses only those above it.
class BuiltServer final : public CompileServer {
 public:
  static absl::StatusOr<std::unique_ptr<BuiltServer>> Build(ServerOptions options) {
    QB_ASSIGN_OR_RETURN(Opened opened, OpenFiles(options));
    const ListenAddress listen = opened.listen;
    const ListenAddress worker_listen = opened.worker_listen;
    auto server =
        std::unique_ptr<BuiltServer>(new BuiltServer(std::move(options), std::move(opened)));
    QB_RETURN_IF_ERROR(server->Start(listen, worker_listen));
    return server;
  }

  ~BuiltServer() override { Shutdown(absl::ZeroDuration()); }

  const std::string& address() const override { return clients_->address; }
  const std::string& worker_address() const override {
    return workers_ != nullptr ? workers_->address : clients_->address;
  }
  const std::string& http_address() const override { return http_address_; }

  void BeginDrain() override {
    watch_->draining = true;
    UpdateHealth();
    dispatcher_.StopGivingWork();
    if (job_service_ != nullptr) {
      job_service_->StopAccepting();
    }
  }

  void Shutdown(absl::Duration grace) override {
    if (Listeners().empty()) {
      return;
    }
    BeginDrain();
    stopping_ = true;
    dispatcher_.Close();
    hub_.Close();
    if (http_ != nullptr) {
      http_->Shutdown();
    }
    const auto deadline = std::chrono::system_clock::now() + absl::ToChronoMilliseconds(grace);
    for (GrpcListener* listener : Listeners()) {
      listener->grpc->Shutdown(deadline);
      listener->grpc->Wait();
    }
    if (ticker_ != nullptr) {
      ticker_->Stop();
    }
    for (GrpcListener* listener : Listeners()) {
      listener->grpc.reset();
    }
    // What reactors have left behind runs before the store goes.
    pool_.Shutdown();
  }

 private:
  BuiltServer(ServerOptions options, Opened opened)
      : options_(std::move(options)),
        locks_(std::move(opened.locks)),
        watch_(std::move(opened.watch)),
        database_(std::move(opened.database)),
        limits_(std::move(opened.limits)),
        blob_index_(*database_),
        access_(*database_),
        statistics_(*database_),
        store_(*database_, options_.store),
        logs_(options_.data_dir + "/logs", options_.logs),
        pool_(options_.pool_threads, options_.max_queued_calls),
        hub_(clock_, WatchLimits().idle_ms),
        dispatcher_(store_, clock_, pool_, MakeDispatcherOptions()),
        gate_(*limits_, blob_index_, clock_, options_.store.seed),
        overload_(options_.overload, {[this] { return pool_.Delay(); },
                                      [this] { return database_->writer().Delay(); }}),
        disk_([this] { return ReadDiskSpace(options_.data_dir); }, options_.min_free_bytes),
        retention_(*database_),
        sessions_(clock_) {}

  DispatcherOptions MakeDispatcherOptions() const {
    DispatcherOptions dispatch = options_.dispatch;
    dispatch.log = options_.log;
    dispatch.running_limit = [this](const std::string& tenant) {
      return limits_->For(tenant).max_running_jobs;
    };
    return dispatch;
  }

  absl::Status Start(const ListenAddress& listen, const ListenAddress& worker_listen) {
    QB_ASSIGN_OR_RETURN(blobs_,
                        BlobStore::Create(options_.data_dir, blob_index_, clock_, options_.blobs));
    QB_ASSIGN_OR_RETURN(authenticator_,
                        Authenticator::Create(CredentialFilePath(options_.data_dir), clock_));
    QB_RETURN_IF_ERROR(dispatcher_.Start());
    collector_ = std::make_unique<Collector>(
        CollectorParts{retention_, *blobs_, logs_, clock_, absl::SleepFor}, options_.retention,
        [this] { return stopping_.load(); });
    ConnectParts();
    job_service_ =
        std::make_unique<JobService>(JobServiceParts{store_, access_, *blobs_, logs_, hub_,
                                                     dispatcher_, gate_, overload_, disk_, clock_},
                                     MakeJobOptions(options_));
    blob_service_ =
        std::make_unique<BlobService>(*blobs_, access_, gate_, disk_, BlobServiceOptions());
    WorkerServiceOptions worker_options;
    worker_options.log = options_.log;
    worker_service_ = std::make_unique<WorkerService>(store_, logs_, dispatcher_, clock_,
                                                      std::move(worker_options));
    server_info_ = std::make_unique<ServerInfo>(
        ServerInfoParts{dispatcher_, store_, blob_index_, *limits_}, DescribeServer(options_));
    grpc::EnableDefaultHealthCheckService(true);
    if (!options_.require_credentials) {
      // It answers without asking who calls.
      grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    }
    QB_RETURN_IF_ERROR(ListenForClients(listen));
    if (options_.require_credentials) {
      QB_RETURN_IF_ERROR(ListenForWorkers(worker_listen));
    }
    ticker_ = std::make_unique<Ticker>(options_.tick, [this] { Tick(); });
    return options_.http_listen.empty() ? absl::OkStatus() : ListenHttp();
  }

  void ConnectParts() {
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
  }

  absl::Status ListenForClients(const ListenAddress& listen) {
    auto listener = std::make_unique<GrpcListener>(
        listen, options_.require_credentials ? CallGate(*authenticator_) : CallGate(Caller()));
    QB_ASSIGN_OR_RETURN(listener->credentials, MakeServerCredentials(options_.tls));
    const RpcParts parts{pool_, listener->gate};
    listener->services.push_back(MakeJobRpc(*job_service_, parts));
    listener->services.push_back(MakeBlobRpc(*blob_service_, parts));
    listener->services.push_back(MakeServerInfoRpc(*server_info_, parts));
    if (!options_.require_credentials) {
      listener->services.push_back(MakeWorkerRpc(*worker_service_, parts));
    }
    QB_RETURN_IF_ERROR(BindListener("--listen", *listener));
    clients_ = std::move(listener);
    return absl::OkStatus();
  }

  absl::StatusOr<Caller> CallerOf(const HttpRequest& request) const {
    if (!options_.require_credentials) {
      return Caller();
    }
    if (request.authorization.empty()) {
      std::optional<Caller> caller = sessions_.Find(request);
      if (caller.has_value() && authenticator_->StillGood(*caller)) {
        return *std::move(caller);
      }
    }
    return authenticator_->Authenticate({request.authorization, {}});
  }

  absl::Status ListenHttp() {
    QB_ASSIGN_OR_RETURN(const ListenAddress listen, PlanHttpListener(options_));
    watch_->last_tick_ms = clock_.MonotonicMs();
    QB_RETURN_IF_ERROR(
        watch_->metrics.Start({&statistics_, &clock_, [this] { return dispatcher_.ListWorkers(); },
                               options_.data_dir, options_.version}));
    SiteParts parts{
        {*job_service_, *blob_service_, *server_info_, statistics_, clock_,
         [this](const HttpRequest& request) { return CallerOf(request); },
         [this](const Caller& caller) { return authenticator_->StillGood(caller); }},
        sessions_,
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

  absl::Status ListenForWorkers(const ListenAddress& listen) {
    const bool by_reach = !listen.unix_path.empty() || !options_.worker_client_ca.empty();
    auto listener = std::make_unique<GrpcListener>(
        listen, by_reach ? CallGate(WorkerCaller()) : CallGate(*authenticator_));
    QB_ASSIGN_OR_RETURN(listener->credentials, MakeServerCredentials(WorkerTls(options_, listen)));
    const RpcParts parts{pool_, listener->gate};
    listener->services.push_back(MakeWorkerRpc(*worker_service_, parts));
    listener->services.push_back(MakeBlobRpc(*blob_service_, parts));
    QB_RETURN_IF_ERROR(BindListener("--worker-listen", *listener));
    workers_ = std::move(listener);
    return absl::OkStatus();
  }

  // Those that listen.
  std::vector<GrpcListener*> Listeners() const {
    std::vector<GrpcListener*> listeners;
    for (GrpcListener* listener : {clients_.get(), workers_.get()}) {
      if (listener != nullptr && listener->grpc != nullptr) {
        listeners.push_back(listener);
      }
    }
    return listeners;
  }

  void UpdateHealth() {
    absl::MutexLock lock(&health_mutex_);
    const bool serving = watch_->Ready(options_.data_dir, options_.blobs.min_free_bytes).ok();
    for (GrpcListener* listener : Listeners()) {
      SetHealth(*listener, serving);
    }
  }

  void Tick() {
    dispatcher_.Tick();
    hub_.Tick();
    const int64_t now_ms = clock_.MonotonicMs();
    watch_->last_tick_ms = now_ms;
    CollectIfDue(now_ms);
    if (now_ms >= next_refresh_ms_) {
      next_refresh_ms_ = now_ms + kRefreshMs;
      UpdateHealth();
      disk_.Refresh();
      NoteRefresh("credentials", authenticator_->Refresh(), last_refresh_);
      const absl::StatusOr<bool> limits = limits_->Refresh();
      NoteRefresh("limits", limits.status(), last_limits_refresh_);
      if (limits.ok() && *limits) {
        dispatcher_.WorkAvailable(0);  // a tenant may run more now
      }
    }
  }

  // On the pool: a round waits for the disk many times.
  void CollectIfDue(int64_t now_ms) {
    if (now_ms < next_collection_ms_ || stopping_ || collecting_.exchange(true)) {
      return;
    }
    next_collection_ms_ = now_ms + options_.collect_interval_ms;
    pool_.Schedule([this] {
      const absl::StatusOr<CollectedThings> collected = collector_->RunOnce();
      NoteRefresh("removing what is kept no longer", collected.status(), last_collection_);
      if (collected.ok()) {
        watch_->metrics.OnCollection({collected->jobs, collected->blobs, collected->blob_bytes,
                                      absl::FromUnixMillis(clock_.WallMs())});
      }
      if (collected.ok() && !(*collected == CollectedThings())) {
        options_.log(LogLevel::kInfo,
                     absl::StrCat("removed ", collected->jobs, " jobs, ", collected->results,
                                  " stored results, ", collected->blobs, " files of ",
                                  collected->blob_bytes, " bytes, ", collected->uploads,
                                  " unfinished uploads, ", collected->logs, " logs"));
      }
      collecting_ = false;
    });
  }

  // Says once what is wrong with a file.
  void NoteRefresh(absl::string_view what, const absl::Status& refreshed, absl::Status& last) {
    if (!refreshed.ok() && refreshed != last) {
      options_.log(LogLevel::kError, absl::StrCat(what, ": ", refreshed.message()));
    }
    last = refreshed;
  }

  const ServerOptions options_;
  const std::vector<FileLock> locks_;
  const SystemClock clock_;
  const std::unique_ptr<ServerWatch> watch_;
  const std::unique_ptr<SqliteDatabase> database_;
  const std::unique_ptr<LimitBook> limits_;
  SqliteBlobIndex blob_index_;
  SqliteAccessIndex access_;
  SqliteStatistics statistics_;
  SqliteJobStore store_;
  AttemptLogs logs_;
  TaskPool pool_;
  WatchHub hub_;
  Dispatcher dispatcher_;
  TenantGate gate_;
  OverloadGuard overload_;
  DiskGuard disk_;
  SqliteRetention retention_;
  Sessions sessions_;  // of browsers
  std::unique_ptr<BlobStore> blobs_;
  std::unique_ptr<Collector> collector_;
  std::unique_ptr<Authenticator> authenticator_;
  std::unique_ptr<JobService> job_service_;
  std::unique_ptr<BlobService> blob_service_;
  std::unique_ptr<WorkerService> worker_service_;
  std::unique_ptr<ServerInfo> server_info_;
  std::unique_ptr<GrpcListener> clients_;
  std::unique_ptr<GrpcListener> workers_;  // null: agents call through clients_
  int64_t next_refresh_ms_ = 0;            // the ticker's alone
  absl::Status last_refresh_;              // likewise
  absl::Status last_limits_refresh_;       // likewise
  int64_t next_collection_ms_ = 0;         // likewise
  std::atomic<bool> collecting_ = false;
  absl::Status last_collection_;  // of the round that is under way
  std::atomic<bool> stopping_ = false;
  absl::Mutex health_mutex_;  // one change of the health at a time
  std::unique_ptr<Ticker> ticker_;
  std::unique_ptr<HttpServer> http_;
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
