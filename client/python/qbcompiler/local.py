"""Runs the qbcompiler program of this machine and reads its JSONL protocol."""

from __future__ import annotations

import collections
import json
import os
import shutil
import signal
import subprocess
import threading
from typing import Any, Deque, Dict, IO, Optional, Sequence

from .errors import CompilerCrashError, InternalError, OutOfMemoryError, QBCompilerError, error_of
from .events import Callback, event_of_line

# Between SIGTERM, which lets the compiler clear away what it began, and SIGKILL.
_GRACE_S = 10.0
_KEPT_STDERR_LINES = 20


class CompilerNotFoundError(QBCompilerError, FileNotFoundError):
    """There is no qbcompiler program on this machine."""

    code = "COMPILER_NOT_FOUND"


def find_compiler() -> str:
    """The program: $QBC_COMPILER, else `qbcompiler` on PATH. Errors: CompilerNotFoundError."""
    named = os.environ.get("QBC_COMPILER", "")
    found = shutil.which(named or "qbcompiler")
    if found is None:
        raise CompilerNotFoundError(
            f"there is no program '{named or 'qbcompiler'}' that can be executed",
            hint="put qbcompiler on PATH, name it in QBC_COMPILER, or name a compile server in "
                 "QBC_SERVER or server=")
    return found


def run_compiler(arguments: Sequence[str], callback: Optional[Callback] = None) -> Dict[str, Any]:
    """Runs one command to its end and returns its result line. Whatever leaves this function early,
    an exception of `callback` or Ctrl-C, ends the process first. Errors: by code."""
    process = subprocess.Popen(
        [find_compiler(), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env={**os.environ, "QBCOMPILER_JSONL": "1"},
        # Ctrl-C is for this process: it passes it on in an order that is known.
        start_new_session=True)
    assert process.stdout is not None and process.stderr is not None
    words: Deque[str] = collections.deque(maxlen=_KEPT_STDERR_LINES)
    reader = threading.Thread(target=_keep_lines, args=(process.stderr, words), daemon=True)
    reader.start()
    try:
        answer = _read_answer(process.stdout, callback)
        process.wait()
    finally:
        _end(process)
        reader.join(timeout=_GRACE_S)
        process.stdout.close()
        process.stderr.close()
    if answer is None:
        raise _without_answer(process.returncode, "\n".join(words))
    if answer["type"] == "error":
        details = answer.get("details") or {}
        raise error_of(str(answer.get("code", "INTERNAL_ERROR")), str(answer.get("message", "")),
                       str(details.get("hint", "")), details)
    return answer


def _read_answer(stream: IO[bytes], callback: Optional[Callback]) -> Optional[Dict[str, Any]]:
    answer = None
    for text in stream:
        try:
            line = json.loads(text)
            if not isinstance(line, dict):
                raise ValueError("not an object")
            event = event_of_line(line)
        except (ValueError, TypeError, RecursionError) as error:
            raise InternalError(f"qbcompiler wrote a line that is not of its protocol: "
                                f"{text[:200]!r} ({error})") from error
        if line.get("type") in ("result", "error"):
            answer = line
        elif event is not None and callback is not None:
            callback(event)
    return answer


def _keep_lines(stream: IO[bytes], words: Deque[str]) -> None:
    for line in stream:
        words.append(line.decode("utf-8", "replace").rstrip())


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(timeout=_GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _without_answer(code: int, words: str) -> QBCompilerError:
    said = f"; its last words: {words}" if words else ""
    if code == -signal.SIGKILL:
        return OutOfMemoryError(f"qbcompiler was killed, most likely for want of memory{said}",
                                hint="use fewer threads or a machine with more memory")
    how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    return CompilerCrashError(f"qbcompiler ended with {how} and no answer{said}",
                              hint="this is a defect of the compiler; please report it")
