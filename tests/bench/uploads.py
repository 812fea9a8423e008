#!/usr/bin/python3
"""Uploads: throughput beside dd, memory of many at once, and what a killed server costs.

    tests/bench/uploads.py [--build build/release] [--mib 1024] [--kills 5] [--parallel 16]
                           [--rounds 3]

The client is Python, so the throughput is a lower bound; a sink that takes the same stream and only
counts it is measured beside it."""

import argparse
import concurrent.futures
import hashlib
import os
import random
import re
import subprocess
import sys
import threading
import time
import uuid

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from chaos import ROOT  # noqa: E402

CHUNK = 1 << 20


class Source:
    """Deterministic bytes that are not compressible, made once."""

    def __init__(self, mib, seed):
        rng = random.Random(seed)
        self.block = rng.randbytes(CHUNK)
        self.mib = mib
        digest = hashlib.sha256()
        for i in range(mib):
            digest.update(self.piece(i))
        self.sha256 = digest.hexdigest()
        self.size = mib * CHUNK

    def piece(self, index):
        return index.to_bytes(8, "little") + self.block[8:]


def send(client, source, upload_id, offset, pb, counter, on_piece=None):
    """One stream from `offset` on; counter[0] counts bytes that left."""

    def messages():
        yield pb.WriteBlobRequest(header=pb.WriteBlobHeader(
            sha256=source.sha256, size_bytes=source.size, upload_id=upload_id, offset=offset))
        index, skip = divmod(offset, CHUNK)
        while index < source.mib:
            data = source.piece(index)[skip:]
            counter[0] += len(data)
            yield pb.WriteBlobRequest(data=data)
            index, skip = index + 1, 0
            if on_piece is not None:
                on_piece(index)

    return client.blobs.WriteBlob(messages(), timeout=600, wait_for_ready=True)


def dd_rate(folder, mib):
    path = os.path.join(folder, "dd.out")
    start = time.monotonic()
    subprocess.run(["dd", "if=/dev/zero", f"of={path}", "bs=1M", f"count={mib}", "conv=fdatasync"],
                   check=True, stderr=subprocess.DEVNULL)
    took = time.monotonic() - start
    os.unlink(path)
    return mib / took


def sink_rate(source, pb, grpc, grpc_stub):
    """The same stream into a server that only counts."""
    from proto.qbc.v1 import blob_service_pb2_grpc

    class Sink(blob_service_pb2_grpc.BlobServiceServicer):
        def WriteBlob(self, requests, context):
            for _ in requests:
                pass
            return pb.WriteBlobResponse()

    server = grpc.server(concurrent.futures.ThreadPoolExecutor(2))
    blob_service_pb2_grpc.add_BlobServiceServicer_to_server(Sink(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    channel = grpc.insecure_channel(f"127.0.0.1:{port}")

    class Client:
        blobs = grpc_stub(channel)

    start = time.monotonic()
    send(Client, source, "x", 0, pb, [0])
    took = time.monotonic() - start
    channel.close()
    server.stop(0)
    return source.mib / took


def rss_mib(pid, field="VmRSS"):
    with open(f"/proc/{pid}/status") as file:
        return int(re.search(rf"{field}:\s+(\d+)", file.read()).group(1)) / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--parallel", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    os.environ["QB_BIN_DIR"] = os.path.join(arguments.build, "bin")
    sys.path[:0] = [os.path.join(arguments.build, "gen_py"),
                    os.path.join(ROOT, "tests", "integration")]
    import grpc
    from client import Client
    from cluster import Cluster
    from proto.qbc.v1 import blob_service_pb2 as pb
    from proto.qbc.v1 import blob_service_pb2_grpc

    problems = []
    with Cluster() as cluster:
        cluster.start_server()
        client = Client(cluster.address, patience_s=300)
        client.wait_until_ready()
        ours, theirs, sink = [], [], []
        for i in range(arguments.rounds):
            source = Source(arguments.mib, i)
            start = time.monotonic()
            send(client, source, uuid.uuid4().hex, 0, pb, [0])
            ours.append(arguments.mib / (time.monotonic() - start))
            theirs.append(dd_rate(cluster.folder, arguments.mib))
            sink.append(sink_rate(source, pb, grpc, blob_service_pb2_grpc.BlobServiceStub))
        median = lambda values: sorted(values)[len(values) // 2]  # noqa: E731
        print(f"upload of {arguments.mib} MiB, hashed and durable: {median(ours):.0f} MiB/s; "
              f"dd with fdatasync {median(theirs):.0f} MiB/s (ratio "
              f"{median(ours) / median(theirs):.2f}, bar 0.85); the stream into nothing "
              f"{median(sink):.0f} MiB/s (ratio {median(ours) / median(sink):.2f}, bar 0.75)",
              flush=True)
        if median(ours) < 0.85 * median(theirs) and median(ours) < 0.75 * median(sink):
            problems.append("upload is slower than both bars")

        before = rss_mib(cluster.server.pid)
        small = [Source(max(8, arguments.mib // 16), 100 + i) for i in range(arguments.parallel)]

        def upload(source):
            own = Client(cluster.address, patience_s=300)
            send(own, source, uuid.uuid4().hex, 0, pb, [0])
            own.close()

        threads = [threading.Thread(target=upload, args=(source,)) for source in small]
        for thread in threads:
            thread.start()
        peak = before
        while any(thread.is_alive() for thread in threads):
            peak = max(peak, rss_mib(cluster.server.pid))
            time.sleep(0.02)
        print(f"{arguments.parallel} uploads at once: the server grew by {peak - before:.0f} MiB "
              f"(bar 48 MiB)", flush=True)
        if peak - before > 48:
            problems.append("memory of parallel uploads")

        source = Source(arguments.mib, 999)
        points = sorted(random.Random(5).sample(range(1, arguments.mib), arguments.kills))
        counter, offset, upload_id = [0], 0, uuid.uuid4().hex

        def kill_at(index):
            if points and index >= points[0]:
                points.pop(0)
                cluster.kill_server()
                cluster.start_server()

        while True:
            try:
                if send(client, source, upload_id, offset, pb, counter, kill_at).complete:
                    break
            except grpc.RpcError:
                pass
            offset = client.committed(upload_id, source.sha256).committed_bytes
        extra = counter[0] - source.size
        allowed = 0.02 * source.size + arguments.kills * (4 << 20)
        print(f"{arguments.kills} kills during {arguments.mib} MiB: {extra / CHUNK:.1f} MiB sent "
              f"again (bar {allowed / CHUNK:.1f} MiB)", flush=True)
        if extra > allowed:
            problems.append("too much was sent again")
        start = time.monotonic()
        missing = client.missing([source.sha256])
        print(f"the same file again: known {not missing}, {(time.monotonic() - start) * 1e3:.1f} ms")
        if missing:
            problems.append("a stored file is unknown")
        client.close()
    for problem in problems:
        print("  " + problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
