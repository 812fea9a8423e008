"""A progress display: one HTML bar in a notebook, one redrawn line on a terminal, nothing elsewhere."""

from __future__ import annotations

import html
import os
import sys
import time
from typing import Any, Optional, TextIO

from .events import Callback, Event, LogEvent, ProgressEvent, StatusEvent

_WIDTH = 24
# Redraws beyond this rate tell nobody anything.
_INTERVAL_S = 0.1


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds + 0.5), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


class ProgressDisplay:
    """Pass it as a callback. `handle` is what IPython's display() returned, or None for `stream`."""

    def __init__(self, handle: Optional[Any] = None, stream: Optional[TextIO] = None) -> None:
        self._handle = handle
        self._stream = stream if stream is not None else sys.stderr
        self._stage = ""
        self._last: Optional[ProgressEvent] = None
        self._drawn_at = float("-inf")

    def __call__(self, event: Event) -> None:
        if isinstance(event, StatusEvent):
            self._stage = event.stage or event.state
            self._draw()
        elif isinstance(event, ProgressEvent):
            self._last, self._stage = event, event.stage
            if event.done >= event.total or time.monotonic() - self._drawn_at >= _INTERVAL_S:
                self._draw()
        elif isinstance(event, LogEvent) and self._handle is None:
            self._stream.write("\r\033[K")  # logging writes its own line here

    def text(self) -> str:
        """Stage, counts, share and time that is left, in words."""
        event = self._last
        if event is None:
            return self._stage
        text = self._stage
        if event.total and event.stage == self._stage:
            text += f" {event.done}/{event.total} {event.unit}"
        text += f"  {event.fraction * 100:.0f} %"
        return text + (f"  {_duration(event.eta_s)} left" if event.eta_s is not None else "")

    def _draw(self) -> None:
        self._drawn_at = time.monotonic()
        fraction = min(max(self._last.fraction if self._last else 0.0, 0.0), 1.0)
        if self._handle is None:
            filled = int(fraction * _WIDTH + 0.5)
            bar = "#" * filled + "." * (_WIDTH - filled)
            self._stream.write(f"\r\033[K[{bar}] {_printable(self.text())}")
            if fraction >= 1:
                self._stream.write("\n")
            self._stream.flush()
            return
        self._handle.update(_Html(fraction, self.text()))


class _Html:
    """What a notebook shows: HTML, or plain text where there is no HTML."""

    def __init__(self, fraction: float, text: str) -> None:
        self._fraction = fraction
        self._text = text

    def _repr_html_(self) -> str:
        return (f'<progress max="1" value="{self._fraction:.3f}" style="width:16em"></progress> '
                f"<span>{html.escape(self._text)}</span>")

    def __repr__(self) -> str:
        return self._text


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)


def _notebook_handle() -> Optional[Any]:
    """IPython's display handle when this runs in a notebook's kernel."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or getattr(shell, "kernel", None) is None:
        return None
    display = __import__("IPython.display", fromlist=["display"]).display
    return display(_Html(0.0, ""), display_id=True)


def default_display() -> Optional[Callback]:
    """The display for this process, or None: not on a terminal, or QBCOMPILER_PROGRESS=0."""
    if os.environ.get("QBCOMPILER_PROGRESS", "").lower() in ("0", "false", "no", "off"):
        return None
    handle = _notebook_handle()
    if handle is not None:
        return ProgressDisplay(handle)
    terminal = os.environ.get("TERM", "dumb") != "dumb" and sys.stderr.isatty()
    return ProgressDisplay() if terminal else None
