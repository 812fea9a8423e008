// What a job asks of its worker.
#pragma once

#include "proto/qbc/v1/job.pb.h"
#include "server/jobs/resources.h"

namespace qb::server {

// spec.resources, and a GPU when the spec says both "gpu" and require-device.
Resources NeedsOf(const qbc::v1::JobSpec& spec);

}  // namespace qb::server
