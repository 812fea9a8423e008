"""The gRPC interface: messages and methods, made from the descriptors that protoc wrote.

The package carries descriptors and no generated modules: those are tied to the version of protobuf that
wrote them and would claim the top-level name `proto`. The descriptors live in a pool of their own, so
that another copy of the same files in this process does no harm."""

from __future__ import annotations

import importlib.resources
from typing import Any, Callable, Dict, List

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from .errors import InternalError

_DESCRIPTORS = "qbc_v1.binpb"
_PACKAGE = "qbc.v1"


def _load() -> Any:
    try:
        data = importlib.resources.files(__package__).joinpath(_DESCRIPTORS).read_bytes()
    except FileNotFoundError as error:
        raise InternalError(f"the package has no {_DESCRIPTORS}",
                            hint="install it with pip, which runs protoc; a bare checkout lacks this "
                                 "file") from error
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(data).file:
        pool.AddSerializedFile(file.SerializeToString())
    return pool


class Wire:
    """Messages by name (`wire.JobSpec`), enums (`wire.number("JobState", "JOB_STATE_QUEUED")`), and
    methods of services on a channel."""

    def __init__(self) -> None:
        self._pool = _load()
        self._classes: Dict[str, Any] = {}
        # Not all protobufs of today have both spellings.
        get_class = getattr(message_factory, "GetMessageClass", None)
        self._make: Callable[[Any], Any] = (
            get_class if get_class is not None
            else message_factory.MessageFactory(self._pool).GetPrototype)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self._classes:
            descriptor = self._pool.FindMessageTypeByName(f"{_PACKAGE}.{name}")
            self._classes[name] = self._make(descriptor)
        return self._classes[name]

    def number(self, enum: str, name: str) -> int:
        return int(self._enum(enum).values_by_name[name].number)

    def name(self, enum: str, number: int) -> str:
        """The name of a value, "" for one that this package does not know."""
        value = self._enum(enum).values_by_number.get(number)
        return "" if value is None else str(value.name)

    def names(self, enum: str) -> List[str]:
        return [value.name for value in self._enum(enum).values]

    def _enum(self, enum: str) -> Any:
        return self._pool.FindEnumTypeByName(f"{_PACKAGE}.{enum}")

    def method(self, channel: Any, service: str, method: str) -> Callable[..., Any]:
        """The callable of an RPC."""
        found = self._pool.FindServiceByName(f"{_PACKAGE}.{service}").methods_by_name[method]
        request = self._make(found.input_type)
        response = self._make(found.output_type)
        streams = (_streams(found, "client_streaming"), _streams(found, "server_streaming"))
        make = {(False, False): channel.unary_unary, (False, True): channel.unary_stream,
                (True, False): channel.stream_unary, (True, True): channel.stream_stream}[streams]
        call: Callable[..., Any] = make(f"/{_PACKAGE}.{service}/{method}",
                                        request_serializer=request.SerializeToString,
                                        response_deserializer=response.FromString)
        return call


def _streams(method: Any, side: str) -> bool:
    # Older protobufs tell it only in the descriptor's message.
    message = descriptor_pb2.MethodDescriptorProto()
    method.CopyToProto(message)
    return bool(getattr(message, side))


