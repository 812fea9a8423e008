#!/usr/bin/python3
"""Agents that sleep beyond their lease and then go on: nothing of what they say may count.

    tests/bench/fencing.py [--build build/release] [--trials 200] [--agents 8]

In each trial an agent is stopped (SIGSTOP) while it runs a job, the job is run again by another agent,
and the first one is woken (SIGCONT). Counts stale writes that were accepted: events of the first
attempt after its loss, a result that is replaced, a second terminal event. Ends with 1 if there is one,
and also when the trials did not test anything (an agent that was stopped did not lose its job)."""

import argparse
import os
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from chaos import ROOT  # noqa: E402


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
        model = f"progress 1\nsleep_ms 150\nprogress 60\nsleep_ms 50\nwrite_output 2000\n" \
                f"# {self.pair} {trial}".encode()
        job_id = client.submit(model)
        event = client.wait_for(job_id, lambda e: e.WhichOneof("kind") == "progress")
        first = client.get(job_id).worker_id
        process = self.cluster.agents[first]
        process.send_signal(signal.SIGSTOP)
        try:
            job = client.wait(job_id)
            events = client.events(job_id)
        finally:
            process.send_signal(signal.SIGCONT)
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
    modules = {"checker": checker, "client": client, "job_pb2": job_pb2}

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
