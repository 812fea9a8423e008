// What a worker told about itself, as the queue sees it.
#pragma once

#include "proto/qbc/v1/worker_service.pb.h"
#include "server/jobs/resources.h"
#include "server/jobs/work_queue.h"

namespace qb::server {

Resources ResourcesOf(const qbc::v1::WorkerCapabilities& capabilities);
// Without name and slots.
WorkerRoom RoomOf(const qbc::v1::WorkerCapabilities& capabilities);

}  // namespace qb::server
