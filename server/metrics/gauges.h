// Values that are read at the moment of a scrape, as metric families.
#pragma once

#include <prometheus/metric_family.h>

#include <map>
#include <string>
#include <vector>

#include "absl/types/span.h"

#include "proto/qbc/v1/server_info.pb.h"
#include "server/jobs/sqlite_statistics.h"

namespace qb::server {

struct LabelledValue {
  std::vector<prometheus::ClientMetric::Label> labels;
  double value = 0;
};

prometheus::MetricFamily Gauge(const char* name, const char* help,
                               absl::Span<const LabelledValue> values);
prometheus::MetricFamily Gauge(const char* name, const char* help, double value);

// Queue and jobs that have not ended. `now_ms`: wall time.
void AppendQueue(const StoreStatistics& statistics, int64_t now_ms,
                 std::vector<prometheus::MetricFamily>& families);
void AppendWorkers(absl::Span<const qbc::v1::WorkerSummary> workers,
                   const std::map<std::string, WorkerGpus>& gpus_of,
                   std::vector<prometheus::MetricFamily>& families);
// Memory, descriptors and CPU time of this process, under the names that every client library uses.
void AppendProcess(std::vector<prometheus::MetricFamily>& families);

}  // namespace qb::server
