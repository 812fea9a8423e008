#!/usr/bin/python3
"""A database of a million jobs: lists, counts, start.

    tests/bench/many_jobs.py [--build build/release] [--jobs 1000000] [--events 1000000] [--calls 500]

Fills a database file directly (the server is down meanwhile), then measures ListJobs with random
filters and at random depth, CountJobs, and how long a killed server needs until it answers. The floor
that is printed beside them is GetCapabilities, which touches no database: gRPC and Python alone."""

import argparse
import os
import random
import sqlite3
import sys
import time
import uuid

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from chaos import ROOT  # noqa: E402
from submit_200 import percentile  # noqa: E402

TENANTS = 200
STEP_MS = 2592  # a million jobs in thirty days
STATES = [1, 10, 10, 10, 10, 10, 11, 12, 13]


def fill(path, jobs, events, spec):
    db = sqlite3.connect(path)
    db.execute("PRAGMA synchronous=OFF")
    triggers = [row for row in db.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")]
    for name, _ in triggers:
        db.execute(f"DROP TRIGGER {name}")
    rng = random.Random(1)
    now = int(time.time() * 1000)
    db.execute("DELETE FROM counter")
    for i in range(1, TENANTS):
        db.execute("INSERT INTO tenant(id, name, created_ms) VALUES (?, ?, 0)", (f"t{i}", f"t{i}"))

    def executions():
        for i in range(1, jobs + 1):
            state = STATES[i % len(STATES)] if i % 100 else 1
            tenant = "default" if i % 2 else f"t{rng.randint(1, TENANTS - 1)}"
            yield (i, tenant, state, 0, now - (jobs - i) * STEP_MS, 0, now + 86400000, "aries-rb",
                   spec, "{}", 2, now if state >= 10 else None)

    db.executemany("INSERT INTO execution(id, tenant, state, priority, enqueued_ms, run_after_ms, "
                   "expires_ms, target, spec, resolved_config, last_seq, finished_ms) "
                   "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", executions())
    db.execute("UPDATE execution SET attempt = 1 WHERE state >= 10")
    db.execute("CREATE TEMP TABLE ids(id INTEGER PRIMARY KEY, uid TEXT)")
    db.executemany("INSERT INTO ids VALUES (?, ?)",
                   ((i, str(uuid.UUID(int=(now << 80) | (7 << 76) | (2 << 62) | i)))
                    for i in range(1, jobs + 1)))
    db.execute("INSERT INTO job(id, uid, tenant, execution, state, target, created_ms, priority, "
               "expires_ms, revision) SELECT e.id, ids.uid, e.tenant, e.id, e.state, e.target, "
               "e.enqueued_ms, 0, e.expires_ms, e.id FROM execution AS e JOIN ids ON ids.id = e.id")
    db.execute("INSERT INTO counter SELECT tenant, state, count(*) FROM job GROUP BY tenant, state")
    db.execute("UPDATE meta SET value = ? WHERE key = 'revision'", (jobs,))
    per_job = max(1, events // jobs)
    db.executemany("INSERT INTO event(execution, seq, body) VALUES (?, ?, ?)",
                   ((i, seq, b"\x08" + bytes([seq]) + b"\x22\x02\x08\x01" * 8)
                    for i in range(1, jobs + 1) for seq in range(1, per_job + 1)))
    for _, sql in triggers:
        db.execute(sql)
    db.commit()
    db.close()


def timed(calls, call):
    times = []
    for _ in range(calls):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return times


def show(name, times, bar_ms=None):
    text = (f"{name}: p50 {percentile(times, 0.5) * 1e3:.2f} ms, "
            f"p99 {percentile(times, 0.99) * 1e3:.2f} ms")
    print(text + (f" (bar {bar_ms} ms)" if bar_ms else ""), flush=True)
    return percentile(times, 0.99) * 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--calls", type=int, default=500)
    arguments = parser.parse_args()
    os.environ["QB_BIN_DIR"] = os.path.join(arguments.build, "bin")
    sys.path[:0] = [os.path.join(arguments.build, "gen_py"),
                    os.path.join(ROOT, "tests", "integration")]
    from client import Client
    from cluster import Cluster
    from google.protobuf import timestamp_pb2
    from proto.qbc.v1 import job_pb2, job_service_pb2, server_info_pb2

    spec = job_pb2.JobSpec(target_device="aries-rb")
    rng = random.Random(2)
    missed = []
    with Cluster() as cluster:
        cluster.start_server()
        client = Client(cluster.address)
        client.wait_until_ready()
        cluster.kill_server(15)
        start = time.monotonic()
        path = os.path.join(cluster.folder, "data", "qbc.db")
        fill(path, arguments.jobs, arguments.events, spec.SerializeToString())
        print(f"{arguments.jobs} jobs and {arguments.events} events in "
              f"{os.path.getsize(path) >> 20} MiB, filled in {time.monotonic() - start:.0f} s",
              flush=True)
        cluster.start_server()
        client.wait_until_ready()
        starts = []
        for _ in range(5):
            cluster.kill_server()
            start = time.monotonic()
            cluster.start_server()
            client.wait_until_ready()
            starts.append(time.monotonic() - start)
        print(f"a killed server answers after {max(starts):.2f} s at most of 5 (bar 1 s)")
        if max(starts) > 1:
            missed.append("start")

        # Tokens at any depth, taken from a walk with the largest pages.
        tokens = [""]
        request = job_service_pb2.ListJobsRequest(page_size=1000)
        for _ in range(400):
            page = client.jobs.ListJobs(request, timeout=60)
            request.page_token = page.next_page_token
            if not page.next_page_token:
                break
            tokens.append(page.next_page_token)
        now = int(time.time())

        def any_list():
            kind = rng.randint(0, 4)
            wanted = job_service_pb2.ListJobsRequest()
            if kind == 0:
                wanted.page_token = rng.choice(tokens)
            elif kind == 1:
                wanted.filter.states.append(rng.choice([1, 10, 11, 12, 13]))
            elif kind == 2:
                wanted.filter.target_device = rng.choice(["aries-rb", "regulus-ra"])
            elif kind == 3:
                wanted.filter.states.extend([2, 3])  # nothing has them
            else:
                age_s = rng.randint(0, arguments.jobs * STEP_MS // 1000)
                wanted.filter.created_before.CopyFrom(timestamp_pb2.Timestamp(seconds=now - age_s))
            client.jobs.ListJobs(wanted, timeout=60)

        show("floor: GetCapabilities", timed(arguments.calls, lambda: client.info.GetCapabilities(
            server_info_pb2.GetCapabilitiesRequest(), timeout=60)))
        if show("ListJobs, any filter and depth", timed(arguments.calls, any_list), 10) > 10:
            missed.append("ListJobs")
        if show("CountJobs", timed(arguments.calls, lambda: client.jobs.CountJobs(
                job_service_pb2.CountJobsRequest(), timeout=60)), 3) > 3:
            missed.append("CountJobs")
        db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        show("beside it: GROUP BY over the rows", timed(3, lambda: db.execute(
            "SELECT state, count(*) FROM job WHERE tenant = 'default' GROUP BY state").fetchall()))
        db.close()
        client.close()
    print("missed: " + (", ".join(missed) or "nothing"))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
