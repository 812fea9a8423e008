#!/usr/bin/python3
"""Equal work at the same time: one execution, equal results, cancels that hurt nobody, answers from
stored results.

    tests/bench/sharing.py [--build build/release] [--jobs 500] [--answers 300]

Prints how many compile processes ran, how long the last cancel took to end them, and the latency of a
submit that a stored result answers beside that of a plain one."""

import argparse
import os
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from chaos import ROOT  # noqa: E402
from submit_200 import percentile  # noqa: E402

KILL_GRACE_S = 0.5


def submit_all(client_class, address, model, count, connections=16):
    """Submits `count` equal jobs over some connections at once; returns ids."""
    ids = []
    problems = []

    def work(share):
        client = client_class(address, patience_s=300)
        try:
            for _ in range(share):
                ids.append(client.submit(model))
        except Exception as error:  # noqa: BLE001
            problems.append(f"{type(error).__name__}: {error}")
        client.close()

    threads = [threading.Thread(target=work, args=(count // connections +
                                                   (i < count % connections),))
               for i in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return ids, problems


def until(condition, timeout_s=30):
    start = time.monotonic()
    while not condition():
        if time.monotonic() - start > timeout_s:
            return None
        time.sleep(0.005)
    return time.monotonic() - start


def one_run(cluster, client, client_class, count, problems):
    model = b"progress 1\nsleep_ms 4000\nwrite_output 5000\n# one run"
    client.upload(model)
    ids, found = submit_all(client_class, cluster.address, model, count)
    problems += found
    most = 0
    while client.get(ids[0]).state < 10:  # not terminal
        most = max(most, len(cluster.compiles()))
    results = set()
    for job_id in ids:
        job = client.get(job_id)
        results.add((job.state, job.attempt_count, tuple((a.name, a.sha256)
                                                         for a in job.artifacts)))
    print(f"{len(set(ids))} equal jobs: at most {most} compile process at a time, "
          f"{len(results)} different results (state, attempts, files)")
    if most != 1 or len(results) != 1 or len(set(ids)) != count:
        problems.append("equal work ran more than once, or gave different results")


def cancels(cluster, client, client_class, count, problems):
    model = b"ignore_sigterm\nfork_child setsid\nprogress 1\nhang\n# cancels"
    client.upload(model)
    ids, found = submit_all(client_class, cluster.address, model, count)
    problems += found
    client.wait_for(ids[0], lambda e: e.WhichOneof("kind") == "progress")
    children = sorted(cluster.children())
    for job_id in ids[1:]:
        client.cancel(job_id)
    still = sorted(cluster.children())
    print(f"{count - 1} of {count} cancelled: the compile goes on: {still == children}, "
          f"state {client.get(ids[0]).state}")
    if still != children or client.get(ids[0]).state != 2:
        problems.append("cancels of others ended the compile")
    start = time.monotonic()
    client.cancel(ids[0])
    until(lambda: not cluster.children())
    took = time.monotonic() - start
    print(f"the last cancel: every process gone after {took:.2f} s (grace {KILL_GRACE_S} s)")
    if took > KILL_GRACE_S + 1:
        problems.append("the process tree outlived grace + 1 s")
    client.wait(ids[0])


def stored_answers(client, count, problems):
    model = b"progress 1\nwrite_output 1000\n# stored"
    client.wait(client.submit(model))
    blocker = b"progress 1\nhang\n# blocker"
    blockers = [client.submit(blocker + str(i).encode()) for i in range(2)]
    plain, stored = [], []
    waiting = []
    models = [b"progress 1\n# plain %d" % i for i in range(count)]
    requests = [client.submit_request(m) for m in models]
    same = [client.submit_request(model) for _ in range(count)]
    for i in range(count):
        for request, times in ((requests[i], plain), (same[i], stored)):
            start = time.monotonic()
            answer = client.send(request)
            times.append(time.monotonic() - start)
            if times is stored and not answer.job.cache_hit:
                problems.append("a stored result was not used")
            if times is plain:
                waiting.append(answer.job.id)
    ratio = percentile(stored, 0.5) / percentile(plain, 0.5)
    print(f"submit p50: plain {percentile(plain, 0.5) * 1e3:.2f} ms, answered by a stored result "
          f"{percentile(stored, 0.5) * 1e3:.2f} ms: {ratio:.2f}x (bar 1.5x)")
    if ratio > 1.5:
        problems.append("a stored answer takes more than 1.5x a plain submit")
    for job_id in blockers + waiting:
        client.cancel(job_id)
    for job_id in blockers:
        client.wait(job_id)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    parser.add_argument("--jobs", type=int, default=500)
    parser.add_argument("--answers", type=int, default=300)
    arguments = parser.parse_args()
    os.environ["QB_BIN_DIR"] = os.path.join(arguments.build, "bin")
    sys.path[:0] = [os.path.join(arguments.build, "gen_py"),
                    os.path.join(ROOT, "tests", "integration")]
    from client import Client
    from cluster import Cluster

    problems = []
    with Cluster(slots=2) as cluster:
        cluster.start_server()
        cluster.start_agent("a")
        client = Client(cluster.address, patience_s=300)
        client.wait_until_ready()
        one_run(cluster, client, Client, arguments.jobs, problems)
        cancels(cluster, client, Client, arguments.jobs, problems)
        stored_answers(client, arguments.answers, problems)
        client.close()
    for problem in problems[:20]:
        print("  " + problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
