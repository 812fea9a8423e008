"""Compiles on a server: uploads, submits, follows, downloads. The same results as on this machine."""

from __future__ import annotations

import dataclasses
import json
import logging
import uuid
from typing import Any, Dict, List, Optional, Tuple

import grpc

from .access import Access
from .config import write_tree
from .connection import Connection
from .errors import ArgumentError, ServiceError, error_of
from .events import Callback, CompileResult, Event, LogEvent, OutputFile, ProgressEvent, StatusEvent
from .manifest import Blob, LocalManifest, dataset_manifest, model_manifest
from .settings import Settings
from .transfer import download, upload_missing

_LOG = logging.getLogger("qbcompiler.remote")
_WATCH_BUDGET_S = 3600.0
# Settings that travel beside the text of a file, by the server's names.
_SPEC_FLAGS = ("device",)


@dataclasses.dataclass
class Job:
    """What a compile on a server needs to know. `output_suffix` tells which artifact is wanted."""

    kind: str  # "COMPILE", "PARSE" or "QUANTIZE"
    model: str
    target_device: str
    output: str
    output_suffix: str
    settings: Settings
    calibration: List[str] = dataclasses.field(default_factory=list)
    evaluation: str = ""
    labels: str = ""
    threads: int = 0
    overrides: Dict[str, Any] = dataclasses.field(default_factory=dict)
    config_save_path: Optional[str] = None


def _manifest(wire: Any, manifest: LocalManifest, blobs: List[Blob]) -> Any:
    blobs.extend(blob for _, blob in manifest.entries)
    return wire.Manifest(main=manifest.main, entries=[
        wire.ManifestEntry(path=path, sha256=blob.sha256, size_bytes=blob.size_bytes)
        for path, blob in manifest.entries])


def _spec(wire: Any, job: Job) -> Tuple[Any, List[Blob]]:
    blobs: List[Blob] = []
    model, warnings = model_manifest(job.model)
    for warning in warnings:
        _LOG.warning("%s", warning)
    overrides = {name: value for name, value in job.settings.flags.items() if name not in _SPEC_FLAGS}
    overrides.update(job.overrides)
    spec = wire.JobSpec(
        kind=wire.number("JobKind", f"JOB_KIND_{job.kind}"), model=_manifest(wire, model, blobs),
        target_device=job.target_device, device=str(job.settings.flags.get("device", "")),
        threads=job.threads,
        config=wire.CompileConfigSource(
            preset=job.settings.preset, file_text=job.settings.text,
            overrides_json=json.dumps(overrides) if overrides else ""))
    for path in job.calibration:
        manifest, _ = dataset_manifest(path)
        spec.calibration.append(_manifest(wire, manifest, blobs))
    if job.evaluation:
        manifest, spec.evaluation_labels = dataset_manifest(job.evaluation, job.labels)
        spec.evaluation.CopyFrom(_manifest(wire, manifest, blobs))
    elif job.labels:
        raise ArgumentError("eval_labels needs eval_data")
    return spec, blobs


def compile_remote(access: Access, job: Job, callback: Optional[Callback]) -> CompileResult:
    """Runs `job` on a server. An exception of `callback` and Ctrl-C cancel the job.
    Errors: by code; ServerUnavailableError when nobody answers."""
    with Connection(access) as connection:
        spec, blobs = _spec(connection.wire, job)

        def meter(done: int, total: int) -> None:
            if callback is not None:
                callback(ProgressEvent("upload", 0.0, done, total, "byte"))

        upload_missing(connection, blobs, meter)
        request = connection.wire.SubmitJobRequest(request_id=str(uuid.uuid4()), spec=spec)
        submitted = connection.call("JobService", "SubmitJob", request).job
        try:
            _save_config(submitted, job)
            _follow(connection, submitted.id, callback)
        except BaseException:
            _cancel(connection, submitted.id)
            raise
        ended = connection.call("JobService", "GetJob",
                                connection.wire.GetJobRequest(job_id=submitted.id))
        return _conclude(connection, ended, job)


def _save_config(submitted: Any, job: Job) -> None:
    if job.config_save_path is None or not submitted.resolved_config_json:
        return
    resolved = json.loads(submitted.resolved_config_json)
    write_tree(job.config_save_path, resolved["config"])
    origins = {path: setting["origin"] for path, setting in resolved["settings"].items()}
    write_tree(f"{job.config_save_path}.origins.json", origins)


def _cancel(connection: Connection, job_id: str) -> None:
    request = connection.wire.CancelJobRequest(job_id=job_id, reason="the Python call ended early")
    try:
        # Once and briefly: whoever interrupts must not wait for a server that is away.
        connection.method("JobService", "CancelJob")(request, timeout=5)
    except grpc.RpcError as error:
        _LOG.warning("job %s could not be cancelled (%s); cancel it with: qbc cancel %s", job_id,
                     error.details(), job_id)


def _follow(connection: Connection, job_id: str, callback: Optional[Callback]) -> None:
    """Passes the job's events on, each once, until the last."""
    watch = connection.method("JobService", "WatchJob")
    backoff = connection.backoff(_WATCH_BUDGET_S)
    seq = 0
    while True:
        stream = watch(connection.wire.WatchJobRequest(job_id=job_id, after_seq=seq))
        try:
            for response in stream:
                backoff.reset()
                for event in response.events:
                    if event.seq <= seq:
                        continue  # seen before the connection was lost
                    seq = event.seq
                    if _pass_on(connection, event, callback):
                        return
            raise _StreamEnded
        except grpc.RpcError as error:
            backoff.wait_after(error)
        finally:
            stream.cancel()


class _StreamEnded(grpc.RpcError):  # type: ignore[misc]
    """The server closed the stream before the job's end: it is going away, and will be back."""

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNAVAILABLE

    def details(self) -> str:
        return "the server ended the stream before the job's end"

    def trailing_metadata(self) -> Tuple[Any, ...]:
        return ()


def _pass_on(connection: Connection, event: Any, callback: Optional[Callback]) -> bool:
    """True for the last event of a job."""
    kind = event.WhichOneof("kind")
    if kind in ("result", "error"):
        return True
    wire = connection.wire
    translated: Optional[Event] = None
    if kind == "state":
        state = wire.name("JobState", event.state.state).replace("JOB_STATE_", "").lower()
        translated = StatusEvent(state, "", event.state.reason)
    elif kind == "phase":
        translated = StatusEvent("running", event.phase.phase)
    elif kind == "progress":
        row = event.progress
        translated = ProgressEvent(row.phase, row.fraction, row.done, row.total, row.unit)
    elif kind == "log":
        level = wire.name("LogSeverity", event.log.severity).replace("LOG_SEVERITY_", "").lower()
        translated = LogEvent(level, event.log.logger, event.log.message)
    if translated is not None and callback is not None:
        callback(translated)
    return False


def _conclude(connection: Connection, ended: Any, job: Job) -> CompileResult:
    state = connection.wire.name("JobState", ended.state)
    if state != "JOB_STATE_SUCCEEDED":
        failure = ended.failure
        details = {**failure.details, "job_id": ended.id}
        raise error_of(failure.reason_name or "INTERNAL_ERROR", failure.message or state, failure.hint,
                       details)
    artifacts = [artifact for artifact in ended.artifacts
                 if artifact.name.endswith(job.output_suffix) or len(ended.artifacts) == 1]
    if not artifacts:
        raise ServiceError(f"job {ended.id} has no result that ends in {job.output_suffix}",
                           code="NOT_FOUND")
    download(connection, artifacts[0], job.output)
    line = json.loads(ended.result_json or "{}")
    output = OutputFile(job.output, artifacts[0].sha256, artifacts[0].size_bytes)
    return CompileResult((output,), str(line.get("device", "")), line.get("report") or {}, ended.id)
