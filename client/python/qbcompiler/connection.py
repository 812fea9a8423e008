"""A connection to a compile server: calls that are tried again while the server is away."""

from __future__ import annotations

import functools
import random
import re
import time
from typing import Any, Callable, List, Optional, Tuple, Union

import grpc

from .access import Access
from .errors import ArgumentError, QBCompilerError, ServerUnavailableError, ServiceError, error_of
from .wire import Wire

# A server that restarts is back within this; after it the caller hears about it.
_BUDGET_S = 15.0
_FIRST_DELAY_S = 0.1
_LONGEST_DELAY_S = 3.0
_CALL_TIMEOUT_S = 30.0
_MAX_PEM_BYTES = 4 << 20
_TRANSIENT = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.ABORTED)
# The transport names a connection that broke at a bad moment in these ways.
_BROKEN = ("Stream removed", "Socket closed", "Connection reset", "GOAWAY", "RST_STREAM")

_OPTIONS = (
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.http2.max_pings_without_data", 0),
    # Our own retries set the pace; the channel must not hide a server that is back.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 5_000),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    ("grpc.enable_retries", 0),
    # A proxy setting of the shell must not swallow calls to this machine.
    ("grpc.enable_http_proxy", 0),
)


def channel_target(address: str) -> str:
    """What gRPC calls an address: unix:/path, /path or host:port. Errors: ArgumentError."""
    for prefix in ("unix://", "unix:", ""):
        path = address[len(prefix):]
        if address.startswith(prefix) and (path.startswith("/") or (prefix and path)):
            return f"unix:{path}"
    match = re.fullmatch(r"[^/]+:(\d{1,5})", address)
    if match and 0 < int(match[1]) < 65536:
        return address
    raise ArgumentError(f"server address '{address}': accepted are unix:/path/to/socket, "
                        "/path/to/socket and host:port, e.g. 127.0.0.1:7410")


def is_transient(error: grpc.RpcError) -> bool:
    """Does this kind of failure pass by itself?"""
    if error.code() in _TRANSIENT:
        return True
    return error.code() in (grpc.StatusCode.UNKNOWN, grpc.StatusCode.INTERNAL) and any(
        word in (error.details() or "") for word in _BROKEN)


def translated(error: grpc.RpcError, address: str) -> QBCompilerError:
    """The exception for an answer that stands. A refusal names its code in a trailer."""
    text = error.details() or str(error.code())
    for key, value in error.trailing_metadata() or ():
        if key == "qbc-failure":
            return error_of(str(value), text.removeprefix(f"{value}: ")
                            if hasattr(text, "removeprefix") else text)
    code = error.code()
    if code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
        return ServerUnavailableError(f"no answer from {address}: {text}",
                                      hint="is a server running there?")
    if code in (grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.UNAUTHENTICATED):
        return ServiceError(text, code="NOT_ALLOWED")
    if code == grpc.StatusCode.NOT_FOUND:
        return ServiceError(text, code="NOT_FOUND")
    if code == grpc.StatusCode.RESOURCE_EXHAUSTED:
        return ServiceError(text, code="LIMIT_REACHED")
    if code == grpc.StatusCode.INVALID_ARGUMENT:
        return ArgumentError(text)
    return error_of("INTERNAL_ERROR", f"{code.name}: {text}")


class Backoff:
    """The waits of one operation: doubling, with jitter, until a budget since the first failure is
    spent. reset() after anything that succeeded."""

    def __init__(self, address: str, budget_s: float = _BUDGET_S) -> None:
        self._address = address
        self._budget_s = budget_s
        self.reset()

    def reset(self) -> None:
        self._delay_s = _FIRST_DELAY_S
        self._give_up: Optional[float] = None

    def wait_after(self, error: grpc.RpcError) -> None:
        """Waits, or raises the exception for `error` when waiting is no use or the budget is spent."""
        now = time.monotonic()
        if self._give_up is None:
            self._give_up = now + self._budget_s
        if not is_transient(error) or now >= self._give_up:
            raise translated(error, self._address) from error
        time.sleep(self._delay_s * random.uniform(1.0, 1.25))
        self._delay_s = min(self._delay_s * 2, _LONGEST_DELAY_S)


def _pem(path: str) -> Optional[bytes]:
    if not path:
        return None
    try:
        with open(path, "rb") as file:
            return file.read(_MAX_PEM_BYTES)
    except OSError as error:
        raise ArgumentError(f"'{path}': {error.strerror}") from error


def _channel(access: Access) -> grpc.Channel:
    """Never plain beyond this machine: the token would be there for everybody to read."""
    target = channel_target(access.address)
    socket = target.startswith("unix:")
    local = socket or target.startswith(("127.0.0.1:", "localhost:", "[::1]:"))
    if socket or (local and not access.tls_ca):
        return grpc.insecure_channel(target, options=_OPTIONS)
    credentials = grpc.ssl_channel_credentials(_pem(access.tls_ca), _pem(access.tls_key),
                                               _pem(access.tls_cert))
    return grpc.secure_channel(target, credentials, options=_OPTIONS)


class Connection:
    """Use as a context manager. Calls are safe from several threads."""

    def __init__(self, access: Union[str, Access]) -> None:
        if isinstance(access, str):
            access = Access(access)
        self.address = access.address
        self.wire = Wire()
        self._channel = _channel(access)
        self._metadata: List[Tuple[str, str]] = []
        if access.token:
            self._metadata.append(("authorization", f"Bearer {access.token}"))
        if access.traceparent:
            self._metadata.append(("traceparent", access.traceparent))

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self._channel.close()

    def method(self, service: str, name: str) -> Callable[..., Any]:
        call = self.wire.method(self._channel, service, name)
        if not self._metadata:
            return call
        return functools.partial(call, metadata=self._metadata)

    def backoff(self, budget_s: float = _BUDGET_S) -> Backoff:
        return Backoff(self.address, budget_s)

    def call(self, service: str, name: str, request: Any) -> Any:
        """One answer; the same request may reach the server twice. Errors: by code."""
        method = self.method(service, name)
        backoff = self.backoff()
        while True:
            try:
                return method(request, timeout=_CALL_TIMEOUT_S)
            except grpc.RpcError as error:
                backoff.wait_after(error)
