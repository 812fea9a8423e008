#!/usr/bin/python3
"""What a new user waits for: the start of qbc and of the server, one small question, and the README's way to a first result.

    tests/bench/first_use.py [--rounds 30] [--demo]

Figures stand beside their bars; the exit code is 1 when one is missed. Starts of programs are processor time (user and
system) of the middle run, with the wall time beside it: on a busy machine wall time tells about the other programs.
`qbc get` is compared with the same RPC on an open channel, in turns. --demo also runs the README's first command, which
builds what is not built yet."""

import argparse
import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "tests/e2e"), os.environ.get("QB_PYTHON_SITE", str(ROOT / "build/release/python"))]
import stack

WORDS_A_SECOND = 4  # of a person who reads a page of a manual


class Bars:
    def __init__(self):
        self.missed = 0

    def show(self, what, value, unit, bar, more=""):
        good = value <= bar
        self.missed += not good
        print(f"{what}: {value:.1f} {unit} (bar {bar} {unit}){more}{'' if good else '  MISSED'}", flush=True)


def run_ms(command, **options):
    """Processor time and wall time of a program, in milliseconds."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
    wall_ms = (time.perf_counter() - begun) * 1e3
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3, wall_ms


def median_of(pairs, index):
    return statistics.median(pair[index] for pair in pairs)


def client(bars, rounds):
    runs, floor = [], []
    for _ in range(rounds):
        runs.append(run_ms([stack.BIN / "qbc", "--help"]))
        floor.append(run_ms(["/bin/true"]))
    bars.show("qbc --help", median_of(runs, 0), "ms", 10,
              f"; wall {median_of(runs, 1):.1f} ms; /bin/true {median_of(floor, 0):.1f} ms, wall {median_of(floor, 1):.1f} ms")
    bars.show("size of qbc", (stack.BIN / "qbc").stat().st_size / 2**20, "MiB", 20)


def question(bars, rounds):
    from qbcompiler.connection import Connection
    with stack.Stack(compiler="chaos_compiler", workers=0) as own:
        job = own.qbc("submit", own.write("a.onnx", "stage a\n"), "-t", "aries-rb", "--use-random-calib", check=0).stdout.strip()
        gets, calls = [], []
        with Connection(own.address) as server:
            request = server.wire.GetJobRequest(job_id=job)
            server.call("JobService", "GetJob", request)
            for _ in range(rounds):
                gets.append(run_ms([stack.BIN / "qbc", "get", job], env=own.environment()))
                begun = time.perf_counter()
                server.call("JobService", "GetJob", request)
                calls.append((time.perf_counter() - begun) * 1e3)
        rpc = statistics.median(calls)
        bars.show("qbc get, beyond its RPC", median_of(gets, 1) - rpc, "ms", 15,
                  f"; wall {median_of(gets, 1):.1f} ms, processor {median_of(gets, 0):.1f} ms, RPC {rpc:.1f} ms")


def server_start(bars, rounds):
    """From the start of the program in an empty folder to the line that tells its address."""
    times = []
    for _ in range(min(rounds, 10)):
        with tempfile.TemporaryDirectory(prefix="qbfirst.") as folder:
            begun = time.perf_counter()
            with subprocess.Popen([stack.BIN / "qbc-server", "--data-dir", "data"], cwd=folder, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=stack.clean_environment(XDG_RUNTIME_DIR=folder)) as server:
                server.stdout.readline()
                times.append((time.perf_counter() - begun) * 1e3)
                server.terminate()
    bars.show("qbc-server, start in an empty folder", statistics.median(times), "ms", 150, f"; best {min(times):.1f} ms")


def readme(bars, run):
    text = (ROOT / "README.md").read_text("utf-8")
    before, _, after = text.partition("## Three commands")
    section = after.split("\n## ", 1)[0]
    commands = re.findall(r"^ {4}(\./qb \w+)", section, re.MULTILINE)
    until_first = before + section.split(commands[0])[0]
    bars.show("commands to the first result", 1 + commands.index("./qb demo"), "commands", 3)
    bars.show("reading before the first command", len(until_first.split()) / WORDS_A_SECOND, "s", 60)
    if run:
        begun = time.perf_counter()
        done = subprocess.run(commands[0].split(), cwd=ROOT, capture_output=True, text=True, check=False)
        bars.show(f"{commands[0]} on what is built (exit code)", done.returncode, "", 0, f"; {time.perf_counter() - begun:.0f} s")
        print("\n".join(done.stdout.splitlines()[-6:]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--demo", action="store_true")
    arguments = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    bars = Bars()
    client(bars, arguments.rounds)
    question(bars, arguments.rounds)
    server_start(bars, arguments.rounds)
    readme(bars, arguments.demo)
    return 1 if bars.missed else 0


if __name__ == "__main__":
    sys.exit(main())
