#!/usr/bin/python3
"""Metrics of a qbc-server for Prometheus, from its public API.

    qbc_exporter.py --server ADDRESS [--listen HOST:PORT]

The server has no metrics endpoint yet; this stands beside it and asks it at each scrape. Needs the packages
python3-qbcompiler and python3-prometheus-client."""

import argparse
import http.server
import signal
import sys
import threading
import time

import grpc
import prometheus_client
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from qbcompiler.connection import Connection

# States of jobs that are not over: their number is small, so they can be counted at each scrape.
STATES = ("QUEUED", "RUNNING", "RETRY_WAIT", "CANCELLING")
# More jobs than this are not counted further: a queue of that length needs no exact number.
MOST_JOBS = 20_000
TIMEOUT_S = 5


class QbcCollector(Collector):
    def __init__(self, connection):
        self._connection = connection

    def collect(self):
        try:
            families = self._server() + self._jobs()
            up = 1
        except grpc.RpcError:
            families, up = [], 0
        yield GaugeMetricFamily("qbc_up", "1 when the server answers.", value=up)
        yield from families

    def _call(self, service, name, request):
        # One try: a scrape has no time for more, and the next one comes.
        return self._connection.method(service, name)(request, timeout=TIMEOUT_S)

    def _server(self):
        wire = self._connection.wire
        answer = self._call("ServerInfo", "GetCapabilities", wire.GetCapabilitiesRequest())
        info = GaugeMetricFamily("qbc_server_info", "The server's version.", labels=["version"])
        info.add_metric([answer.server_version], 1)
        slots = GaugeMetricFamily("qbc_worker_slots", "Compiles that a worker runs at a time.",
                                  labels=["worker"])
        busy = GaugeMetricFamily("qbc_worker_busy_slots", "Compiles that a worker runs now.",
                                 labels=["worker"])
        for worker in answer.workers:
            slots.add_metric([worker.worker_id], worker.slots)
            busy.add_metric([worker.worker_id], worker.busy_slots)
        workers = GaugeMetricFamily("qbc_workers", "Workers that are connected.",
                                    value=len(answer.workers))
        return [info, workers, slots, busy]

    def _jobs(self):
        wire = self._connection.wire
        numbers = {wire.number("JobState", f"JOB_STATE_{state}"): state for state in STATES}
        counts = dict.fromkeys(STATES, 0)
        oldest = None  # when the job that waits longest was made
        request = wire.ListJobsRequest(page_size=1000, filter=wire.JobFilter(states=list(numbers)))
        while True:
            page = self._call("JobService", "ListJobs", request)
            for job in page.jobs:
                state = numbers.get(job.state)
                if state is not None:
                    counts[state] += 1
                if state == "QUEUED":
                    made = job.create_time.ToMicroseconds() / 1e6
                    oldest = made if oldest is None else min(oldest, made)
            request.page_token = page.next_page_token
            if not page.next_page_token or sum(counts.values()) >= MOST_JOBS:
                break
        jobs = GaugeMetricFamily("qbc_jobs", "Jobs that have not ended, by state.", labels=["state"])
        for state, count in counts.items():
            jobs.add_metric([state.lower()], count)
        age = GaugeMetricFamily("qbc_oldest_queued_job_seconds",
                                "How long the oldest waiting job has been waiting; 0: none waits.",
                                value=0 if oldest is None else max(time.time() - oldest, 0))
        return [jobs, age]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--server", required=True, help="unix:/path or 127.0.0.1:port of the qbc-server")
    parser.add_argument("--listen", default="127.0.0.1:9478", metavar="HOST:PORT",
                        help="where Prometheus asks; port 0 for any free one (default: %(default)s)")
    arguments = parser.parse_args()
    host, _, port = arguments.listen.rpartition(":")
    registry = prometheus_client.CollectorRegistry()
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    signal.signal(signal.SIGINT, lambda *_: ended.set())
    with Connection(arguments.server) as connection:
        registry.register(QbcCollector(connection))
        handler = prometheus_client.MetricsHandler.factory(registry)
        server = http.server.ThreadingHTTPServer((host, int(port)), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(f"http://{host}:{server.server_port}/metrics", flush=True)
        ended.wait()
        server.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
