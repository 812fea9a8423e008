#!/usr/bin/python3
"""The exporter beside a real server: what Prometheus would read. The dashboard uses metrics that it has."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import unittest
import urllib.request

sys.dont_write_bytecode = True
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1]),
                str(pathlib.Path(__file__).resolve().parents[1] / "e2e")]
import python_report
import stack

PROMETHEUS = stack.ROOT / "deploy/prometheus"
PROMTOOL = shutil.which("promtool") or shutil.which(
    "promtool", path=str(stack.ROOT / ".cache/prometheus/usr/bin"))
SITE = os.environ.get("QB_PYTHON_SITE", str(stack.ROOT / "build/release/python"))


def names_in(expression):
    return set(re.findall(r"\bqbc_[a-z_]+", expression))


class Exporter(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = stack.Stack(compiler="chaos_compiler")
        cls.stack.start_server()
        cls.exporter = subprocess.Popen(
            ["/usr/bin/python3", PROMETHEUS / "qbc_exporter.py", "--server", cls.stack.address, "--listen",
             "127.0.0.1:0"], stdout=subprocess.PIPE, text=True,
            env={**stack.clean_environment(), "PYTHONPATH": SITE, "PYTHONDONTWRITEBYTECODE": "1"})
        cls.url = cls.exporter.stdout.readline().strip()

    @classmethod
    def tearDownClass(cls):
        cls.exporter.terminate()
        code = cls.exporter.wait(timeout=30)
        cls.exporter.stdout.close()
        cls.stack.__exit__(None, None, None)
        if code != 0:
            raise AssertionError(f"the exporter ended with {code}")

    def scrape(self):
        """({metric with labels: value}, text)."""
        with urllib.request.urlopen(self.url, timeout=30) as answer:
            text = answer.read().decode()
        rows = (line.rpartition(" ") for line in text.splitlines() if line and not line.startswith("#"))
        return {name: float(value) for name, _, value in rows}, text

    def wait_for(self, condition):
        deadline = time.monotonic() + stack.DEADLINE_S
        while True:
            values, text = self.scrape()
            if condition(values):
                return values
            self.assertLess(time.monotonic(), deadline, text)
            time.sleep(0.05)

    def test_a_queue_is_seen(self):
        jobs = [self.stack.qbc("submit", self.stack.write(f"{number}.onnx", f"# {number}\nstage a\nhang\n"),
                               "-t", "aries-rb", "--use-random-calib", check=0).stdout.strip()
                for number in range(3)]
        values = self.wait_for(lambda found: found.get('qbc_jobs{state="running"}') == 1)
        self.assertEqual(values['qbc_jobs{state="queued"}'], 2)
        self.assertEqual((values["qbc_up"], values["qbc_workers"]), (1, 1))
        self.assertEqual(sum(value for name, value in values.items()
                             if name.startswith("qbc_worker_busy_slots")), 1)
        self.stack.qbc("cancel", *jobs, check=0)
        values = self.wait_for(lambda found: all(
            found[f'qbc_jobs{{state="{state}"}}'] == 0 for state in ("running", "queued", "cancelling")))
        self.assertEqual(values["qbc_oldest_queued_job_seconds"], 0)

    def test_a_server_that_is_away(self):
        self.stack.kill_server()
        try:
            values, _ = self.scrape()
            self.assertEqual(values["qbc_up"], 0)
            self.assertNotIn("qbc_workers", values)
        finally:
            self.stack.start_server()
        self.wait_for(lambda found: found["qbc_up"] == 1 and found["qbc_workers"] == 1)

    def test_the_dashboard_uses_what_there_is(self):
        there = set(re.findall(r"^# TYPE (\S+)", self.scrape()[1], re.MULTILINE))
        board = json.loads((PROMETHEUS / "grafana/qbc.json").read_text())
        for panel in board["panels"]:
            for target in panel["targets"]:
                self.assertLessEqual(names_in(target["expr"]), there, panel["title"])
                self.assertTrue(names_in(target["expr"]))

    @unittest.skipUnless(PROMTOOL, "promtool (Debian's prometheus) is not there")
    def test_promtool(self):
        done = subprocess.run([PROMTOOL, "check", "metrics"], input=self.scrape()[1], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, (done.stdout, done.stderr))


if __name__ == "__main__":
    python_report.main()
