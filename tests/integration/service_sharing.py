"""Equal work runs once: joining, stored results, cancels; and what work needs of its worker."""

import os
import threading
import unittest
import uuid

import grpc

from client import Client
from proto.qbc.v1 import job_pb2
from service_scenarios import ServiceTest, is_progress


def submit_many(cluster, client, model, count, **spec):
    """`count` equal submissions at the same time; returns the jobs' ids."""
    client.upload(model)
    ids = []
    errors = []

    def submit():
        try:
            own = Client(cluster.address)
            ids.append(own.submit(model, **spec))
            own.close()
        except Exception as error:  # noqa: BLE001: a thread must not die unseen
            errors.append(error)

    threads = [threading.Thread(target=submit) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors[0]
    return ids


class SharedWork(ServiceTest):
    slots = 4

    def model_of(self, *lines):
        return "\n".join(lines + (f"# {uuid.uuid4()}",)).encode()

    def test_concurrent_equal_jobs_run_once_and_get_the_same_result(self):
        self.model = self.model_of("progress 1", "sleep_ms 1500")
        ids = submit_many(self.cluster, self.client, self.model, 20)
        self.client.wait_for(ids[0], is_progress)
        self.assertEqual(len(self.cluster.compiles()), 1)
        digests = set()
        for job_id in ids:
            job, _ = self.finish(job_id)
            self.assert_succeeded(job)
            self.assertEqual(job.attempt_count, 1)
            digests.add(tuple((a.name, a.sha256) for a in job.artifacts))
        self.assertEqual(len(digests), 1)
        self.assertEqual(len(set(ids)), 20)

    def test_cancel_of_all_but_one_leaves_the_compile_alone_and_of_the_last_ends_it(self):
        ids = submit_many(self.cluster, self.client, self.model_of("progress 1", "hang"), 10)
        self.client.wait_for(ids[0], is_progress)
        children = self.cluster.children()
        for job_id in ids[1:]:
            self.assertEqual(self.client.cancel(job_id).state, job_pb2.JOB_STATE_CANCELLED)
            self.finish(job_id)
        self.assertEqual(self.cluster.children(), children)
        self.assertEqual(self.client.get(ids[0]).state, job_pb2.JOB_STATE_RUNNING)
        self.client.cancel(ids[0])
        job, _ = self.finish(ids[0])
        self.assertEqual(job.state, job_pb2.JOB_STATE_CANCELLED)
        self.wait_until(lambda: not self.cluster.children(), "the compile process is still there")

    def test_a_stored_result_answers_at_once_also_after_a_restart(self):
        self.model = self.model_of("progress 1")
        self.finish(self.client.submit(self.model))
        self.cluster.kill_server()
        self.cluster.start_server()
        self.client.wait_until_ready()
        answer = self.client.send(self.client.submit_request(self.model))
        self.assertEqual(answer.job.state, job_pb2.JOB_STATE_SUCCEEDED)
        self.assertTrue(answer.job.cache_hit)
        job, _ = self.finish(answer.job.id)
        self.assert_succeeded(job)
        again = self.client.submit(self.model, cache_policy=job_pb2.CACHE_POLICY_REFRESH)
        job, _ = self.finish(again)
        self.assertFalse(job.cache_hit)
        self.assert_succeeded(job)

    def test_bypass_runs_alone(self):
        model = self.model_of("progress 1", "hang")
        ids = [self.client.submit(model, cache_policy=job_pb2.CACHE_POLICY_BYPASS)
               for _ in range(2)]
        for job_id in ids:
            self.client.wait_for(job_id, is_progress)
        self.assertEqual(len(self.cluster.compiles()), 2)
        for job_id in ids:
            self.client.cancel(job_id)
            self.finish(job_id)

    def test_a_watcher_that_joined_sees_the_whole_history(self):
        self.model = self.model_of("stage one", "progress 1", "sleep_ms 800")
        first = self.client.submit(self.model)
        self.client.wait_for(first, is_progress)
        second = self.client.submit(self.model)
        _, events = self.finish(first)
        _, others = self.finish(second)
        self.assertEqual([e.SerializeToString(deterministic=True) for e in events],
                         [e.SerializeToString(deterministic=True) for e in others])


class Resources(ServiceTest):
    agents = ()

    def agent_with_gpus(self, name, gpus):
        self.cluster.agent_flags = ["--gpus", gpus]
        self.cluster.start_agent(name)

    def visible_gpus(self):
        found = []
        for pid in self.cluster.compiles():
            with open(f"/proc/{pid}/environ", "rb") as file:
                variables = dict(entry.split(b"=", 1) for entry in file.read().split(b"\0") if entry)
            found.append(variables[b"CUDA_VISIBLE_DEVICES"].decode())
        return sorted(found)

    def test_nobody_who_can_is_said_clearly_and_ends_when_somebody_comes(self):
        job_id = self.submit("progress 1", device="gpu", resources=job_pb2.Resources(gpus=1))
        self.assertIn("no worker is connected", self.client.get(job_id).wait_reason)
        self.agent_with_gpus("a", "none")
        self.wait_until(lambda: "1 GPUs" in self.client.get(job_id).wait_reason,
                        "the missing GPU is not named")
        self.agent_with_gpus("b", "7")
        job, _ = self.finish(job_id)
        self.assert_succeeded(job)
        self.assertEqual(job.worker_id, "b")

    def test_each_gpu_belongs_to_one_compile(self):
        self.cluster.slots = 3
        self.agent_with_gpus("a", "3,5")
        ids = [self.submit("progress 1", "hang", resources=job_pb2.Resources(gpus=1))
               for _ in range(2)]
        for job_id in ids:
            self.client.wait_for(job_id, is_progress)
        self.assertEqual(self.visible_gpus(), ["3", "5"])
        waiting = self.submit("progress 1", resources=job_pb2.Resources(gpus=1))
        on_cpu = self.submit("progress 1", "hang", device="cpu")
        self.client.wait_for(on_cpu, is_progress)
        self.assertEqual(self.visible_gpus(), ["", "3", "5"])
        self.assertEqual(self.client.get(waiting).state, job_pb2.JOB_STATE_QUEUED)
        for job_id in ids + [on_cpu]:
            self.client.cancel(job_id)
            self.finish(job_id)
        job, _ = self.finish(waiting)
        self.assertEqual(job.state, job_pb2.JOB_STATE_SUCCEEDED, job.failure.message)

    def test_a_gpu_that_disappears_closes_its_slot(self):
        path = os.path.join(self.cluster.folder, "gpus")
        with open(path, "w") as file:
            file.write("0\n")
        self.cluster.agent_flags = ["--gpus", "file:" + path, "--gpu-check", "100ms"]
        self.cluster.start_agent("a")
        self.wait_until(lambda: any(w.has_gpu for w in self.client.wait_until_ready().workers),
                        "the GPU is not told")
        with open(path, "w") as file:
            file.write("")
        job_id = self.submit("progress 1", resources=job_pb2.Resources(gpus=1))
        self.wait_until(lambda: "1 GPUs" in self.client.get(job_id).wait_reason
                        or self.client.get(job_id).state != job_pb2.JOB_STATE_QUEUED,
                        "the lost GPU is not noticed", timeout_s=30)
        self.client.cancel(job_id)

    def test_impossible_resources_are_refused(self):
        with self.assertRaises(grpc.RpcError) as caught:
            self.submit("progress 1", resources=job_pb2.Resources(gpus=1000))
        self.assertEqual(caught.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)
        self.assertIn("resources.gpus", caught.exception.details())


if __name__ == "__main__":
    unittest.main(verbosity=2)
