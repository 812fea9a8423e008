"""Which files a .onnx file names as external data, read from its bytes without the onnx package."""

from __future__ import annotations

from typing import Dict, Iterator, List, Optional, Tuple

_MOST_DEPTH = 100

# (message, field) -> message to descend into: the numbers of onnx.proto3, which never change.
_DESCENTS: Dict[Tuple[str, int], str] = {
    ("model", 7): "graph", ("model", 25): "function",
    ("graph", 1): "node", ("graph", 5): "tensor", ("graph", 15): "sparse",
    ("function", 7): "node",
    ("node", 5): "attribute",
    ("attribute", 5): "tensor", ("attribute", 6): "graph", ("attribute", 10): "tensor",
    ("attribute", 11): "graph", ("attribute", 22): "sparse", ("attribute", 23): "sparse",
    ("sparse", 1): "tensor", ("sparse", 2): "tensor",
    ("tensor", 13): "entry",
}


class _Damaged(Exception):
    pass


def _varint(data: memoryview, at: int) -> Tuple[int, int]:
    value = 0
    for shift in range(0, 64, 7):
        if at >= len(data):
            raise _Damaged
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise _Damaged


def _fields(data: memoryview) -> Iterator[Tuple[int, Optional[memoryview]]]:
    """(number, bytes of a length-delimited field or None), up to the end or to damage."""
    at = 0
    try:
        while at < len(data):
            tag, at = _varint(data, at)
            kind = tag & 7
            if kind == 0:
                _, at = _varint(data, at)
                yield tag >> 3, None
                continue
            if kind == 2:
                size, at = _varint(data, at)
            elif kind in (1, 5):
                size = 8 if kind == 1 else 4
            else:  # groups do not exist in ONNX
                return
            if size > len(data) - at:
                return
            yield tag >> 3, data[at:at + size] if kind == 2 else None
            at += size
    except _Damaged:
        return


def _walk(message: str, data: memoryview, depth: int, found: List[str]) -> None:
    if message == "entry":
        texts = {number: bytes(text).decode("utf-8", "surrogateescape")
                 for number, text in _fields(data) if text is not None}
        if texts.get(1) == "location" and texts.get(2, "") not in found:
            found.append(texts.get(2, ""))
        return
    if depth > _MOST_DEPTH:
        return
    for number, text in _fields(data):
        into = _DESCENTS.get((message, number))
        if into is not None and text is not None:
            _walk(into, text, depth + 1, found)


def external_data_locations(model: memoryview) -> List[str]:
    """The locations, each once, in the order in which the model names them. A damaged model gives
    what stands before the damage: the compiler will say what is wrong with it."""
    found: List[str] = []
    _walk("model", model, 0, found)
    return found
