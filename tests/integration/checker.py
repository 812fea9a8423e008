"""Decides from what clients saw, and from the events and files that the service hands out, whether
every job ended rightly. Nothing here asks the server for a verdict or a counter."""

import hashlib

from client import is_terminal_event, sha256
from proto.qbc.v1 import job_pb2

# A job that lost this many attempts may have been given up.
# The loss that ends a job is not followed by RETRY_WAIT: after three dead workers there are two.
LOSSES_BEFORE_GIVING_UP = 2
GIVEN_UP = {job_pb2.FAILURE_REASON_WORKER_LOST, job_pb2.FAILURE_REASON_POISON}


def chaos_output(model, size):
    """What chaos_compiler makes of a model."""
    text = ""
    count = 0
    while len(text) < size:
        text += hashlib.sha256(model + str(count).encode()).hexdigest()
        count += 1
    return text[:size].encode()


def event_problems(events):
    """What is wrong with one job's whole history."""
    problems = []
    if [event.seq for event in events] != list(range(1, len(events) + 1)):
        problems.append(f"seqs are {[event.seq for event in events]}")
    terminal = [event for event in events if is_terminal_event(event)]
    if len(terminal) != 1 or not events or not is_terminal_event(events[-1]):
        problems.append(f"{len(terminal)} terminal events, must be one and the last")
    attempts = [event.attempt for event in events if event.attempt > 0]
    if attempts != sorted(attempts):
        problems.append(f"attempts go back: {attempts}")
    fractions = {}
    for event in events:
        if event.WhichOneof("kind") == "progress":
            if event.progress.fraction < fractions.get(event.attempt, 0):
                problems.append(f"progress goes back at seq {event.seq}")
            fractions[event.attempt] = event.progress.fraction
    return problems


def losses(events):
    return sum(1 for event in events if event.WhichOneof("kind") == "state" and
               event.state.state == job_pb2.JOB_STATE_RETRY_WAIT)


def job_problems(client, job_id, expected, seen=None):
    """`expected`: state, reason and output bytes. `seen`: events that a live watcher got."""
    events = client.events(job_id)
    problems = event_problems(events)
    if seen is not None and [e.SerializeToString(deterministic=True) for e in seen] != [
            e.SerializeToString(deterministic=True) for e in events]:
        problems.append("a live watcher saw other events than the history has")
    job = client.get(job_id)
    given_up = (job.state == job_pb2.JOB_STATE_FAILED and job.failure.reason in GIVEN_UP and
                losses(events) >= LOSSES_BEFORE_GIVING_UP)
    if job.state != expected.state and not given_up:
        problems.append(f"state {job_pb2.JobState.Name(job.state)}, expected "
                        f"{job_pb2.JobState.Name(expected.state)}: {job.failure.message}")
    elif job.state == job_pb2.JOB_STATE_FAILED and not given_up:
        if job.failure.reason != expected.reason:
            problems.append(f"reason {job.failure.reason_name}: {job.failure.message}")
    elif job.state == job_pb2.JOB_STATE_SUCCEEDED:
        problems += artifact_problems(client, job, expected.output)
    if events and (events[-1].WhichOneof("kind") == "result") != (
            job.state == job_pb2.JOB_STATE_SUCCEEDED):
        problems.append("the terminal event and the state disagree")
    return [f"job {job_id} ({expected.name}): {problem}" for problem in problems], given_up


def artifact_problems(client, job, output):
    artifacts = {artifact.name: artifact for artifact in job.artifacts}
    if "model.mxq" not in artifacts:
        return [f"artifacts are {sorted(artifacts)}"]
    problems = []
    for artifact in job.artifacts:
        data = client.download(artifact.sha256)
        if sha256(data) != artifact.sha256 or len(data) != artifact.size_bytes:
            problems.append(f"artifact {artifact.name} has other bytes than its digest says")
    if output is not None and client.download(artifacts["model.mxq"].sha256) != output:
        problems.append("the output is not what this model gives")
    return problems
