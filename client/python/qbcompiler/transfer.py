"""Blobs to and from a server. Both go on where they stopped when the connection breaks."""

from __future__ import annotations

import concurrent.futures
import hashlib
import os
import pathlib
import tempfile
import uuid
from typing import Any, Callable, Iterable, Iterator, Optional

import grpc

from .connection import Connection
from .errors import OutputWriteError, ServiceError
from .manifest import Blob

_CHUNK_BYTES = 1 << 20
_BLOBS_PER_QUERY = 1000
_STREAMS = 4
# Below this an upload is sent without asking first how much of it the server has.
_SMALL_BLOB_BYTES = 4 << 20

# Called with bytes done and bytes in all.
Meter = Callable[[int, int], None]


def upload_missing(connection: Connection, blobs: Iterable[Blob], meter: Optional[Meter] = None) -> None:
    """Sends what the server does not have yet, each blob once."""
    by_digest = {blob.sha256: blob for blob in blobs}
    missing = list(_missing(connection, list(by_digest)))
    total = sum(by_digest[digest].size_bytes for digest in missing)
    done = 0
    with concurrent.futures.ThreadPoolExecutor(_STREAMS) as pool:
        uploads = {pool.submit(_upload, connection, by_digest[digest]): digest for digest in missing}
        try:
            for upload in concurrent.futures.as_completed(uploads):
                upload.result()
                done += by_digest[uploads[upload]].size_bytes
                if meter is not None:
                    meter(done, total)
        except BaseException:
            for upload in uploads:
                upload.cancel()
            raise


def _missing(connection: Connection, digests: list[str]) -> Iterator[str]:
    wire = connection.wire
    for start in range(0, len(digests), _BLOBS_PER_QUERY):
        request = wire.FindMissingBlobsRequest(blobs=[
            wire.BlobRef(sha256=digest) for digest in digests[start:start + _BLOBS_PER_QUERY]])
        answer = connection.call("BlobService", "FindMissingBlobs", request)
        yield from (blob.sha256 for blob in answer.missing)


def _messages(connection: Connection, blob: Blob, upload_id: str, offset: int) -> Iterator[Any]:
    wire = connection.wire
    yield wire.WriteBlobRequest(header=wire.WriteBlobHeader(
        sha256=blob.sha256, size_bytes=blob.size_bytes, upload_id=upload_id, offset=offset))
    if not blob.file:
        for start in range(offset, len(blob.content), _CHUNK_BYTES):
            yield wire.WriteBlobRequest(data=blob.content[start:start + _CHUNK_BYTES])
        return
    with open(blob.file, "rb") as file:
        file.seek(offset)
        left = blob.size_bytes - offset
        while left > 0:
            piece = file.read(min(left, _CHUNK_BYTES))
            if not piece:  # became shorter: the server will miss the rest and say so
                return
            left -= len(piece)
            yield wire.WriteBlobRequest(data=piece)


def _upload(connection: Connection, blob: Blob) -> None:
    # A name that a later process finds again: that is how it resumes after a crash of this one.
    upload_id = f"c-{blob.sha256[:40]}"
    write = connection.method("BlobService", "WriteBlob")
    backoff = connection.backoff()
    aborted, offset = 0, 0
    ask = blob.size_bytes > _SMALL_BLOB_BYTES
    while True:
        if ask:
            request = connection.wire.QueryWriteRequest(upload_id=upload_id, sha256=blob.sha256)
            state = connection.call("BlobService", "QueryWrite", request)
            if state.complete:
                return
            offset = min(max(state.committed_bytes, 0), blob.size_bytes)
        ask = True
        try:
            if write(_messages(connection, blob, upload_id, offset)).complete:
                return
        except grpc.RpcError as error:
            if error.code() == grpc.StatusCode.ABORTED:
                aborted += 1
                if aborted > 2:  # somebody else uploads the same bytes; do not wait for them
                    upload_id = uuid.uuid4().hex
            if error.code() != grpc.StatusCode.OUT_OF_RANGE:  # else: the offset is asked for again
                backoff.wait_after(error)


def download(connection: Connection, artifact: Any, path: str, meter: Optional[Meter] = None) -> None:
    """Fetches an artifact into a temporary file, compares its digest and renames it to `path`.
    Errors: ServiceError (DATA_LOSS), OutputWriteError."""
    target = pathlib.Path(path)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise OutputWriteError(f"'{path}': {error}") from error
    try:
        with os.fdopen(handle, "wb") as file:
            digest = _receive(connection, artifact, file, meter)
            file.flush()
            os.fsync(file.fileno())
        if digest != artifact.sha256:
            raise ServiceError(f"the downloaded bytes have SHA-256 {digest}, the job's result has "
                               f"{artifact.sha256}", code="DATA_LOSS")
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)
        os.replace(name, path)
    except OSError as error:
        raise OutputWriteError(f"'{path}': {error}") from error
    finally:
        if os.path.exists(name):
            os.unlink(name)


def _receive(connection: Connection, artifact: Any, file: Any, meter: Optional[Meter]) -> str:
    read = connection.method("BlobService", "ReadBlob")
    backoff = connection.backoff()
    digest, done = hashlib.sha256(), 0
    while done < artifact.size_bytes:
        before = done
        try:
            request = connection.wire.ReadBlobRequest(sha256=artifact.sha256, offset=done)
            for piece in read(request):
                if piece.offset != done or len(piece.data) > artifact.size_bytes - done:
                    raise ServiceError(f"the server sent bytes from {piece.offset} where {done} was "
                                       "next, or too many of them", code="DATA_LOSS")
                file.write(piece.data)
                digest.update(piece.data)
                done += len(piece.data)
                if meter is not None:
                    meter(done, artifact.size_bytes)
            if done == before:
                raise ServiceError(f"the server sent {done} of {artifact.size_bytes} bytes",
                                   code="DATA_LOSS")
        except grpc.RpcError as error:
            if done > before:
                backoff.reset()
            backoff.wait_after(error)
    return digest.hexdigest()
