"""Jobs for chaos_compiler, each with what must come out of it."""

import dataclasses
import typing

from checker import chaos_output
from proto.qbc.v1 import job_pb2


@dataclasses.dataclass
class Job:
    name: str
    model: bytes
    state: int = job_pb2.JOB_STATE_SUCCEEDED
    reason: int = job_pb2.FAILURE_REASON_UNSPECIFIED
    output: typing.Optional[bytes] = None
    cancel: bool = False  # to be cancelled once it runs
    path: str = "model.txt"
    alone: bool = False  # equal jobs must not share one run


def succeeding(name, lines, size=1000):
    model = "\n".join(lines + [f"write_output {size}"]).encode()
    return Job(name, model, output=chaos_output(model, size))


def failing(name, lines, reason):
    return Job(name, "\n".join(lines).encode(), job_pb2.JOB_STATE_FAILED, reason)


def cancelled(name, lines):
    return Job(name, "\n".join(lines).encode(), job_pb2.JOB_STATE_CANCELLED, cancel=True)


CRASH = job_pb2.FAILURE_REASON_COMPILER_CRASH


def slow(rng):
    lines = []
    for percent in range(0, 100, 10):
        lines += [f"progress {percent}", f"sleep_ms {rng.randint(10, 100)}"]
    return succeeding("slow", lines, rng.randint(1, 200_000))


KINDS = [
    (6, lambda rng: succeeding("plain", ["stage quantize", "progress 50"], rng.randint(0, 5000))),
    (6, slow),
    (1, lambda rng: succeeding("flood", ["flood 300", "flood_stderr 300"])),
    (2, lambda rng: succeeding("garbage", ["garbage", "partial_line", "garbage", "seq_gap"])),
    (2, lambda rng: succeeding("fork", ["fork_child", "fork_child setsid", "sleep_ms 50"])),
    (1, lambda rng: failing("parse error", ["progress 5", "exit 1 MODEL_PARSE_ERROR bad bytes"],
                            job_pb2.FAILURE_REASON_MODEL_PARSE_ERROR)),
    (1, lambda rng: failing("silent exit", ["exit 3"], CRASH)),
    (1, lambda rng: failing("segv", ["sleep_ms 20", "crash SIGSEGV"], CRASH)),
    (1, lambda rng: failing("two results", ["second_result"], CRASH)),
    (1, lambda rng: cancelled("hang", ["progress 1", "hang"])),
    (1, lambda rng: cancelled("deaf hang", ["ignore_sigterm", "progress 1", "hang"])),
]


def random_job(rng, tag):
    """A job of a random kind; most models are unique, some are shared between jobs."""
    _, make = rng.choices(KINDS, weights=[weight for weight, _ in KINDS])[0]
    job = make(rng)
    comment = f"# {tag if rng.random() < 0.8 else 'shared'}\n".encode()
    job.model = comment + job.model
    if job.output is not None:
        job.output = chaos_output(job.model, len(job.output))
    return job
