#!/usr/bin/python3
"""Agents that sleep beyond their lease and then go on: nothing of what they say may count.

    tests/bench/fencing.py [--build build/release] [--trials 200] [--agents 8]

In each trial an agent is stopped (SIGSTOP) while it runs a job, the job is started again by another
agent, and the first one is woken (SIGCONT) while that one runs: it has a result by then and tries to
deliver it. Counts stale writes that were accepted: a job that ends before its second run can have, an
event or a result that changes after the end, a second terminal event. Ends with 1 if there is one, and
also when the trials did not test anything (an agent that was stopped did not lose its job)."""

import argparse
import os
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from chaos import ROOT  # noqa: E402

RUN_MS = 1000  # of a compile


class Trials(threading.Thread):
    """One pair of agents, `count` trials."""

    def __init__(self, pair, count, cluster, modules):
        super().__init__(daemon=True)
        self.pair = pair
        self.count = count
        self.cluster = cluster
        self.modules = modules
        self.done = 0
        self.lost = 0
        self.problems = []

    def run(self):
        client = self.modules["client"].Client(self.cluster.address, patience_s=120)
        try:
            for trial in range(self.count):
                self.one(client, trial)
                self.done += 1
        except Exception as error:  # noqa: BLE001: a thread must not die unseen
            self.problems.append(f"{type(error).__name__}: {error}")
        finally:
            client.close()

    def one(self, client, trial):
        checker, job_pb2 = self.modules["checker"], self.modules["job_pb2"]
        model = f"progress 1\nsleep_ms {RUN_MS}\nprogress 60\nwrite_output 2000\n" \
                f"# {self.pair} {trial}".encode()
        job_id = client.submit(model)
        event = client.wait_for(job_id, lambda e: e.WhichOneof("kind") == "progress")
        first = client.get(job_id).worker_id
        process = self.cluster.agents[first]
        # Its compile process goes on, so it has a result to deliver when it wakes.
        process.send_signal(signal.SIGSTOP)
        try:
            second = client.wait_for(
                job_id, lambda e: e.WhichOneof("kind") == "progress" and e.attempt > event.attempt)
        finally:
            process.send_signal(signal.SIGCONT)
        job = client.wait(job_id)
        events = client.events(job_id)
        ran_ms = (events[-1].time.ToNanoseconds() - second.time.ToNanoseconds()) / 1e6
        if ran_ms < 0.9 * RUN_MS:
            self.problems.append(f"job {job_id}: ended {ran_ms:.0f} ms after its second start: that "
                                 "was the first agent's result")
        if job.attempt_count > event.attempt:
            self.lost += 1
        # The first agent has been told by now that its attempt is stale, or will be soon.
        deadline = time.monotonic() + 20
        attempts = os.path.join(self.cluster.work_dir(first), "attempts")
        while os.path.isdir(attempts) and any(
                name.endswith(f"-{event.attempt}") for name in os.listdir(attempts)):
            if time.monotonic() > deadline:
                self.problems.append(f"agent {first} still holds an attempt")
                break
            time.sleep(0.02)
        after = client.get(job_id)
        again = client.events(job_id)
        if [e.SerializeToString(deterministic=True) for e in events] != [
                e.SerializeToString(deterministic=True) for e in again]:
            self.problems.append(f"job {job_id}: events changed after the end")
        if [(a.name, a.sha256) for a in job.artifacts] != [(a.name, a.sha256)
                                                           for a in after.artifacts]:
            self.problems.append(f"job {job_id}: artifacts were replaced")
        self.problems += checker.event_problems(again)
        if after.state != job_pb2.JOB_STATE_SUCCEEDED:
            self.problems.append(f"job {job_id}: {after.failure.message}")
        elif client.download({a.name: a.sha256 for a in after.artifacts}["model.mxq"]) != \
                checker.chaos_output(model, 2000):
            self.problems.append(f"job {job_id}: wrong bytes")


class HandAgent:
    """An agent that is a few calls: it says what the test wants, also what it must not."""

    def __init__(self, name, address, grpc, pb, stub):
        self.name, self.pb = name, pb
        self.epochs = 0
        self.channel = grpc.insecure_channel(address)
        self.worker = stub(self.channel)

    def restart(self):
        """The attempts of the process before are lost at once."""
        self.epochs += 1
        self.epoch = f"00000000-0000-7000-8000-{self.epochs:012x}"

    def sync(self, free_slots, held=()):
        request = self.pb.SyncRequest(worker_id=self.name, epoch=self.epoch, free_slots=free_slots)
        request.held.extend(self.pb.HeldAttempt(key=key) for key in held)
        request.max_wait.seconds = 1 if free_slots else 0
        return self.worker.Sync(request, timeout=10)

    def lease(self):
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            answer = self.sync(1)
            if answer.assignments:
                return answer.assignments[0].key
        raise AssertionError("no lease")


def stale_writes(agents, client, grpc, pb, job_pb2, trials):
    """Every kind of write with every kind of stale key; returns how many were accepted."""
    first, second = agents
    digest = client.upload(b"stale result")
    artifact = job_pb2.Artifact(name="model.mxq", sha256=digest, size_bytes=12)
    accepted = refused = 0
    for trial in range(trials):
        job_id = client.submit(b"progress 1\n# by hand %d" % trial)
        first.restart()
        old = first.lease()
        first.restart()
        first.sync(0)  # the new process has nothing: the attempt is lost
        second.restart()
        new = second.lease()
        before = client.get(job_id).last_event_seq
        for attempt, fence in ((old.attempt, old.fence), (new.attempt, old.fence),
                               (old.attempt, new.fence)):
            key = pb.AttemptKey(execution_id=new.execution_id, attempt=attempt, fence=fence)
            event = pb.AttemptEvent(seq=1)
            event.phase.phase = "stale"
            for call, request in (
                    (first.worker.AppendEvents, pb.AppendEventsRequest(key=key, events=[event])),
                    (first.worker.PutLog, pb.PutLogRequest(key=key, data=b"stale")),
                    (first.worker.CompleteAttempt, pb.CompleteAttemptRequest(
                        key=key, outcome=pb.ATTEMPT_OUTCOME_SUCCEEDED, artifacts=[artifact]))):
                try:
                    call(request, timeout=10)
                    accepted += 1
                except grpc.RpcError as error:
                    refused += error.code() == grpc.StatusCode.FAILED_PRECONDITION
        job = client.get(job_id)
        accepted += job.last_event_seq != before or job.state != job_pb2.JOB_STATE_RUNNING
        client.cancel(job_id)
        try:
            second.worker.CompleteAttempt(pb.CompleteAttemptRequest(
                key=new, outcome=pb.ATTEMPT_OUTCOME_CANCELLED), timeout=10)
        except grpc.RpcError:
            pass  # somebody else has ended it: counted above
    return accepted, refused


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--agents", type=int, default=8)
    parser.add_argument("--parallel", type=int, default=4)
    arguments = parser.parse_args()
    os.environ["QB_BIN_DIR"] = os.path.join(arguments.build, "bin")
    sys.path[:0] = [os.path.join(arguments.build, "gen_py"),
                    os.path.join(ROOT, "tests", "integration")]
    import checker
    import client
    from cluster import Cluster
    from proto.qbc.v1 import job_pb2
    import grpc
    from proto.qbc.v1 import worker_service_pb2 as pb
    from proto.qbc.v1 import worker_service_pb2_grpc
    modules = {"checker": checker, "client": client, "job_pb2": job_pb2}

    start = time.monotonic()
    with Cluster(lease_ttl="30s") as cluster:
        cluster.start_server()
        by_hand = client.Client(cluster.address)
        by_hand.wait_until_ready()
        agents = [HandAgent(name, cluster.address, grpc, pb,
                            worker_service_pb2_grpc.WorkerServiceStub) for name in ("h1", "h2")]
        accepted, refused = stale_writes(agents, by_hand, grpc, pb, job_pb2, arguments.trials)
        by_hand.close()
    print(f"{arguments.trials} trials by hand: {refused} stale writes refused, {accepted} accepted; "
          f"{time.monotonic() - start:.0f} s", flush=True)
    if accepted or refused != 9 * arguments.trials:
        return 1

    start = time.monotonic()
    with Cluster(lease_ttl="1s", slots=1) as cluster:
        cluster.start_server()
        for index in range(arguments.agents):
            cluster.start_agent(f"a{index}")
        threads = [Trials(index, arguments.trials // arguments.parallel, cluster, modules)
                   for index in range(arguments.parallel)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    done = sum(thread.done for thread in threads)
    lost = sum(thread.lost for thread in threads)
    problems = [problem for thread in threads for problem in thread.problems]
    print(f"{done} trials, {lost} in which the stopped agent lost its job, "
          f"{len(problems)} problems; {time.monotonic() - start:.0f} s")
    for problem in problems[:20]:
        print("  " + problem)
    return 0 if not problems and lost >= done // 2 > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
