"""Chaos runs: many jobs while servers, agents and compile processes are killed at random moments.

    chaos_run.py [--seeds 1,2,3 or 1-3] [--jobs 40] [--kills 15]

Prints one line a seed and ends with 1 when anything was lost, doubled or wrong."""

import argparse
import os
import random
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import chaos_jobs  # noqa: E402
import checker  # noqa: E402
from client import Client  # noqa: E402
from cluster import Cluster  # noqa: E402
from proto.qbc.v1 import job_pb2  # noqa: E402

CLIENTS = 16
LEASE_TTL_S = 2


class Killer(threading.Thread):
    """Kills and pauses until its budget is spent or it is told to stop; restarts what it killed."""

    def __init__(self, cluster, rng, kills):
        super().__init__(daemon=True)
        self.cluster = cluster
        self.rng = rng
        self.kills = kills
        self.done = {"server": 0, "agent": 0, "child": 0, "pause": 0}
        self.stopping = threading.Event()

    def run(self):
        while sum(self.done.values()) < self.kills and not self.stopping.wait(
                self.rng.uniform(0.05, 0.6)):
            what = self.rng.choices(["server", "agent", "child", "pause"], weights=[3, 3, 4, 1])[0]
            if getattr(self, "do_" + what)():
                self.done[what] += 1

    def do_server(self):
        self.cluster.kill_server()
        time.sleep(self.rng.uniform(0, 0.3))
        self.cluster.start_server()
        return True

    def do_agent(self):
        name = self.rng.choice(sorted(self.cluster.agents))
        self.cluster.kill_agent(name)
        time.sleep(self.rng.uniform(0, 0.5))
        self.cluster.start_agent(name)
        return True

    def do_child(self):
        children = self.cluster.children()
        if not children:
            return False
        try:
            os.kill(self.rng.choice(children), signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True


    def do_pause(self):
        """An agent that sleeps beyond its lease and then wants to go on with what it had."""
        process = self.cluster.agents[self.rng.choice(sorted(self.cluster.agents))]
        process.send_signal(signal.SIGSTOP)
        timer = threading.Timer(self.rng.uniform(1.0, 1.5) * LEASE_TTL_S, process.send_signal,
                                [signal.SIGCONT])
        timer.daemon = True
        timer.start()
        return True


class Run:
    def __init__(self, seed, jobs, cluster):
        self.rng = random.Random(seed)
        self.cluster = cluster
        self.client = Client(cluster.address, patience_s=90)
        self.jobs = jobs
        self.ids = {}   # index -> job id
        self.seen = {}  # job id -> events of a live watcher
        self.problems = []

    def client_thread(self, numbers):
        """Submits its share at once, then follows it to the end."""
        try:
            for number in numbers:
                job = self.jobs[number]
                policy = (job_pb2.CACHE_POLICY_BYPASS if job.alone
                          else job_pb2.CACHE_POLICY_UNSPECIFIED)
                self.ids[number] = self.client.submit(job.model, path=job.path,
                                                      cache_policy=policy)
            cancels = [number for number in numbers if self.jobs[number].cancel]
            for number in cancels + [n for n in numbers if n not in cancels]:
                self.follow(number)
        except Exception as error:  # noqa: BLE001: a thread must not die unseen
            self.problems.append(f"client: {type(error).__name__}: {error}")

    def follow(self, number):
        job_id = self.ids[number]
        events = []
        cancelled = False
        for event in self.client.watch(job_id):
            events.append(event)
            started = event.WhichOneof("kind") == "progress"
            if self.jobs[number].cancel and started and not cancelled:
                cancelled = True
                self.client.cancel(job_id)
        self.seen[job_id] = events

    def drive(self, kills):
        threads = [threading.Thread(target=self.client_thread,
                                    args=(range(i, len(self.jobs), CLIENTS),), daemon=True)
                   for i in range(min(CLIENTS, len(self.jobs)))]
        killer = Killer(self.cluster, self.rng, kills)
        for thread in threads:
            thread.start()
        killer.start()
        deadline = time.monotonic() + 300 + len(self.jobs)
        for thread in threads:
            thread.join(max(0, deadline - time.monotonic()))
            if thread.is_alive():
                self.problems.append("a client still waits for a job")
                break
        killer.stopping.set()
        killer.join()
        return killer.done

    def check(self):
        """After one more kill -9: only what is on the server's disk counts."""
        self.cluster.kill_server()
        self.cluster.start_server()
        given_up = 0
        for number, job in enumerate(self.jobs):
            job_id = self.ids.get(number)
            if job_id is None:
                self.problems.append(f"job {number} was never accepted")
                continue
            found, lost = checker.job_problems(self.client, job_id, job, self.seen.get(job_id))
            self.problems += found
            given_up += lost
        listed = [job.id for job in self.client.list_all()]
        if sorted(listed) != sorted(self.client.accepted):
            self.problems.append(f"{len(listed)} jobs are listed, {len(self.client.accepted)} were "
                                 "accepted")
        if len(set(self.ids.values())) != len(self.ids):
            self.problems.append("two submissions got the same job")
        self.check_equal_results()
        return given_up

    def check_equal_results(self):
        """Equal inputs give equal bytes, whichever agent ran them and however often."""
        results = {}
        for number, job in enumerate(self.jobs):
            artifacts = self.client.get(self.ids[number]).artifacts if number in self.ids else []
            results.setdefault(job.model, set()).update(
                a.sha256 for a in artifacts if a.name == "model.mxq")
        if any(len(digests) > 1 for digests in results.values()):
            self.problems.append("the same model gave different results")


def run_seed(seed, count, kills, compiler="chaos_compiler", make_job=None):
    start = time.monotonic()
    rng = random.Random(1000 + seed)
    jobs = [make_job(rng, f"{seed}-{i}") if make_job else chaos_jobs.random_job(rng, f"{seed}-{i}")
            for i in range(count)]
    with Cluster(compiler=compiler, lease_ttl=f"{LEASE_TTL_S}s") as cluster:
        cluster.start_server()
        for name in ("a", "b"):
            cluster.start_agent(name)
        run = Run(seed, jobs, cluster)
        done = run.drive(kills)
        given_up = run.check()
        run.client.close()
        print(f"seed {seed}: {count} jobs, killed {done['server']} servers, {done['agent']} agents, "
              f"{done['child']} compile processes, paused {done['pause']} agents; {given_up} jobs "
              f"given up after repeated losses; "
              f"{len(run.problems)} problems; {time.monotonic() - start:.1f} s", flush=True)
        for problem in run.problems[:20]:
            print("  " + problem)
        if run.problems:
            print(cluster.tail_of_logs())
        return not run.problems


def parse_seeds(text):
    if "-" in text:
        first, last = text.split("-")
        return list(range(int(first), int(last) + 1))
    return [int(seed) for seed in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="1,2,3", help="comma separated, or A-B")
    parser.add_argument("--jobs", type=int, default=40)
    parser.add_argument("--kills", type=int, default=15, help="of all kinds, a seed")
    arguments = parser.parse_args()
    seeds = parse_seeds(arguments.seeds)
    good = [run_seed(seed, arguments.jobs, arguments.kills) for seed in seeds]
    print(f"{sum(good)} of {len(good)} seeds without a problem")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
