#!/usr/bin/python3
"""Ten times more submits than the server can store, sent whatever the answers are.

    tests/bench/overload.py [--build build/release] [--seconds 8] [--factor 10] [--max-delay 1s]

First the peak: clients that wait for their answers. Then calls at `factor` times that rate, each with a
deadline. Printed are the rate of accepted jobs beside the peak (bar 90 %), how fast refusals come (p99,
bar 10 ms) and whether each says when to try again, and how long after the load a submit takes no longer
than before (bar 5 s). Jobs in the store are counted beside the calls that were answered OK: calls whose
deadline had passed are not begun. Load and server share the cores of this machine."""

import argparse
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from chaos import ROOT  # noqa: E402
from submit_rate import median  # noqa: E402


def closed_loop(build, address, blob, seconds):
    out = subprocess.run([os.path.join(build, "bin", "submit_load"), address, "submit", "64",
                          str(seconds), *blob], stdout=subprocess.PIPE, text=True, check=True)
    return float(out.stdout.split()[0])


def open_loop(build, address, blob, rate, seconds, deadline_ms=2000):
    out = subprocess.run([os.path.join(build, "bin", "open_load"), address, f"{rate:.0f}", str(seconds),
                          str(deadline_ms), *blob], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(out.stdout)


def recovery_s(submit, usual_s):
    """Seconds until ten submits in a row are accepted and none takes longer than is usual."""
    start = time.monotonic()
    good = 0
    while good < 10 and time.monotonic() - start < 60:
        began = time.monotonic()
        accepted = submit()
        good = good + 1 if accepted and time.monotonic() - began <= usual_s else 0
        time.sleep(0.02)
    return time.monotonic() - start - 0.2  # the ten pauses


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--factor", type=float, default=10)
    parser.add_argument("--max-delay", help="of the server; default: its own")
    arguments = parser.parse_args()
    os.environ["QB_BIN_DIR"] = os.path.join(arguments.build, "bin")
    sys.path[:0] = [os.path.join(arguments.build, "gen_py"),
                    os.path.join(ROOT, "tests", "integration")]
    import grpc
    from client import Client, sha256
    from cluster import Cluster
    from proto.qbc.v1 import job_service_pb2

    model = b"progress 1"
    blob = (sha256(model), str(len(model)))
    missed = []

    def check(name, good):
        if not good:
            missed.append(name)

    flags = ["--max-queued-jobs", "10000000"]
    flags += ["--max-delay", arguments.max_delay] if arguments.max_delay else []
    with Cluster(server_flags=flags) as cluster:
        cluster.start_server()
        client = Client(cluster.address)
        client.wait_until_ready()
        client.upload(model)

        def stored():
            counts = client.jobs.CountJobs(job_service_pb2.CountJobsRequest(), timeout=60).counts
            return sum(count.count for count in counts)

        request = job_service_pb2.SubmitJobRequest()
        entry = request.spec.model.entries.add(path="model.txt", sha256=blob[0],
                                               size_bytes=len(model))
        request.spec.model.main = entry.path
        request.spec.target_device = "aries-rb"
        request.spec.config.overrides_json = '{"use-random-calib": true}'
        request.spec.cache_policy = 3

        def submit():
            try:
                client.jobs.SubmitJob(request, timeout=10)
                return True
            except grpc.RpcError:
                return False

        usual = []
        for _ in range(50):
            began = time.monotonic()
            submit()
            usual.append(time.monotonic() - began)
        usual_s = max(3 * median(usual), max(usual))
        peak = median([closed_loop(arguments.build, cluster.address, blob, arguments.seconds / 2)
                       for _ in range(3)])
        print(f"peak: {peak:.0f} submits/s from 64 clients that wait for answers", flush=True)
        before = stored()
        load = open_loop(arguments.build, cluster.address, blob, arguments.factor * peak,
                         arguments.seconds)
        recovered = recovery_s(submit, usual_s)
        in_store = stored() - before
        print(json.dumps(load))
        print(f"sent {load['sent_per_s']}/s, {load['sent_per_s'] / peak:.1f} times the peak: accepted "
              f"{load['ok_per_s']}/s, {100 * load['ok_per_s'] / peak:.0f} % of the peak (bar 90 %)")
        check("goodput", load["ok_per_s"] >= 0.9 * peak)
        print(f"refusals: {load['refused']}, p99 {load['refused_p99_ms']} ms (bar 10 ms), without "
              f"RetryInfo {load['without_retry_info']} (bar 0)")
        check("refusals", load["refused"] > 0 and load["refused_p99_ms"] <= 10)
        check("RetryInfo", load["without_retry_info"] == 0 and load["other"] == 0)
        print(f"recovery: {recovered:.1f} s (bar 5 s)")
        check("recovery", recovered <= 5)
        unanswered = in_store - load["ok"]
        print(f"jobs stored beyond the calls that were answered OK: at most {unanswered} of "
              f"{load['deadline_exceeded']} whose deadline passed (the probes are among them)")
        client.close()
    print("missed: " + (", ".join(missed) or "nothing"))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
