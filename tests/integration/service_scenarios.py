"""One thing that can go wrong at a time, end to end with chaos_compiler."""

import os
import signal
import threading
import time
import unittest
import uuid

import grpc

from checker import chaos_output, event_problems, losses
from client import Client, sha256
from cluster import Cluster, binary, kill
from proto.qbc.v1 import blob_service_pb2 as pb
from proto.qbc.v1 import job_pb2, job_service_pb2


def is_running(event):
    return event.WhichOneof("kind") == "state" and event.state.state == job_pb2.JOB_STATE_RUNNING


def is_progress(event):
    return event.WhichOneof("kind") == "progress"


def processes_of(space, name):
    """pids of the live processes of that name in a process namespace, as /proc/<pid>/ns/pid names it."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and os.readlink(f"/proc/{entry}/ns/pid") == space:
                with open(f"/proc/{entry}/stat", encoding="utf-8") as file:
                    text = file.read()
                found += [int(entry)] if f"({name})" in text and f"({name}) Z" not in text else []
        except OSError:
            pass  # ended meanwhile, or somebody else's
    return found


class ServiceTest(unittest.TestCase):
    agents = ("a",)
    slots = 2
    server_flags = ()

    def setUp(self):
        self.cluster = self.make_cluster()
        self.addCleanup(self.leave)
        self.cluster.start_server()
        for name in self.agents:
            self.cluster.start_agent(name)
        self.client = Client(self.cluster.address)
        self.addCleanup(self.client.close)
        self.client.wait_until_ready()

    def make_cluster(self):
        return Cluster(slots=self.slots, server_flags=self.server_flags)

    def leave(self):
        result = self._outcome.result
        if any(test is self for test, _ in result.failures + result.errors):
            print(self.cluster.tail_of_logs())
        self.cluster.__exit__(None, None, None)

    def submit(self, *lines, **spec):
        self.model = "\n".join(lines + (f"# {uuid.uuid4()}",)).encode()
        return self.client.submit(self.model, **spec)

    def finish(self, job_id):
        """Waits for the end and checks the whole history; returns job and events."""
        job = self.client.wait(job_id)
        events = self.client.events(job_id)
        self.assertEqual(event_problems(events), [])
        return job, events

    def assert_succeeded(self, job, size=1000):
        self.assertEqual(job.state, job_pb2.JOB_STATE_SUCCEEDED, job.failure.message)
        artifact = {a.name: a for a in job.artifacts}["model.mxq"]
        self.assertEqual(self.client.download(artifact.sha256), chaos_output(self.model, size))

    def assert_failed(self, job, reason, *words):
        self.assertEqual(job.state, job_pb2.JOB_STATE_FAILED)
        self.assertEqual(job.failure.reason, reason, job.failure.message)
        for word in words:
            self.assertIn(word, job.failure.message)

    def kill_children(self):
        for pid in self.cluster.compiles():
            kill(pid)

    def wait_until(self, condition, what, timeout_s=20):
        deadline = time.monotonic() + timeout_s
        while not condition():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.02)


class PlainJobs(ServiceTest):
    def test_a_job_succeeds_with_its_events_and_log(self):
        job_id = self.submit("stage quantize", "progress 40", "log a message", "stderr a line",
                             "write_output 70000")
        job, events = self.finish(job_id)
        self.assert_succeeded(job, 70000)
        self.assertIn("device", job.result_json)
        self.assertNotIn(self.cluster.folder, job.result_json)
        phases = [e.phase.phase for e in events if e.WhichOneof("kind") == "phase"]
        self.assertIn("quantize", phases)
        self.assertIn("a message", [e.log.message for e in events if e.WhichOneof("kind") == "log"])
        log = self.client.read_log(job_id).decode()
        self.assertIn("a line\n", log)
        self.assertIn("a message", log)

    def test_an_error_of_the_compiler_keeps_its_code_and_message(self):
        job, _ = self.finish(self.submit("exit 1 UNSUPPORTED_OPERATOR node 'x': Foo"))
        self.assert_failed(job, job_pb2.FAILURE_REASON_UNSUPPORTED_OPERATOR, "node 'x': Foo")

    def test_a_crash_names_its_signal(self):
        job, _ = self.finish(self.submit("stage import", "stderr boom", "crash SIGSEGV"))
        self.assert_failed(job, job_pb2.FAILURE_REASON_COMPILER_CRASH, "signal 11", "boom")

    def test_a_silent_exit_names_its_code(self):
        job, _ = self.finish(self.submit("exit 7"))
        self.assert_failed(job, job_pb2.FAILURE_REASON_COMPILER_CRASH, "code 7")

    def test_a_result_without_a_file_is_a_crash(self):
        job, _ = self.finish(self.submit("no_output"))
        self.assert_failed(job, job_pb2.FAILURE_REASON_COMPILER_CRASH, "model.mxq")

    def test_a_link_as_output_is_not_followed(self):
        job, _ = self.finish(self.submit("link_output /etc/passwd"))
        self.assert_failed(job, job_pb2.FAILURE_REASON_SANDBOX_VIOLATION)

    def test_a_flood_is_bounded_and_the_job_succeeds(self):
        job_id = self.submit("flood 8000", "flood_stderr 8000")
        job, events = self.finish(job_id)
        self.assert_succeeded(job)
        self.assertLess(len(events), 2100)
        log = self.client.read_log(job_id)
        self.assertLess(len(log), 8 << 20)
        self.assertIn(b"7999 yyy", log)

    def test_garbage_on_stdout_is_told_and_survived(self):
        job, events = self.finish(self.submit("garbage", "partial_line", "garbage", "seq_gap"))
        self.assert_succeeded(job)
        self.assertTrue(any("outside its protocol" in e.log.message for e in events))

    def test_no_process_outlives_its_job(self):
        job, _ = self.finish(self.submit("fork_child", "fork_child setsid", "sleep_ms 20"))
        self.assert_succeeded(job)
        self.wait_until(lambda: not self.cluster.children(), "a process of the job is still there")

    def test_a_run_timeout_ends_the_process(self):
        spec_timeout = {"run_timeout": {"seconds": 1}}
        job, _ = self.finish(self.submit("hang", **spec_timeout))
        self.assert_failed(job, job_pb2.FAILURE_REASON_TIMEOUT)

    def test_the_same_request_twice_is_one_job(self):
        request = self.client.submit_request(b"sleep_ms 10", request_id=str(uuid.uuid4()))
        first = self.client.send(request)
        again = self.client.send(request)
        self.assertEqual(first.job.id, again.job.id)
        self.assertTrue(again.replayed)
        other = self.client.submit_request(b"progress 1", request_id=request.request_id)
        with self.assertRaises(grpc.RpcError) as caught:
            self.client.send(other)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.ALREADY_EXISTS)
        self.finish(first.job.id)
        self.assertEqual(len(self.client.list_all()), 1)

    def test_concurrent_submits_of_one_request_are_one_job(self):
        request = self.client.submit_request(b"progress 7", request_id=str(uuid.uuid4()))
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(self.client.send(request)))
                   for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len({answer.job.id for answer in answers}), 1)
        self.assertEqual(sum(not answer.replayed for answer in answers), 1)

    def test_a_job_with_missing_blobs_is_refused(self):
        request = self.client.submit_request(b"progress 1")
        request.spec.model.entries[0].sha256 = "0" * 64
        with self.assertRaises(grpc.RpcError) as caught:
            self.client.send(request)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.FAILED_PRECONDITION)
        self.assertIn("0" * 64, caught.exception.details())

    def test_a_manifest_path_cannot_leave_its_folder(self):
        for path in ("../../etc/passwd", "/etc/passwd", "a/../b", "a\\b", ""):
            request = self.client.submit_request(b"progress 1")
            request.spec.model.entries[0].path = path
            request.spec.model.main = path
            with self.assertRaises(grpc.RpcError) as caught:
                self.client.send(request)
            self.assertEqual(caught.exception.code(), grpc.StatusCode.INVALID_ARGUMENT, path)


class Cancels(ServiceTest):
    def cancel_running(self, *lines):
        job_id = self.submit(*lines)
        self.client.wait_for(job_id, is_progress)
        started = time.monotonic()
        self.client.cancel(job_id)
        job, _ = self.finish(job_id)
        self.assertEqual(job.state, job_pb2.JOB_STATE_CANCELLED)
        self.wait_until(lambda: not self.cluster.children(), "the compile process is still there")
        return time.monotonic() - started

    def test_a_hanging_compile_is_cancelled(self):
        self.cancel_running("progress 1", "hang")

    def test_a_compile_that_ignores_sigterm_is_killed_after_the_grace(self):
        self.assertGreater(self.cancel_running("ignore_sigterm", "fork_child setsid", "progress 1",
                                               "hang"), 0.4)

    def test_nothing_stays_of_compiles_that_left_daemons(self):
        for _ in range(5):
            job_id = self.submit("ignore_sigterm", "fork_child", "fork_child setsid", "fork_child daemon",
                                 "progress 1", "hang")
            self.client.wait_for(job_id, is_progress)
            compiles = self.cluster.compiles()
            # The daemon has no environment, but it lives in the same process namespace.
            space = os.readlink(f"/proc/{compiles[0]}/ns/pid")
            self.assertNotEqual(space, os.readlink("/proc/self/ns/pid"))
            self.wait_until(lambda: len(processes_of(space, "chaos_compiler")) == 4, "no daemon was left")
            self.client.cancel(job_id)
            job, _ = self.finish(job_id)
            self.assertEqual(job.state, job_pb2.JOB_STATE_CANCELLED)
            self.assertEqual(processes_of(space, "chaos_compiler"), [])
            attempts = os.path.join(self.cluster.work_dir("a"), "attempts")
            self.wait_until(lambda: not os.listdir(attempts), "the attempt's folder is still there")

    def test_a_queued_job_is_cancelled_at_once(self):
        blockers = [self.submit("progress 1", "hang") for _ in range(self.slots)]
        for blocker in blockers:
            self.client.wait_for(blocker, is_progress)
        job_id = self.submit("progress 1")
        self.assertEqual(self.client.cancel(job_id).state, job_pb2.JOB_STATE_CANCELLED)
        for blocker in blockers:
            self.client.cancel(blocker)
            self.finish(blocker)
        self.finish(job_id)

    def test_a_finished_job_stays_as_it_is(self):
        job_id = self.submit("progress 1")
        self.finish(job_id)
        self.assertEqual(self.client.cancel(job_id).state, job_pb2.JOB_STATE_SUCCEEDED)


class Kills(ServiceTest):
    def test_a_killed_compile_process_is_run_again(self):
        job_id = self.submit("progress 1", "sleep_ms 1500")
        self.client.wait_for(job_id, is_progress)
        self.kill_children()
        job, events = self.finish(job_id)
        self.assert_succeeded(job)
        self.assertEqual(losses(events), 1)
        self.assertEqual(job.attempt_count, 2)

    def test_a_killed_agent_takes_its_compile_process_along(self):
        job_id = self.submit("ignore_sigterm", "fork_child setsid", "progress 1", "hang")
        self.client.wait_for(job_id, is_progress)
        before = set(self.cluster.children())
        self.cluster.kill_agent("a")
        self.cluster.start_agent("a")
        self.client.wait_for(job_id, lambda e: is_progress(e) and e.attempt == 2)
        self.assertFalse(before & set(self.cluster.children()))
        self.client.cancel(job_id)
        job, _ = self.finish(job_id)
        self.assertEqual(job.state, job_pb2.JOB_STATE_CANCELLED)

    def test_the_lease_of_an_agent_that_never_returns_runs_out(self):
        job_id = self.submit("progress 1", "sleep_ms 300")
        self.client.wait_for(job_id, is_progress)
        self.cluster.kill_agent("a")
        self.cluster.start_agent("b")
        job, events = self.finish(job_id)
        self.assert_succeeded(job)
        self.assertEqual(job.worker_id, "b")
        self.assertEqual(losses(events), 1)

    def test_a_killed_server_costs_no_attempt(self):
        job_id = self.submit("progress 1", "sleep_ms 400", "progress 50", "sleep_ms 400")
        self.client.wait_for(job_id, is_progress)
        children = self.cluster.children()
        self.cluster.kill_server()
        time.sleep(0.3)
        self.assertEqual(self.cluster.children(), children)
        self.cluster.start_server()
        job, events = self.finish(job_id)
        self.assert_succeeded(job)
        self.assertEqual(job.attempt_count, 1)
        self.assertEqual(losses(events), 0)

    def test_a_compile_that_ends_while_the_server_is_away_is_reported_later(self):
        job_id = self.submit("progress 1", "sleep_ms 200")
        self.client.wait_for(job_id, is_progress)
        self.cluster.kill_server()
        self.wait_until(lambda: not self.cluster.children(), "the compile did not end")
        self.cluster.start_server()
        job, _ = self.finish(job_id)
        self.assert_succeeded(job)
        self.assertEqual(job.attempt_count, 1)

    def test_an_agent_that_is_stopped_politely_gives_its_job_back(self):
        job_id = self.submit("progress 1", "sleep_ms 1000")
        self.client.wait_for(job_id, is_progress)
        self.cluster.kill_agent("a", signal.SIGTERM)
        self.assertEqual(self.cluster.children(), [])
        self.cluster.start_agent("b")
        job, _ = self.finish(job_id)
        self.assert_succeeded(job)
        self.assertEqual(job.attempt_count, 2)

    def test_a_server_that_is_stopped_politely_costs_no_attempt(self):
        job_id = self.submit("progress 1", "sleep_ms 500")
        self.client.wait_for(job_id, is_progress)
        self.cluster.kill_server(signal.SIGTERM)
        self.assertEqual(self.cluster.server.returncode, 0)
        self.cluster.start_server()
        job, _ = self.finish(job_id)
        self.assert_succeeded(job)
        self.assertEqual(job.attempt_count, 1)


class LocalWorkers(ServiceTest):
    """The agents that a server starts itself."""

    agents = ()
    server_flags = ("--local-workers", "2", "--compiler-binary", binary("chaos_compiler"))

    def test_they_run_jobs_and_end_with_the_server(self):
        job, _ = self.finish(self.submit("progress 1"))
        self.assert_succeeded(job)

    def test_they_die_with_a_killed_server_and_the_next_one_runs_their_job(self):
        job_id = self.submit("ignore_sigterm", "progress 1", "sleep_ms 1500")
        self.client.wait_for(job_id, is_progress)
        before = set(self.cluster.children())
        self.cluster.kill_server()
        self.cluster.start_server()
        job, _ = self.finish(job_id)
        self.assert_succeeded(job)
        self.assertEqual(job.attempt_count, 2)
        self.assertFalse(before & set(self.cluster.children()))


class StaleAttempts(ServiceTest):
    slots = 1

    def test_an_agent_that_slept_beyond_its_lease_changes_nothing(self):
        job_id = self.submit("progress 1", "sleep_ms 300", "progress 60", "sleep_ms 300")
        self.client.wait_for(job_id, is_progress)
        self.cluster.agents["a"].send_signal(signal.SIGSTOP)
        self.cluster.start_agent("b")
        job, events = self.finish(job_id)
        self.assert_succeeded(job)
        self.assertEqual((job.worker_id, job.attempt_count), ("b", 2))
        # Its compile process has a result by now that it must not deliver.
        self.cluster.agents["a"].send_signal(signal.SIGCONT)
        self.wait_until(lambda: not os.listdir(
            os.path.join(self.cluster.work_dir("a"), "attempts")), "a still holds its attempt")
        self.assertEqual([e.SerializeToString() for e in self.client.events(job_id)],
                         [e.SerializeToString() for e in events])
        # And it works on.
        self.cluster.kill_agent("b", signal.SIGTERM)
        job, _ = self.finish(self.submit("progress 1"))
        self.assert_succeeded(job)
        self.assertEqual(job.worker_id, "a")


class Watching(ServiceTest):
    def test_a_watch_goes_on_after_a_sequence_number(self):
        job_id = self.submit(*[line for i in range(10) for line in (f"stage s{i}", "sleep_ms 20")])
        _, events = self.finish(job_id)
        self.assertGreater(len(events), 10)
        for after in (0, 1, len(events) - 1):
            rest = list(self.client.watch(job_id, after_seq=after))
            self.assertEqual([e.seq for e in rest], list(range(after + 1, len(events) + 1)))

    def test_a_watch_after_the_end_gives_nothing_and_ends(self):
        job_id = self.submit("progress 1")
        _, events = self.finish(job_id)
        stream = self.client.jobs.WatchJob(job_service_pb2.WatchJobRequest(
            job_id=job_id, after_seq=len(events)), timeout=10)
        self.assertEqual([e for response in stream for e in response.events], [])

    def test_many_watchers_see_the_same(self):
        job_id = self.submit(*[line for i in range(20) for line in (f"progress {i}", "sleep_ms 10")])
        seen = []
        threads = [threading.Thread(target=lambda: seen.append(self.client.events(job_id)))
                   for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(seen), 16)
        self.assertEqual(len({tuple(e.SerializeToString(deterministic=True) for e in events)
                              for events in seen}), 1)

    def test_a_watcher_survives_the_server(self):
        job_id = self.submit(*[line for i in range(20) for line in (f"stage s{i}", "sleep_ms 50")])
        seen = []
        thread = threading.Thread(target=lambda: seen.extend(self.client.watch(job_id)))
        thread.start()
        for _ in range(3):
            time.sleep(0.2)
            self.cluster.kill_server()
            self.cluster.start_server()
        thread.join()
        _, events = self.finish(job_id)
        self.assertEqual([e.SerializeToString(deterministic=True) for e in seen],
                         [e.SerializeToString(deterministic=True) for e in events])

    def test_a_dashboard_sees_every_job_reach_its_end(self):
        first = self.submit("progress 1")
        page = self.client.jobs.ListJobs(job_service_pb2.ListJobsRequest(), timeout=10)
        stream = self.client.jobs.WatchJobs(
            job_service_pb2.WatchJobsRequest(after_revision=page.revision), timeout=60)
        wanted = {first} | {self.submit("progress 1") for _ in range(5)}
        states, revisions = {}, []
        for response in stream:
            revisions.append(response.revision)
            states.update({job.id: job.state for job in response.jobs})
            if all(states.get(job_id) == job_pb2.JOB_STATE_SUCCEEDED for job_id in wanted):
                break
        stream.cancel()
        self.assertEqual(revisions, sorted(revisions))
        counts = self.client.jobs.CountJobs(job_service_pb2.CountJobsRequest(), timeout=10).counts
        self.assertEqual({c.state: c.count for c in counts}, {job_pb2.JOB_STATE_SUCCEEDED: 6})

    def test_a_log_is_followed_to_its_end(self):
        job_id = self.submit(*[line for i in range(10) for line in (f"stderr line {i}", "sleep_ms 50")])
        self.client.wait_for(job_id, lambda e: e.attempt > 0)
        request = job_service_pb2.ReadLogRequest(job_id=job_id, follow=True)
        log = b"".join(p.data for p in self.client.jobs.ReadLog(request, timeout=60))
        self.assertIn(b"line 9", log)
        self.finish(job_id)
        self.assertEqual(log, self.client.read_log(job_id))
        tail = job_service_pb2.ReadLogRequest(job_id=job_id, offset=-7)
        self.assertEqual(b"".join(p.data for p in self.client.jobs.ReadLog(tail, timeout=60)),
                         log[-7:])

    def test_lists_are_complete_over_pages(self):
        ids = {self.submit("progress 1") for _ in range(7)}
        self.assertEqual({job.id for job in self.client.list_all(page_size=3)}, ids)
        for job_id in ids:
            self.finish(job_id)


class Uploads(ServiceTest):
    agents = ()

    def setUp(self):
        super().setUp()
        self.data = os.urandom(1 << 20) * 8

    def test_an_upload_goes_on_where_it_was(self):
        upload_id = uuid.uuid4().hex

        def messages():
            yield pb.WriteBlobRequest(header=pb.WriteBlobHeader(
                sha256=sha256(self.data), size_bytes=len(self.data), upload_id=upload_id))
            for start in range(0, 4 << 20, 1 << 20):
                yield pb.WriteBlobRequest(data=self.data[start:start + (1 << 20)])

        try:
            self.client.blobs.WriteBlob(messages(), timeout=20)
        except grpc.RpcError:
            pass  # a stream that ends early may be answered either way
        self.wait_until(lambda: self.client.committed(upload_id).committed_bytes > 0,
                        "nothing of a broken upload is kept")
        committed = self.client.committed(upload_id).committed_bytes
        self.assertLessEqual(committed, 4 << 20)
        self.assertEqual(self.client.missing([sha256(self.data)]), [sha256(self.data)])
        answer = self.client.write_once(self.data, upload_id, committed)
        self.assertTrue(answer.complete)
        self.assertEqual(self.client.download(sha256(self.data)), self.data)

    def test_an_upload_survives_a_killed_server(self):
        upload_id = uuid.uuid4().hex
        killed = threading.Event()

        def kill_in_the_middle(start):
            if start == 4 << 20:
                self.cluster.kill_server()
                killed.set()

        with self.assertRaises(grpc.RpcError):
            self.client.write_once(self.data, upload_id, 0, on_chunk=kill_in_the_middle)
        self.assertTrue(killed.wait(20))
        self.cluster.start_server()
        self.client.wait_until_ready()
        committed = self.client.committed(upload_id).committed_bytes
        self.assertLessEqual(committed, 5 << 20)
        self.assertTrue(self.client.write_once(self.data, upload_id, committed).complete)
        self.assertEqual(self.client.download(sha256(self.data)), self.data)

    def test_wrong_bytes_are_refused(self):
        messages = [pb.WriteBlobRequest(header=pb.WriteBlobHeader(
            sha256="a" * 64, size_bytes=5, upload_id="x")), pb.WriteBlobRequest(data=b"hello")]
        with self.assertRaises(grpc.RpcError) as caught:
            self.client.blobs.WriteBlob(iter(messages), timeout=20)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)
        self.assertEqual(self.client.missing(["a" * 64]), ["a" * 64])

    def test_a_blob_that_is_there_is_not_missing_and_survives_the_server(self):
        digest = self.client.upload(b"some bytes")
        self.cluster.kill_server()
        self.cluster.start_server()
        self.assertEqual(self.client.missing([digest, "b" * 64]), ["b" * 64])
        self.assertEqual(self.client.download(digest), b"some bytes")


if __name__ == "__main__":
    unittest.main(verbosity=2)
