#!/usr/bin/python3
"""A server under a mixture of everything for a while: its memory and its open files must not grow.

    tests/bench/soak.py [--build build/release] [--minutes 20] [--state FOLDER]

Jobs that do nothing, each watched to its end; jobs that hang, cancelled; streams of all changes, opened
and left again; uploads, every second one broken off and gone on with; ended jobs and unused files are
removed after seconds. Every few seconds the server's resident memory, its open files and its write-ahead
log are noted. Printed are the slopes by least squares, without the first minute of each run: memory by
100 000 jobs (bar 1 MiB) and open files by hour (bar 5), and the longest log (bar 128 MiB).

With --state the data of the server and what was measured stay in that folder, and the next run with the
same folder goes on until the minutes are full; each run's server has an intercept of its own. Ends with 1
when a bar is missed or anything failed that must not, with 3 when it was interrupted before its end."""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLE_S = 3
WARM_S = 60
LEAST_JOBS = 10_000
SERVER_FLAGS = ["--keep-succeeded", "5s", "--keep-failed", "5s", "--keep-cancelled", "5s", "--keep-unused", "5s",
                "--collect-interval", "1s", "--max-queued-jobs", "1000000"]


class Record:
    """What was measured so far, in this run and in those before."""

    def __init__(self, folder):
        self.path = pathlib.Path(folder) / "soak.json" if folder else None
        self.samples = []  # {"run", "s" (of its run), "jobs", "rss_kib", "files", "wal_bytes"}
        if self.path and self.path.exists():
            self.samples = json.loads(self.path.read_text(encoding="utf-8"))
        self.run = 1 + max((sample["run"] for sample in self.samples), default=0)

    def seconds(self):
        longest = {}
        for sample in self.samples:
            longest[sample["run"]] = max(longest.get(sample["run"], 0), sample["s"])
        return sum(longest.values())

    def jobs(self):
        most = {}
        for sample in self.samples:
            most[sample["run"]] = max(most.get(sample["run"], 0), sample["jobs"])
        return sum(most.values())

    def add(self, **sample):
        self.samples.append({"run": self.run, **sample})
        if self.path:
            temporary = self.path.with_suffix(".part")
            temporary.write_text(json.dumps(self.samples), encoding="utf-8")
            os.replace(temporary, self.path)

    def slope(self, of, by):
        """Least squares with an intercept for each run; None: too little to say."""
        products = squares = 0.0
        for run in {sample["run"] for sample in self.samples}:
            rows = [sample for sample in self.samples if sample["run"] == run and sample["s"] >= WARM_S]
            if len(rows) < 3:
                continue
            x_mean = sum(row[by] for row in rows) / len(rows)
            y_mean = sum(row[of] for row in rows) / len(rows)
            products += sum((row[by] - x_mean) * (row[of] - y_mean) for row in rows)
            squares += sum((row[by] - x_mean) ** 2 for row in rows)
        return products / squares if squares else None


class Load:
    """Threads that use the server until they are told to stop."""

    def __init__(self, address, client_class, modules):
        self.address = address
        self.client_class = client_class
        self.job_pb2, self.job_service_pb2 = modules
        self.stop = threading.Event()
        self.lock = threading.Lock()
        self.counts = {"jobs": 0, "cancels": 0, "streams": 0, "uploads": 0}
        self.failures = []
        self.threads = []

    def count(self, what):
        with self.lock:
            self.counts[what] += 1
            return self.counts[what]

    def start(self):
        for work in (self.jobs, self.jobs, self.jobs, self.cancels, self.streams, self.uploads):
            thread = threading.Thread(target=self.repeat, args=(work,))
            thread.start()
            self.threads.append(thread)

    def finish(self):
        self.stop.set()
        for thread in self.threads:
            thread.join()

    def repeat(self, work):
        client = self.client_class(self.address)
        number = 0
        while not self.stop.is_set():
            number += 1
            try:
                work(client, f"{work.__name__} {threading.get_ident()} {number}")
            except Exception as error:  # noqa: BLE001: is counted, whatever it is
                with self.lock:
                    self.failures.append(f"{work.__name__}: {str(error)[:300]}")
                time.sleep(1)
        client.close()

    def jobs(self, client, name):
        """Eight at a time, so that a worker always has something to do."""
        ids = [client.submit(f"# {name} {index}\nprogress 1".encode(), cache_policy=self.job_pb2.CACHE_POLICY_BYPASS)
               for index in range(8)]
        for job_id in ids:
            events = client.events(job_id)
            if events[-1].WhichOneof("kind") != "result":
                raise AssertionError(f"job {job_id} failed: {events[-1]}")
            self.count("jobs")

    def cancels(self, client, name):
        job_id = client.submit(f"# {name}\nprogress 1\nhang".encode())
        client.wait_for(job_id, lambda event: event.WhichOneof("kind") == "progress")
        client.cancel(job_id)
        for _ in client.watch(job_id):
            pass
        self.count("cancels")
        self.stop.wait(0.5)

    def streams(self, client, _name):
        calls = [client.jobs.WatchJobs(self.job_service_pb2.WatchJobsRequest(after_revision=1 << 40), timeout=60)
                 for _ in range(20)]
        self.stop.wait(2)
        for call in calls:
            call.cancel()
            self.count("streams")

    def uploads(self, client, name):
        data = name.encode() + os.urandom(1 << 20)
        if self.count("uploads") % 2 == 0:
            with contextlib.suppress(Exception):  # it is broken off: an error is what must come
                client.write_once(data, f"half-{time.monotonic_ns()}", 0, chunk=65536, stop_after=300_000)
        client.upload(data)
        self.stop.wait(0.5)


def note(record, cluster, started, load):
    pid = cluster.server.pid
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        rss = next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))
    wal = os.path.join(cluster.folder, "data", "qbc.db-wal")
    record.add(s=round(time.monotonic() - started, 1), jobs=load.counts["jobs"], rss_kib=rss,
               files=len(os.listdir(f"/proc/{pid}/fd")),
               wal_bytes=os.path.getsize(wal) if os.path.exists(wal) else 0)


def soak(cluster, record, minutes, modules, client_class):
    """(whether the time is full, how many things failed)."""
    cluster.start_server()
    cluster.start_agent("a")
    load = Load(cluster.address, client_class, modules)
    client = client_class(cluster.address)
    client.wait_until_ready()
    client.close()
    started = time.monotonic()
    before = record.seconds()
    load.start()
    full = False
    try:
        while not full and cluster.server.poll() is None:
            time.sleep(SAMPLE_S)
            note(record, cluster, started, load)
            full = before + time.monotonic() - started >= 60 * minutes
    except KeyboardInterrupt:
        print("interrupted")
    load.finish()
    print(f"this run: {time.monotonic() - started:.0f} s, " +
          ", ".join(f"{count} {what}" for what, count in load.counts.items()))
    for failure in load.failures[:10]:
        print("  failed:", failure)
    return full, len(load.failures)


def report(record):
    """The names of the bars that were missed."""
    missed = []

    def check(name, value, bar, unit):
        text = "too little to say" if value is None else f"{value:.2f} {unit}"
        print(f"{name}: {text} (bar {bar} {unit})")
        if value is not None and value > bar:
            missed.append(name)

    last = record.samples[-1]
    print(f"all runs: {record.seconds() / 60:.1f} minutes, {record.jobs()} jobs; now {last['rss_kib'] / 1024:.1f} MiB, "
          f"{last['files']} open files")
    # The allocator's first growth over a few hundred jobs says nothing about a hundred thousand.
    rss = record.slope("rss_kib", "jobs") if record.jobs() >= LEAST_JOBS else None
    check("memory by 100 000 jobs", rss if rss is None else rss * 1e5 / 1024, 1, "MiB")
    by_time = record.slope("rss_kib", "s")
    print("memory by hour: " + ("too little to say" if by_time is None else f"{by_time * 3600 / 1024:.2f} MiB"))
    files = record.slope("files", "s")
    check("open files by hour", files if files is None else files * 3600, 5, "files")
    check("write-ahead log", max(sample["wal_bytes"] for sample in record.samples) / (1 << 20), 128, "MiB")
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=str(ROOT / "build/release"))
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--state", help="a folder that keeps the data and what was measured")
    arguments = parser.parse_args()
    os.environ["QB_BIN_DIR"] = os.path.join(arguments.build, "bin")
    sys.path[:0] = [os.path.join(arguments.build, "gen_py"), str(ROOT / "tests/integration")]
    from client import Client  # after the path is set
    from cluster import Cluster
    from proto.qbc.v1 import job_pb2, job_service_pb2

    with Cluster(lease_ttl="10s", slots=2, server_flags=SERVER_FLAGS) as cluster:
        if arguments.state:
            shutil.rmtree(cluster.folder)
            cluster.folder = os.path.abspath(arguments.state)
            os.makedirs(cluster.folder, exist_ok=True)
            cluster.keep = True
        record = Record(arguments.state)
        full, failures = soak(cluster, record, arguments.minutes, (job_pb2, job_service_pb2), Client)
    if not record.samples:
        return 3
    missed = report(record)
    print("missed: " + (", ".join(missed) or "nothing"))
    if not full:
        return 3
    return 1 if missed or failures else 0


if __name__ == "__main__":
    sys.exit(main())
