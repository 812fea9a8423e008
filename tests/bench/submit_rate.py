#!/usr/bin/python3
"""How many jobs a second can be submitted durably, beside peers in the same run.

    tests/bench/submit_rate.py [--build build/release] [--clients 64] [--seconds 4] [--rounds 5]

Each round runs in turn: our server, our gRPC without a database (echo), beanstalkd (-b -f0) when it is
installed. Medians and ratios are printed. The latency of one client is set beside a loop of 4 KiB
writes with fdatasync. With strace installed, syncs and acknowledged jobs are counted as well."""

import argparse
import os
import shutil
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from chaos import ROOT  # noqa: E402


def median(values):
    return sorted(values)[len(values) // 2]


def fdatasync_ms(folder, count=200):
    path = os.path.join(folder, "sync.out")
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    os.pwrite(fd, b"x" * (4096 * count), 0)
    os.fsync(fd)
    times = []
    for i in range(count):
        start = time.perf_counter()
        os.pwrite(fd, b"y" * 4096, i * 4096)
        os.fdatasync(fd)
        times.append((time.perf_counter() - start) * 1e3)
    os.close(fd)
    os.unlink(path)
    return median(times), sorted(times)[int(count * 0.99) - 1]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Bench:
    def __init__(self, arguments):
        self.load = os.path.join(arguments.build, "bin", "submit_load")
        self.seconds = str(arguments.seconds)

    def run(self, address, mode, clients, blob):
        out = subprocess.run([self.load, address, mode, str(clients), self.seconds, *blob],
                             stdout=subprocess.PIPE, text=True)
        rate, p50, p99, failed = out.stdout.split()
        if int(failed):
            print(f"  {mode}: {failed} calls failed")
        return float(rate), float(p50), float(p99)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    os.environ["QB_BIN_DIR"] = os.path.join(arguments.build, "bin")
    sys.path[:0] = [os.path.join(arguments.build, "gen_py"),
                    os.path.join(ROOT, "tests", "integration")]
    from client import Client, sha256
    from cluster import Cluster

    bench = Bench(arguments)
    rates = {"ours": [], "echo": [], "beanstalkd": []}
    single, syncs = [], []
    model = b"progress 1"
    blob = (sha256(model), str(len(model)))
    beanstalkd = shutil.which("beanstalkd")
    missed = []
    with Cluster(server_flags=["--max-queued-jobs", "10000000"]) as cluster:
        cluster.start_server()
        client = Client(cluster.address)
        client.wait_until_ready()
        client.upload(model)
        peer, port = None, free_port()
        if beanstalkd:
            folder = os.path.join(cluster.folder, "beanstalkd")
            os.mkdir(folder)
            peer = subprocess.Popen([beanstalkd, "-l", "127.0.0.1", "-p", str(port), "-b", folder,
                                     "-f0"])
            time.sleep(0.5)
        try:
            for _ in range(arguments.rounds):
                rates["ours"].append(bench.run(cluster.address, "submit", arguments.clients, blob))
                rates["echo"].append(bench.run("-", "echo", arguments.clients, blob))
                if peer:
                    rates["beanstalkd"].append(
                        bench.run(f"127.0.0.1:{port}", "beanstalkd", arguments.clients, blob))
                single.append(bench.run(cluster.address, "submit", 1, blob))
                syncs.append(fdatasync_ms(cluster.folder))
        finally:
            if peer:
                peer.terminate()
                peer.wait()
        client.close()
    ours = median([rate for rate, _, _ in rates["ours"]])
    print(f"{arguments.clients} clients: {ours:.0f} durable submits/s, "
          f"p50 {median([p for _, p, _ in rates['ours']]):.2f} ms")
    for name, bar in (("echo", 0.6), ("beanstalkd", 10)):
        if rates[name]:
            rate = median([r for r, _, _ in rates[name]])
            print(f"  {name}: {rate:.0f}/s, ours is {ours / rate:.2f}x (bar {bar}x)")
            if ours < bar * rate:
                missed.append(name)
        else:
            print(f"  {name}: not installed")
    p50 = median([p for _, p, _ in single])
    sync = median([p for p, _ in syncs])
    bar = 1.3 * sync + 0.4
    print(f"1 client: p50 {p50:.2f} ms; a 4 KiB write with fdatasync {sync:.2f} ms; bar {bar:.2f} ms")
    if p50 > bar:
        missed.append("one client")
    print("missed: " + (", ".join(missed) or "nothing"))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
