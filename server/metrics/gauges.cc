#include "server/metrics/gauges.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"

namespace qb::server {
namespace {

constexpr std::array<const char*, 3> kBands = {"high", "normal", "low"};
constexpr std::array<qbc::v1::JobState, 4> kLiveStates = {
    qbc::v1::JOB_STATE_QUEUED, qbc::v1::JOB_STATE_RUNNING, qbc::v1::JOB_STATE_RETRY_WAIT,
    qbc::v1::JOB_STATE_CANCELLING};

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

double ResidentBytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) {
    return 0;
  }
  std::array<char, 128> text = {};
  const char* line = std::fgets(text.data(), text.size(), file);
  std::fclose(file);
  if (line == nullptr) {
    return 0;
  }
  char* rest = nullptr;
  std::strtoll(line, &rest, 10);
  return static_cast<double>(std::strtoll(rest, nullptr, 10)) *
         static_cast<double>(sysconf(_SC_PAGESIZE));
}

double OpenDescriptors() {
  DIR* folder = opendir("/proc/self/fd");
  if (folder == nullptr) {
    return 0;
  }
  int count = -3;  // ".", "..", and the folder itself
  while (readdir(folder) != nullptr) {
    ++count;
  }
  closedir(folder);
  return count;
}

}  // namespace

prometheus::MetricFamily Gauge(const char* name, const char* help,
                               absl::Span<const LabelledValue> values) {
  prometheus::MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = prometheus::MetricType::Gauge;
  for (const LabelledValue& value : values) {
    prometheus::ClientMetric metric;
    metric.label = value.labels;
    metric.gauge.value = value.value;
    family.metric.push_back(std::move(metric));
  }
  return family;
}

prometheus::MetricFamily Gauge(const char* name, const char* help, double value) {
  return Gauge(name, help, {{{}, value}});
}

void AppendQueue(const StoreStatistics& statistics, int64_t now_ms,
                 std::vector<prometheus::MetricFamily>& families) {
  std::vector<LabelledValue> jobs;
  for (const qbc::v1::JobState state : kLiveStates) {
    const std::string name = qbc::v1::JobState_Name(state);
    const auto found = statistics.jobs.find(state);
    jobs.push_back({{{"state", absl::AsciiStrToLower(absl::StripPrefix(name, "JOB_STATE_"))}},
                    found == statistics.jobs.end() ? 0 : static_cast<double>(found->second)});
  }
  families.push_back(Gauge("qbc_jobs", "Jobs that have not ended, by state.", jobs));
  std::vector<LabelledValue> waiting;
  for (size_t i = 0; i < kBands.size(); ++i) {
    waiting.push_back({{{"band", kBands[i]}}, static_cast<double>(statistics.waiting[i])});
  }
  families.push_back(Gauge("qbc_queue_depth",
                           "Compiles that wait for a worker, by band of their priority.", waiting));
  const int64_t age_ms =
      std::max<int64_t>(0, now_ms - statistics.oldest_queued_ms.value_or(now_ms));
  families.push_back(Gauge("qbc_oldest_queued_job_seconds",
                           "How long the oldest waiting job has been waiting; 0: none waits.",
                           static_cast<double>(age_ms) / 1000));
}

void AppendWorkers(absl::Span<const qbc::v1::WorkerSummary> workers,
                   const std::map<std::string, WorkerGpus>& gpus_of,
                   std::vector<prometheus::MetricFamily>& families) {
  std::vector<LabelledValue> slots;
  std::vector<LabelledValue> busy;
  std::vector<LabelledValue> gpus;
  std::vector<LabelledValue> busy_gpus;
  double draining = 0;
  for (const qbc::v1::WorkerSummary& worker : workers) {
    const std::vector<prometheus::ClientMetric::Label> labels = {{"worker", worker.worker_id()}};
    slots.push_back({labels, static_cast<double>(worker.slots())});
    busy.push_back({labels, static_cast<double>(worker.busy_slots())});
    const auto found = gpus_of.find(worker.worker_id());
    const WorkerGpus own = found == gpus_of.end() ? WorkerGpus() : found->second;
    gpus.push_back({labels, static_cast<double>(own.gpus)});
    busy_gpus.push_back({labels, static_cast<double>(own.busy)});
    draining += worker.draining() ? 1 : 0;
  }
  families.push_back(
      Gauge("qbc_workers", "Workers that are connected.", static_cast<double>(workers.size())));
  families.push_back(
      Gauge("qbc_draining_workers", "Connected workers that take no more jobs.", draining));
  families.push_back(Gauge("qbc_worker_slots", "Compiles that a worker runs at a time.", slots));
  families.push_back(Gauge("qbc_worker_busy_slots", "Compiles that a worker runs now.", busy));
  families.push_back(Gauge("qbc_worker_gpus", "GPUs of a worker.", gpus));
  families.push_back(
      Gauge("qbc_worker_busy_gpus", "GPUs of a worker that jobs have for themselves.", busy_gpus));
}

void AppendProcess(std::vector<prometheus::MetricFamily>& families) {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  prometheus::MetricFamily cpu;
  cpu.name = "process_cpu_seconds_total";
  cpu.help = "Total user and system CPU time spent in seconds.";
  cpu.type = prometheus::MetricType::Counter;
  cpu.metric.emplace_back();
  cpu.metric.back().counter.value = Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
  families.push_back(std::move(cpu));
  families.push_back(
      Gauge("process_resident_memory_bytes", "Resident memory size in bytes.", ResidentBytes()));
  families.push_back(
      Gauge("process_open_fds", "Number of open file descriptors.", OpenDescriptors()));
}

}  // namespace qb::server
