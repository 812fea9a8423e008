#!/usr/bin/python3
"""Watchers and log readers whose connections break at random bytes, also while the server restarts.

    tests/bench/cuts.py [--build build/release] [--cuts 1000] [--restarts 10] [--watchers 8]

A proxy between the clients and the server cuts every connection after a random number of bytes. Each
client must end with the event seqs 1..N without a hole or a double, and with the log byte for byte."""

import argparse
import os
import random
import socket
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from chaos import ROOT  # noqa: E402


class CuttingProxy:
    """Forwards connections to a unix socket and cuts each after a random number of bytes that came
    from the server. Stops cutting after `cuts`."""

    def __init__(self, path, target, cuts, seed):
        self.target = target
        self.left = cuts
        self.done = 0
        self.rng = random.Random(seed)
        self.lock = threading.Lock()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(64)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(self.target)
            except OSError:  # the server is away
                client.close()
                continue
            with self.lock:
                budget = None
                if self.left > 0:
                    budget = self.rng.choice([self.rng.randint(100, 2000),
                                              self.rng.randint(500, 20_000)])
            threading.Thread(target=self.pump, args=(client, server, None), daemon=True).start()
            threading.Thread(target=self.pump, args=(server, client, budget), daemon=True).start()

    def pump(self, source, sink, budget):
        try:
            while True:
                data = source.recv(4096)
                if not data:
                    break
                if budget is not None and len(data) >= budget:
                    sink.sendall(data[:budget])  # in the middle of a frame, as likely as not
                    with self.lock:
                        self.left -= 1
                        self.done += 1
                    break
                if budget is not None:
                    budget -= len(data)
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()


def follow_log(client, job_id, job_service_pb2, is_transient, grpc):
    """The whole log of a job, read while it is written."""
    data = b""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        try:
            request = job_service_pb2.ReadLogRequest(job_id=job_id, attempt=1, offset=len(data),
                                                     follow=True)
            for piece in client.jobs.ReadLog(request, timeout=300, wait_for_ready=True):
                if piece.offset != len(data):
                    raise AssertionError(f"the log goes on at {piece.offset}, have {len(data)}")
                data += piece.data
            if client.get(job_id).state >= 10:
                return data
        except grpc.RpcError as error:
            if not is_transient(error) and error.code() != grpc.StatusCode.OUT_OF_RANGE:
                raise
        time.sleep(0.02)
    raise AssertionError("the log did not end")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    parser.add_argument("--cuts", type=int, default=1000)
    parser.add_argument("--restarts", type=int, default=10)
    parser.add_argument("--watchers", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    os.environ["QB_BIN_DIR"] = os.path.join(arguments.build, "bin")
    sys.path[:0] = [os.path.join(arguments.build, "gen_py"),
                    os.path.join(ROOT, "tests", "integration")]
    import grpc
    from checker import event_problems
    from client import Client, is_transient
    from cluster import Cluster
    from proto.qbc.v1 import job_service_pb2

    problems = []
    jobs = streams = restarts = cuts = 0
    start = time.monotonic()
    with Cluster(slots=2) as cluster:
        cluster.start_server()
        cluster.start_agent("a")
        direct = Client(cluster.address, patience_s=120)
        direct.wait_until_ready()
        path = os.path.join(cluster.folder, "proxy.sock")
        proxy = CuttingProxy(path, cluster.address[len("unix:"):], arguments.cuts, arguments.seed)
        rng = random.Random(arguments.seed)
        while proxy.done < arguments.cuts and time.monotonic() - start < 1800:
            jobs += 1
            lines = [line for i in range(60) for line in
                     (f"stage s{i}", f"log message {i} " + "x" * rng.randint(0, 300),
                      f"stderr line {i} " + "y" * rng.randint(0, 300),
                      f"sleep_ms {rng.randint(5, 40)}")]
            job_id = direct.submit("\n".join(lines + [f"# {jobs}"]).encode())
            direct.wait_for(job_id, lambda e: e.attempt > 0)
            seen, logs = [], []

            def watch():
                client = Client("unix:" + path, patience_s=300)
                try:
                    seen.append(list(client.watch(job_id)))
                    logs.append(follow_log(client, job_id, job_service_pb2, is_transient, grpc))
                except Exception as error:  # noqa: BLE001
                    problems.append(f"{type(error).__name__}: {error}")
                client.close()

            threads = [threading.Thread(target=watch) for _ in range(arguments.watchers)]
            for thread in threads:
                thread.start()
            while restarts < arguments.restarts and any(thread.is_alive() for thread in threads):
                time.sleep(rng.uniform(0.3, 1.5))
                restarts += 1
                cluster.kill_server()
                cluster.start_server()
            for thread in threads:
                thread.join()
            truth = direct.events(job_id)
            log = direct.read_log(job_id)
            problems += event_problems(truth)
            for events in seen:
                streams += 1
                if [e.SerializeToString(deterministic=True) for e in events] != [
                        e.SerializeToString(deterministic=True) for e in truth]:
                    problems.append(f"job {job_id}: seqs {[e.seq for e in events]}")
            if any(text != log for text in logs) or len(logs) != arguments.watchers:
                problems.append(f"job {job_id}: {len(logs)} logs, of {[len(l) for l in logs]} bytes, "
                                f"expected {len(log)}")
            cuts = proxy.done
        direct.close()
    print(f"{cuts} connections cut, {restarts} kills of the server, {jobs} jobs, {streams} watches "
          f"and logs compared, {len(problems)} problems; {time.monotonic() - start:.0f} s")
    for problem in problems[:20]:
        print("  " + problem[:300])
    return 1 if problems or cuts < arguments.cuts else 0


if __name__ == "__main__":
    sys.exit(main())
