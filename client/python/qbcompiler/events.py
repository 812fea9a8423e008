"""What a compile reports while it runs, and what it answers. The same local and remote."""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Dict, Mapping, Optional, Tuple, Union


@dataclasses.dataclass(frozen=True)
class StatusEvent:
    """A stage began ("calibrate"), or, on a server, the job entered a state ("queued")."""

    state: str
    stage: str = ""
    message: str = ""


@dataclasses.dataclass(frozen=True)
class ProgressEvent:
    """`fraction` is of the whole compile and never goes back; `done` of `total` (0: unknown) counts
    units of the stage. `eta_s`: seconds that are left, None when nobody knows."""

    stage: str
    fraction: float
    done: int = 0
    total: int = 0
    unit: str = ""
    eta_s: Optional[float] = None


@dataclasses.dataclass(frozen=True)
class LogEvent:
    """A message of the compiler. `level`: "debug", "info", "warning" or "error"."""

    level: str
    logger: str
    message: str


Event = Union[StatusEvent, ProgressEvent, LogEvent]
Callback = Callable[[Event], None]


@dataclasses.dataclass(frozen=True)
class OutputFile:
    """A file that was written."""

    path: str
    sha256: str
    size_bytes: int


@dataclasses.dataclass(frozen=True)
class CompileResult:
    """What a compile wrote. `report` is the compiler's: the check against the float model and more.
    `job_id` names the job on the server, None when the compile ran here."""

    outputs: Tuple[OutputFile, ...]
    device: str = ""
    report: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    job_id: Optional[str] = None

    @property
    def path(self) -> str:
        """The first output."""
        return self.outputs[0].path


def event_of_line(line: Mapping[str, Any]) -> Optional[Event]:
    """The event of a status, progress or log line of the JSONL protocol, None for other types."""
    kind = line.get("type")
    if kind == "status":
        return StatusEvent(str(line.get("state", "")), str(line.get("stage", "")))
    if kind == "progress":
        eta = line.get("eta_s")
        return ProgressEvent(str(line.get("stage", "")), float(line.get("fraction", 0)),
                             int(line.get("done", 0)), int(line.get("total", 0)),
                             str(line.get("unit", "")), None if eta is None else float(eta))
    if kind == "log":
        return LogEvent(str(line.get("level", "info")), str(line.get("logger", "")),
                        str(line.get("message", "")))
    return None


def result_of_line(line: Mapping[str, Any]) -> CompileResult:
    """The result line of compile, parse and quantize."""
    outputs = tuple(OutputFile(str(row["path"]), str(row.get("sha256", "")), int(row.get("bytes", 0)))
                    for row in line.get("outputs", ()))
    report: Dict[str, Any] = line.get("report") or {}
    return CompileResult(outputs, str(line.get("device", "")), report)
