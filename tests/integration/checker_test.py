"""The checker itself: it must object to each thing that it is there to find."""

import unittest

import checker
from chaos_jobs import Job
from proto.qbc.v1 import event_pb2, job_pb2


def history(*kinds):
    """Events with seq 1..n: "state", "log", "result", "error" or a number (progress)."""
    events = []
    for seq, kind in enumerate(kinds, start=1):
        event = event_pb2.JobEvent(seq=seq, attempt=1)
        if isinstance(kind, float):
            event.progress.fraction = kind
        else:
            getattr(event, kind).SetInParent()
        events.append(event)
    return events


class EventProblems(unittest.TestCase):
    def test_a_good_history_has_none(self):
        self.assertEqual(checker.event_problems(history("state", 0.1, 0.5, "log", "result")), [])

    def test_gaps_duplicates_and_a_late_start_are_found(self):
        for change in (lambda e: e.pop(1), lambda e: e.insert(1, e[1]), lambda e: e.pop(0)):
            events = history("state", "log", "log", "result")
            change(events)
            self.assertTrue(checker.event_problems(events))

    def test_two_ends_no_end_and_something_after_the_end_are_found(self):
        for kinds in (("state", "result", "result"), ("state", "error", "result"), ("state",), (),
                      ("state", "result", "log")):
            self.assertTrue(checker.event_problems(history(*kinds)), kinds)

    def test_progress_and_attempts_that_go_back_are_found(self):
        self.assertTrue(checker.event_problems(history(0.5, 0.4, "result")))
        events = history("state", "log", "result")
        events[0].attempt = 2
        self.assertTrue(checker.event_problems(events))


class FakeClient:
    def __init__(self, events, job, blobs):
        self._events = events
        self._job = job
        self._blobs = blobs

    def events(self, _):
        return self._events

    def get(self, _):
        return self._job

    def download(self, digest):
        return self._blobs[digest]


class JobProblems(unittest.TestCase):
    def setUp(self):
        self.expected = Job("plain", b"model", output=checker.chaos_output(b"model", 10))
        digest = checker.sha256(self.expected.output)
        self.job = job_pb2.Job(state=job_pb2.JOB_STATE_SUCCEEDED, artifacts=[
            job_pb2.Artifact(name="model.mxq", sha256=digest, size_bytes=10)])
        self.blobs = {digest: self.expected.output}
        self.events = history("state", "result")

    def problems(self, seen=None):
        client = FakeClient(self.events, self.job, self.blobs)
        return checker.job_problems(client, "id", self.expected, seen)[0]

    def test_a_good_job_has_none(self):
        self.assertEqual(self.problems(list(self.events)), [])

    def test_another_state_is_found(self):
        self.job.state = job_pb2.JOB_STATE_FAILED
        self.assertTrue(self.problems())
        self.job.failure.reason = job_pb2.FAILURE_REASON_WORKER_LOST  # without any loss
        self.assertTrue(self.problems())

    def test_another_reason_is_found(self):
        self.expected.state = job_pb2.JOB_STATE_FAILED
        self.expected.reason = job_pb2.FAILURE_REASON_COMPILER_CRASH
        self.events = history("state", "error")
        self.job = job_pb2.Job(state=job_pb2.JOB_STATE_FAILED, failure=job_pb2.JobFailure(
            reason=job_pb2.FAILURE_REASON_INTERNAL_ERROR))
        self.assertTrue(self.problems())

    def test_other_bytes_are_found(self):
        digest = self.job.artifacts[0].sha256
        self.blobs[digest] = b"0123456789"
        self.assertTrue(self.problems())
        self.job.artifacts[0].sha256 = checker.sha256(b"0123456789")
        self.blobs[self.job.artifacts[0].sha256] = b"0123456789"
        self.assertTrue(self.problems())

    def test_a_missing_artifact_is_found(self):
        del self.job.artifacts[:]
        self.assertTrue(self.problems())

    def test_a_watcher_that_saw_something_else_is_found(self):
        self.assertTrue(self.problems(history("state", "log", "result")))


if __name__ == "__main__":
    unittest.main()
