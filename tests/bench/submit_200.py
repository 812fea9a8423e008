#!/usr/bin/python3
"""Many small jobs at once: the example model, submitted by 16 concurrent clients.

    tests/bench/submit_200.py [--build build/release] [--jobs 200] [--clients 16] [--agents 1]
                              [--slots 2] [--compiler qbcompiler] [--model FILE]

Starts its own server and agents, prints submit latency, queue-to-end times and jobs a second, and
ends with 1 unless every job succeeded and equal inputs gave equal bytes."""

import argparse
import os
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from chaos import ROOT, example_model  # noqa: E402

CACHE_POLICY_BYPASS = 3  # each job is a compile


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def describe(name, seconds):
    print(f"{name}: p50 {percentile(seconds, 0.5) * 1e3:.1f} ms, "
          f"p99 {percentile(seconds, 0.99) * 1e3:.1f} ms, max {max(seconds) * 1e3:.1f} ms")


class Load:
    """What the clients did and how long it took."""

    def __init__(self, cluster, model, path, count, clients):
        self.cluster = cluster
        self.model = model
        self.path = path
        self.count = count
        self.clients = clients
        self.lock = threading.Lock()
        self.submit_s = []
        self.total_s = []
        self.jobs = []
        self.problems = []

    def client_thread(self, share, client_class, event_problems):
        client = client_class(self.cluster.address, patience_s=600)
        try:
            started = {}
            for _ in range(share):
                request = client.submit_request(self.model, path=self.path,
                                                cache_policy=CACHE_POLICY_BYPASS)
                before = time.monotonic()
                job_id = client.send(request).job.id
                with self.lock:
                    self.submit_s.append(time.monotonic() - before)
                started[job_id] = before
            for job_id, before in started.items():
                events = client.events(job_id)
                job = client.get(job_id)
                with self.lock:
                    self.total_s.append(job.finish_time.ToNanoseconds() / 1e9 -
                                        job.create_time.ToNanoseconds() / 1e9)
                    self.jobs.append(job)
                    self.problems += event_problems(events)
        except Exception as error:  # noqa: BLE001
            self.problems.append(f"{type(error).__name__}: {error}")
        finally:
            client.close()

    def run(self, client_class, event_problems):
        shares = [self.count // self.clients + (i < self.count % self.clients)
                  for i in range(self.clients)]
        threads = [threading.Thread(target=self.client_thread,
                                    args=(share, client_class, event_problems)) for share in shares]
        start = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--agents", type=int, default=1)
    parser.add_argument("--slots", type=int, default=os.cpu_count())
    parser.add_argument("--compiler", default="qbcompiler")
    parser.add_argument("--model", default=example_model())
    arguments = parser.parse_args()
    os.environ["QB_BIN_DIR"] = os.path.join(arguments.build, "bin")
    sys.path[:0] = [os.path.join(arguments.build, "gen_py"),
                    os.path.join(ROOT, "tests", "integration")]
    from checker import event_problems
    from client import Client
    from cluster import Cluster
    from proto.qbc.v1 import job_pb2

    model = b"progress 50\n"
    path = "model.txt"
    if arguments.compiler != "chaos_compiler":
        with open(arguments.model, "rb") as file:
            model = file.read()
        path = os.path.basename(arguments.model)
    with Cluster(compiler=arguments.compiler, lease_ttl="10s", slots=arguments.slots) as cluster:
        cluster.start_server()
        for i in range(arguments.agents):
            cluster.start_agent(f"agent{i}")
        ready = Client(cluster.address)
        ready.wait_until_ready()
        ready.close()
        load = Load(cluster, model, path, arguments.jobs, arguments.clients)
        wall_s = load.run(Client, event_problems)
    succeeded = sum(job.state == job_pb2.JOB_STATE_SUCCEEDED for job in load.jobs)
    results = {a.sha256 for job in load.jobs for a in job.artifacts if a.name == "model.mxq"}
    print(f"{arguments.jobs} jobs, {arguments.clients} clients, {arguments.agents} agents with "
          f"{arguments.slots} slots, compiler {arguments.compiler}")
    if load.submit_s:
        describe("submit", load.submit_s)
    if load.total_s:
        describe("accepted to end", load.total_s)
    print(f"{succeeded} of {arguments.jobs} succeeded in {wall_s:.1f} s "
          f"({succeeded / wall_s:.1f} jobs/s), {len(results)} distinct results")
    for problem in load.problems[:20]:
        print("  " + problem)
    return 0 if succeeded == arguments.jobs and len(results) == 1 and not load.problems else 1


if __name__ == "__main__":
    sys.exit(main())
