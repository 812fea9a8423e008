#!/usr/bin/python3
"""Cancels compiles that do not want to end: nothing of them may stay.

    tests/bench/cancels.py [--build build/release] [--cancels 200] [--grace-ms 500] [--lanes 2]

Each compile ignores SIGTERM and leaves three processes behind that do too: a child, one in a session of
its own, and one that two forks have orphaned, without its environment and its pipes. A lane is a server
with one agent; its compiler is a copy under a name of its own, which every process keeps and by which
the whole machine is searched. Measured: from the cancel's call to the end of the last process (bar grace
+ 500 ms for p99), and until the job is CANCELLED. Counted: processes and folders of attempts that are
still there when the job has ended. Ends with 1 when a bar is missed."""

import argparse
import os
import pathlib
import shutil
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = "\n".join(["ignore_sigterm", "fork_child", "fork_child setsid", "fork_child daemon", "progress 1",
                    "hang"])
PROCESSES = 4  # the compile and the three that it leaves


def processes_named(name):
    """pids of the live processes of that name, whatever their environment, session or parent."""
    found = set()
    for entry in os.listdir("/proc"):
        if entry.isdigit() and is_named(entry, name):
            found.add(int(entry))
    return found


def is_named(pid, name):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return False
    state = text[text.rindex(")") + 2]
    return text[text.index("(") + 1:text.rindex(")")] == name and state not in "ZX"


def wait_until(condition, timeout_s):
    """Seconds until it held; None when it never did."""
    begin = time.monotonic()
    while not condition():
        if time.monotonic() - begin > timeout_s:
            return None
        time.sleep(0.003)
    return time.monotonic() - begin


class Lane(threading.Thread):
    """One server, one agent and its share of the cancels."""

    def __init__(self, number, cancels, grace_ms, modules):
        super().__init__()
        self.name_of_processes = f"cc{os.getpid()}_{number}"  # the kernel keeps 15 characters
        self.cancels = cancels
        self.grace_ms = grace_ms
        self.modules = modules
        self.tree_s = []     # from the call to the end of the last process
        self.job_s = []      # from the call to the job's end
        self.survivors = 0
        self.folders = 0
        self.wrong = []

    def run(self):
        cluster_module, client_module, job_pb2 = self.modules
        with tempfile.TemporaryDirectory(prefix="qbcancel.") as folder:
            compiler = os.path.join(folder, self.name_of_processes)
            shutil.copy(cluster_module.binary("chaos_compiler"), compiler)
            with cluster_module.Cluster(compiler=compiler, slots=1, lease_ttl="10s", agent_flags=[
                    "--kill-grace", f"{self.grace_ms}ms"]) as cluster:
                cluster.start_server()
                cluster.start_agent("a")
                client = client_module.Client(cluster.address)
                client.wait_until_ready()
                for number in range(self.cancels):
                    self.one(cluster, client, job_pb2, number)
                client.close()

    def one(self, cluster, client, job_pb2, number):
        job = client.submit(f"# {number}\n{SCRIPT}".encode())
        if wait_until(lambda: len(processes_named(self.name_of_processes)) == PROCESSES, 60) is None:
            self.wrong.append(f"job {number}: its processes did not start")
            return
        begin = time.monotonic()
        client.cancel(job)
        bar_s = self.grace_ms / 1000 + 10
        ended = wait_until(lambda: not processes_named(self.name_of_processes), bar_s)
        self.tree_s.append(time.monotonic() - begin)
        self.survivors += len(processes_named(self.name_of_processes)) if ended is None else 0
        state = client.wait(job).state
        self.job_s.append(time.monotonic() - begin)
        if state != job_pb2.JOB_STATE_CANCELLED:
            self.wrong.append(f"job {number}: {job_pb2.JobState.Name(state)}")
        # The folder goes after the report; the next attempt of the only slot starts after that.
        attempts = os.path.join(cluster.work_dir("a"), "attempts")
        if wait_until(lambda: not os.listdir(attempts), 5) is None:
            self.folders += len(os.listdir(attempts))


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))] if values else float("nan")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=str(ROOT / "build/release"))
    parser.add_argument("--cancels", type=int, default=200)
    parser.add_argument("--grace-ms", type=int, default=500)
    parser.add_argument("--lanes", type=int, default=2)
    arguments = parser.parse_args()
    os.environ["QB_BIN_DIR"] = os.path.join(arguments.build, "bin")
    sys.path[:0] = [os.path.join(arguments.build, "gen_py"), str(ROOT / "tests/integration")]
    import client  # after the path is set
    import cluster
    from proto.qbc.v1 import job_pb2

    shares = [len(range(lane, arguments.cancels, arguments.lanes)) for lane in range(arguments.lanes)]
    lanes = [Lane(number, share, arguments.grace_ms, (cluster, client, job_pb2))
             for number, share in enumerate(shares)]
    for lane in lanes:
        lane.start()
    for lane in lanes:
        lane.join()
    tree = [1000 * value for lane in lanes for value in lane.tree_s]
    jobs = [1000 * value for lane in lanes for value in lane.job_s]
    survivors = sum(lane.survivors for lane in lanes)
    folders = sum(lane.folders for lane in lanes)
    wrong = [text for lane in lanes for text in lane.wrong]
    bar = arguments.grace_ms + 500
    print(f"cancels: {len(tree)} of compiles with {PROCESSES} processes, grace {arguments.grace_ms} ms")
    print(f"last process ended after p50 {percentile(tree, 0.5):.0f} ms, p99 {percentile(tree, 0.99):.0f} "
          f"ms, at most {max(tree, default=float('nan')):.0f} ms (bar {bar} ms for p99)")
    print(f"job CANCELLED after p50 {percentile(jobs, 0.5):.0f} ms, p99 {percentile(jobs, 0.99):.0f} ms")
    print(f"processes that survived: {survivors} (bar 0); folders of attempts left: {folders} (bar 0)")
    for text in wrong:
        print("  ", text)
    good = len(tree) == arguments.cancels and not wrong and survivors == 0 and folders == 0
    return 0 if good and percentile(tree, 0.99) <= bar else 1


if __name__ == "__main__":
    sys.exit(main())
