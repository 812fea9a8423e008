// Moving files between the server's blob store and an attempt's folder, over as many connections
// as it takes.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"

#include "proto/qbc/v1/blob.pb.h"
#include "worker/agent/attempt_directory.h"
#include "worker/agent/stop_signal.h"
#include "worker/agent/worker_stub.h"

namespace qb::worker {

// The server and the attempt for whose tenant it gives and takes blobs.
struct BlobAccess {
  WorkerStub& stub;
  const v1::AttemptKey& attempt;
};

// Writes the blob to the new file `path` (folders are made) and checks size and digest. Goes on
// from where it was after a lost connection, until `stop` is requested.
// Errors: NotFound when the server has no such blob; DataLoss when the bytes are not what the
// manifest says; ResourceExhausted when the disk is full; Cancelled on a stop; Internal.
absl::Status FetchBlob(const BlobAccess& access, const v1::ManifestEntry& entry,
                       const std::string& path, const StopSignal& stop);

// Stores an output as a blob, resuming like FetchBlob until the attempt is abandoned. `upload_id`
// must be the same for every try of these bytes and for no others.
// Errors: Cancelled when abandoned; what the server answers otherwise.
absl::Status StoreBlob(const BlobAccess& access, const OutputFile& file, const std::string& sha256,
                       const std::string& upload_id, const StopSignal& stop);

}  // namespace qb::worker
