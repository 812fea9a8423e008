#!/usr/bin/python3
"""Restarts a server again and again while people use qbc: nobody may notice.

    tests/bench/rolling_restarts.py [--build build/release] [--restarts 20] [--clients 8] [--seed 1]

Each client compiles, one job after the other, models that take 0.1 to 4 s, and asks for lists, jobs and
logs in between, always with the qbc program. The server is ended with SIGTERM, waited for and started
again. Counted: qbc runs that did not end with 0 or gave a wrong file; compiles that ran while the server
was away; jobs with more than one attempt. Ends with 1 when a run failed or a compile was lost or
repeated."""

import argparse
import hashlib
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def output_of(model, size=1000):
    """What chaos_compiler makes of a model."""
    text, number = "", 0
    while len(text) < size:
        text += hashlib.sha256(model + str(number).encode()).hexdigest()
        number += 1
    return text[:size].encode()


class People:
    """Threads that run qbc until they are told to stop."""

    def __init__(self, qbc, address, folder, seed):
        self.qbc = qbc
        self.environment = {**os.environ, "QBC_SERVER": address, "CI": "1"}
        self.folder = pathlib.Path(folder)
        self.seed = seed
        self.stop = threading.Event()
        self.lock = threading.Lock()
        self.runs = {}      # command -> how many
        self.failures = []  # (arguments, exit code, what it said)
        self.longest = {}   # command -> seconds
        self.ids = []
        self.threads = []

    def run(self, *arguments):
        begin = time.monotonic()
        done = subprocess.run([self.qbc, *map(str, arguments)], capture_output=True, text=True, check=False,
                              env=self.environment, stdin=subprocess.DEVNULL)
        took = time.monotonic() - begin
        with self.lock:
            self.runs[arguments[0]] = self.runs.get(arguments[0], 0) + 1
            self.longest[arguments[0]] = max(self.longest.get(arguments[0], 0), took)
            if done.returncode != 0:
                self.failures.append((arguments, done.returncode, done.stderr.strip()[-400:]))
        return done

    def compile_one(self, name, rng):
        model = f"# {name}\nstage a\nlog of {name}\nsleep_ms {rng.choice([100, 300, 1000, 4000])}\n".encode()
        path = self.folder / f"{name}.onnx"
        path.write_bytes(model)
        output = self.folder / f"{name}.mxq"
        done = self.run("compile", path, "-t", "aries-rb", "--use-random-calib", "-o", output, "--json",
                        "--progress", "none")
        if done.returncode != 0:
            return
        job = json.loads(done.stdout.splitlines()[-1])["job"]["id"]
        with self.lock:
            self.ids.append(job)
            if output.read_bytes() != output_of(model):
                self.failures.append((("compile", name), 0, "the file is not that of the model"))
        log = self.run("logs", job)
        if log.returncode == 0 and f"of {name}" not in log.stdout:
            with self.lock:
                self.failures.append((("logs", job), 0, f"incomplete: {log.stdout!r}"))
        self.run(*rng.choice([("get", job), ("jobs", "--limit", "20"), ("status",)]))

    def person(self, number):
        rng = random.Random(f"{self.seed}.{number}")
        turn = 0
        while not self.stop.is_set():
            self.compile_one(f"{number}-{turn}", rng)
            turn += 1

    def start(self, count):
        self.threads = [threading.Thread(target=self.person, args=(number,)) for number in range(count)]
        for thread in self.threads:
            thread.start()

    def finish(self):
        self.stop.set()
        for thread in self.threads:
            thread.join()


def restart(cluster, people):
    """(seconds until it had ended, seconds until it answered again, compiles that went on meanwhile)."""
    begin = time.monotonic()
    cluster.server.send_signal(signal.SIGTERM)
    code = cluster.server.wait(timeout=60)
    ended = time.monotonic()
    if code != 0:
        people.failures.append((("SIGTERM",), code, "the server did not end in order"))
    running = len(cluster.compiles())
    cluster.start_server()
    while subprocess.run([people.qbc, "status", "--connect-timeout", "20s"], capture_output=True,
                         check=False, env=people.environment).returncode != 0:
        pass
    return ended - begin, time.monotonic() - ended, running


def all_jobs(people):
    """Every job, {id: job}."""
    done = subprocess.run([people.qbc, "jobs", "--limit", "100000", "--json"], capture_output=True,
                          text=True, check=True, env=people.environment)
    return {job["id"]: job for job in json.loads(done.stdout)["jobs"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=str(ROOT / "build/release"))
    parser.add_argument("--restarts", type=int, default=20)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    os.environ["QB_BIN_DIR"] = os.path.join(arguments.build, "bin")
    sys.path.insert(0, str(ROOT / "tests/integration"))
    import cluster as clusters  # after the path is set

    rng = random.Random(arguments.seed)
    with clusters.Cluster(lease_ttl="10s", slots=4, server_flags=["--drain-delay", "300ms"]) as cluster, \
            tempfile.TemporaryDirectory(prefix="qbroll.") as folder:
        cluster.start_server()
        cluster.start_agent("a")
        cluster.start_agent("b")
        people = People(clusters.binary("qbc"), cluster.address, folder, arguments.seed)
        people.start(arguments.clients)
        times = []
        for number in range(arguments.restarts):
            time.sleep(rng.uniform(0.5, 2.5))
            times.append(restart(cluster, people))
            print(f"restart {number + 1}: ended in {times[-1][0]:.2f} s, back after {times[-1][1]:.2f} s, "
                  f"{times[-1][2]} compiles went on")
        people.finish()
        jobs = all_jobs(people)
        repeated = [job for job in jobs.values() if job["attempts"] != 1]
        lost = [job for job in people.ids if jobs.get(job, {}).get("state") != "succeeded"]
        strange = set(jobs) - set(people.ids)
    print(f"qbc runs: {sum(people.runs.values())} " + str(dict(sorted(people.runs.items()))))
    print("longest run of each: " + str({name: round(took, 1) for name, took in people.longest.items()}))
    print(f"restarts: {len(times)}; away at most {max(row[1] for row in times):.2f} s; "
          f"{sum(row[2] for row in times)} compiles ran through one")
    print(f"jobs: {len(jobs)}; lost {len(lost)}; with more than one attempt {len(repeated)}; "
          f"submitted twice {len(strange)}")
    print(f"qbc runs that failed: {len(people.failures)}")
    for failure in people.failures[:20]:
        print("  ", *failure)
    return 1 if people.failures or lost or repeated or strange else 0


if __name__ == "__main__":
    sys.exit(main())
