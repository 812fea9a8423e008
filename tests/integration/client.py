"""A client of the service for tests: plain gRPC, written against the .proto files only.

It never gives up while a server is away, and keeps a journal of what the server promised."""

import hashlib
import threading
import time
import uuid

import grpc

from proto.qbc.v1 import blob_pb2, blob_service_pb2, blob_service_pb2_grpc
from proto.qbc.v1 import job_pb2, job_service_pb2, job_service_pb2_grpc
from proto.qbc.v1 import server_info_pb2, server_info_pb2_grpc

TERMINAL = {job_pb2.JOB_STATE_SUCCEEDED, job_pb2.JOB_STATE_FAILED, job_pb2.JOB_STATE_CANCELLED,
            job_pb2.JOB_STATE_EXPIRED}
TRANSIENT = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED,
             grpc.StatusCode.CANCELLED, grpc.StatusCode.ABORTED}
# The transport names a connection that broke at a bad moment in these ways.
BROKEN = ("Stream removed", "Socket closed", "Connection reset", "GOAWAY", "RST_STREAM")


def is_transient(error):
    if error.code() in TRANSIENT:
        return True
    return error.code() in (grpc.StatusCode.UNKNOWN, grpc.StatusCode.INTERNAL) and any(
        word in (error.details() or "") for word in BROKEN)


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def is_terminal_event(event):
    return event.WhichOneof("kind") in ("result", "error")


class Client:
    """Thread-safe. Calls wait for the connection: a channel on which every call fails at once makes
    no progress between the calls."""

    def __init__(self, address, patience_s=60):
        self.channel = grpc.insecure_channel(address, options=[
            ("grpc.initial_reconnect_backoff_ms", 50), ("grpc.min_reconnect_backoff_ms", 2000),
            ("grpc.max_reconnect_backoff_ms", 300), ("grpc.enable_retries", 0)])
        self.jobs = job_service_pb2_grpc.JobServiceStub(self.channel)
        self.blobs = blob_service_pb2_grpc.BlobServiceStub(self.channel)
        self.info = server_info_pb2_grpc.ServerInfoStub(self.channel)
        self.patience_s = patience_s
        self.lock = threading.Lock()
        self.accepted = {}  # job id -> request_id, as answered with OK

    def close(self):
        self.channel.close()

    def call(self, method, request):
        """Tries until an answer comes that is not the transport's."""
        deadline = time.monotonic() + self.patience_s
        while True:
            try:
                return method(request, timeout=10, wait_for_ready=True)
            except grpc.RpcError as error:
                if not is_transient(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def wait_until_ready(self):
        return self.call(self.info.GetCapabilities, server_info_pb2.GetCapabilitiesRequest())

    # ---- blobs

    def missing(self, digests):
        request = blob_service_pb2.FindMissingBlobsRequest(
            blobs=[blob_pb2.BlobRef(sha256=digest) for digest in digests])
        return [blob.sha256 for blob in self.call(self.blobs.FindMissingBlobs, request).missing]

    def write_once(self, data, upload_id, offset, chunk=1 << 20, stop_after=None, on_chunk=None):
        """One WriteBlob stream from `offset`; `stop_after` bytes end it early."""

        def messages():
            yield blob_service_pb2.WriteBlobRequest(header=blob_service_pb2.WriteBlobHeader(
                sha256=sha256(data), size_bytes=len(data), upload_id=upload_id, offset=offset))
            end = len(data) if stop_after is None else min(len(data), offset + stop_after)
            for start in range(offset, end, chunk):
                yield blob_service_pb2.WriteBlobRequest(data=data[start:min(start + chunk, end)])
                if on_chunk is not None:
                    on_chunk(start)

        return self.blobs.WriteBlob(messages(), timeout=60, wait_for_ready=True)

    def committed(self, upload_id, digest=""):
        return self.call(self.blobs.QueryWrite, blob_service_pb2.QueryWriteRequest(
            upload_id=upload_id, sha256=digest))

    def upload(self, data):
        digest = sha256(data)
        if not self.missing([digest]):
            return digest
        upload_id = uuid.uuid4().hex
        deadline = time.monotonic() + self.patience_s
        while True:
            try:
                state = self.committed(upload_id, digest)
                if state.complete or self.write_once(data, upload_id,
                                                     state.committed_bytes).complete:
                    return digest
            except grpc.RpcError as error:
                if not is_transient(error) or time.monotonic() > deadline:
                    raise
            time.sleep(0.05)

    def download(self, digest):
        data = b""
        deadline = time.monotonic() + self.patience_s
        while True:
            try:
                request = blob_service_pb2.ReadBlobRequest(sha256=digest, offset=len(data))
                for piece in self.blobs.ReadBlob(request, timeout=60, wait_for_ready=True):
                    assert piece.offset == len(data), "ReadBlob skipped bytes"
                    data += piece.data
                return data
            except grpc.RpcError as error:
                if not is_transient(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    # ---- jobs

    def submit_request(self, model, request_id=None, path="model.txt", **spec):
        digest = self.upload(model)
        manifest = blob_pb2.Manifest(main=path, entries=[blob_pb2.ManifestEntry(
            path=path, sha256=digest, size_bytes=len(model))])
        config = job_pb2.CompileConfigSource(overrides_json='{"use-random-calib": true}')
        spec.setdefault("target_device", "aries-rb")
        return job_service_pb2.SubmitJobRequest(
            request_id=request_id or str(uuid.uuid4()),
            spec=job_pb2.JobSpec(model=manifest, config=config, **spec))

    def submit(self, model, **spec):
        """Returns the id of a job that the server has accepted."""
        return self.send(self.submit_request(model, **spec)).job.id

    def send(self, request):
        answer = self.call(self.jobs.SubmitJob, request)
        with self.lock:
            known = self.accepted.setdefault(answer.job.id, request.request_id)
        assert known == request.request_id, "two requests got the same job"
        return answer

    def get(self, job_id):
        return self.call(self.jobs.GetJob, job_service_pb2.GetJobRequest(job_id=job_id))

    def cancel(self, job_id):
        return self.call(self.jobs.CancelJob, job_service_pb2.CancelJobRequest(job_id=job_id))

    def watch(self, job_id, after_seq=0):
        """Yields every event after `after_seq` exactly once, over as many connections as needed."""
        deadline = time.monotonic() + self.patience_s
        while True:
            stream = self.jobs.WatchJob(
                job_service_pb2.WatchJobRequest(job_id=job_id, after_seq=after_seq), timeout=300,
                wait_for_ready=True)
            try:
                for response in stream:
                    deadline = time.monotonic() + self.patience_s
                    for event in response.events:
                        after_seq = event.seq
                        yield event
                        if is_terminal_event(event):
                            stream.cancel()
                            return
                raise AssertionError(f"job {job_id}: WatchJob ended without a terminal event")
            except grpc.RpcError as error:
                if not is_transient(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
            finally:
                stream.cancel()

    def wait_for(self, job_id, condition):
        """The first event for which `condition` holds."""
        for event in self.watch(job_id):
            if condition(event):
                return event
        raise AssertionError(f"job {job_id} ended before the event that was waited for")

    def wait(self, job_id):
        """Waits for the end; returns the job."""
        for _ in self.watch(job_id):
            pass
        return self.get(job_id)

    def events(self, job_id):
        return list(self.watch(job_id))

    def list_all(self, page_size=50):
        jobs = []
        token = ""
        while True:
            page = self.call(self.jobs.ListJobs, job_service_pb2.ListJobsRequest(
                page_size=page_size, page_token=token))
            jobs.extend(page.jobs)
            token = page.next_page_token
            if not token:
                return jobs

    def read_log(self, job_id):
        request = job_service_pb2.ReadLogRequest(job_id=job_id)
        return b"".join(piece.data for piece in self.jobs.ReadLog(request, timeout=60,
                                                                  wait_for_ready=True))
