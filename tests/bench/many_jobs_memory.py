#!/usr/bin/python3
"""Memory of a server with many jobs, at rest and while they are listed, watched and removed.

    tests/bench/many_jobs_memory.py [--build build/release] [--jobs 100000] [--watchers 200]

Fills the database as many_jobs.py does. Printed are the resident memory after the start and a while at
rest (bar 100 MiB), with watchers (bar 350 MiB), and after all ended jobs were removed by retention, with
the time that took and the p99 of submits meanwhile beside that at rest (bar 2 times); open files and the
write-ahead log as well."""

import argparse
import os
import sqlite3
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from chaos import ROOT  # noqa: E402
from many_jobs import fill  # noqa: E402
from submit_200 import percentile  # noqa: E402


def resident_mib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
    return 0


def open_files(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def submits_ms(submit, count):
    times = []
    for _ in range(count):
        start = time.perf_counter()
        submit()
        times.append((time.perf_counter() - start) * 1e3)
    return times


def watch(client, count, stop):
    """Streams of all changes, kept open until `stop`."""
    from proto.qbc.v1 import job_service_pb2
    calls = [client.jobs.WatchJobs(job_service_pb2.WatchJobsRequest(after_revision=1 << 40))
             for _ in range(count)]
    stop.wait()
    for call in calls:
        call.cancel()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--watchers", type=int, default=200)
    parser.add_argument("--submits", type=int, default=300)
    arguments = parser.parse_args()
    os.environ["QB_BIN_DIR"] = os.path.join(arguments.build, "bin")
    sys.path[:0] = [os.path.join(arguments.build, "gen_py"),
                    os.path.join(ROOT, "tests", "integration")]
    from client import Client
    from cluster import Cluster
    from proto.qbc.v1 import job_pb2, job_service_pb2

    missed = []

    def check(name, value, bar, unit):
        print(f"{name}: {value:.1f} {unit} (bar {bar} {unit})", flush=True)
        if value > bar:
            missed.append(name)

    with Cluster(server_flags=["--max-queued-jobs", "10000000"]) as cluster:
        cluster.start_server()
        client = Client(cluster.address)
        client.wait_until_ready()
        client.upload(b"progress 1")
        cluster.kill_server(15)
        path = os.path.join(cluster.folder, "data", "qbc.db")
        fill(path, arguments.jobs, arguments.jobs, job_pb2.JobSpec(
            target_device="aries-rb").SerializeToString())
        db = sqlite3.connect(path)
        db.execute("UPDATE job SET finished_ms = created_ms WHERE state >= 10")
        db.commit()
        db.close()
        print(f"{arguments.jobs} jobs in {os.path.getsize(path) >> 20} MiB")
        cluster.start_server()
        client.wait_until_ready()
        time.sleep(3)
        check("resident at rest", resident_mib(cluster.server.pid), 100, "MiB")
        files = open_files(cluster.server.pid)

        request = job_service_pb2.ListJobsRequest(page_size=1000)
        for _ in range(20):
            page = client.jobs.ListJobs(request, timeout=60)
            request.page_token = page.next_page_token
            if not page.next_page_token:
                break
        stop = threading.Event()
        watcher = threading.Thread(target=watch, args=(client, arguments.watchers, stop))
        watcher.start()
        time.sleep(3)
        check(f"resident with {arguments.watchers} watchers, after 20 pages of 1000 jobs",
              resident_mib(cluster.server.pid), 350, "MiB")
        stop.set()
        watcher.join()

        submit_request = job_service_pb2.SubmitJobRequest()
        submit_request.spec.target_device = "aries-rb"
        from client import sha256
        entry = submit_request.spec.model.entries.add(path="m", sha256=sha256(b"progress 1"),
                                                      size_bytes=10)
        submit_request.spec.model.main = entry.path
        submit_request.spec.config.overrides_json = '{"use-random-calib": true}'
        submit_request.spec.cache_policy = 3

        def submit():
            client.jobs.SubmitJob(submit_request, timeout=60)

        at_rest = percentile(submits_ms(submit, arguments.submits), 0.99)
        cluster.kill_server(15)
        cluster.server_flags += ["--keep-succeeded", "1s", "--keep-failed", "1s", "--keep-cancelled",
                                 "1s", "--collect-interval", "100ms"]
        cluster.start_server()
        client.wait_until_ready()
        meanwhile = []
        start = time.monotonic()
        reader = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        left = 1
        largest_wal = 0
        while left and time.monotonic() - start < 600:
            meanwhile += submits_ms(submit, 20)
            left = reader.execute("SELECT ifnull(sum(n), 0) FROM counter WHERE state >= 10"
                                  ).fetchone()[0]
            largest_wal = max(largest_wal, os.path.getsize(path + "-wal"))
        removing = time.monotonic() - start
        reader.close()
        print(f"removed all ended jobs in {removing:.0f} s, {left} left; write-ahead log at most "
              f"{largest_wal >> 20} MiB")
        if left:
            missed.append("removal")
        print(f"submit p99 at rest {at_rest:.1f} ms")
        check("submit p99 while jobs are removed", percentile(meanwhile, 0.99), 2 * at_rest, "ms")
        check("write-ahead log", largest_wal / (1 << 20), 128, "MiB")
        check("resident after it", resident_mib(cluster.server.pid), 150, "MiB")
        print(f"open files: {files} after the start, {open_files(cluster.server.pid)} now")
        client.close()
    print("missed: " + (", ".join(missed) or "nothing"))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
