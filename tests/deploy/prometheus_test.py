#!/usr/bin/python3
"""Prometheus itself reads a server: scrapes it, evaluates the shipped rules, and answers queries about
what happened. promtool checks what is shipped. Needs Debian's prometheus (./setup --test)."""

import json
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

import yaml

sys.dont_write_bytecode = True
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1]),
                str(pathlib.Path(__file__).resolve().parents[1] / "e2e")]
import python_report
import stack

SHIPPED = stack.ROOT / "deploy/prometheus"
# ./setup unpacks the package there: an installed one would start a server on this machine.
UNPACKED = stack.ROOT / ".cache/prometheus/usr/bin"


def find(program):
    return shutil.which(program) or shutil.which(program, path=str(UNPACKED))


PROMETHEUS, PROMTOOL = find("prometheus"), find("promtool")


def get(url):
    with urllib.request.urlopen(url, timeout=30) as answer:
        return answer.read().decode()


def promtool(*arguments, text=None):
    return subprocess.run([PROMTOOL, *map(str, arguments)], input=text, capture_output=True, text=True,
                          check=False, timeout=stack.DEADLINE_S)


def metrics_in(expression):
    """The metrics that an expression reads; those of a histogram by their common name."""
    found = set(re.findall(r"\bqbc_[a-z_]+", expression))
    return {re.sub(r"_(bucket|sum|count)$", "", name) for name in found}


@unittest.skipUnless(PROMTOOL, "promtool (Debian's prometheus) is not there")
class Shipped(unittest.TestCase):
    def good(self, *arguments, text=None):
        done = promtool(*arguments, text=text)
        self.assertEqual(done.returncode, 0, (arguments, done.stdout, done.stderr))
        return done

    def test_rules(self):
        self.assertRegex(self.good("check", "rules", SHIPPED / "rules.yml").stdout, r"SUCCESS: \d+ rules")

    def test_rules_fire_when_they_must(self):
        self.good("test", "rules", SHIPPED / "rules_test.yml")
        rules = yaml.safe_load((SHIPPED / "rules.yml").read_text())
        tested = {row["alertname"]
                  for test in yaml.safe_load((SHIPPED / "rules_test.yml").read_text())["tests"]
                  for row in test["alert_rule_test"] if row["exp_alerts"]}
        self.assertEqual(tested, {rule["alert"] for group in rules["groups"] for rule in group["rules"]},
                         "each alert has a test in which it fires")

    def test_configurations(self):
        for name in ("prometheus.yml", "prometheus-server.yml"):
            self.good("check", "config", SHIPPED / name)

    def test_a_wrong_rule_is_noticed(self):
        done = subprocess.run([PROMTOOL, "check", "rules", "/dev/stdin"],
                              input="groups: [{name: a, rules: [{alert: B, expr: 'sum('}]}]", text=True,
                              capture_output=True, check=False, timeout=60)
        self.assertNotEqual(done.returncode, 0)


class Scraped(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = stack.Stack(compiler="chaos_compiler", http=True)
        cls.stack.start_server()
        cls.addClassCleanup(cls.stack.__exit__, None, None, None)
        good = cls.stack.write("good.onnx", "stage a\n")
        bad = cls.stack.write("bad.onnx", "exit 1 MODEL_PARSE_ERROR broken\n")
        cls.stack.qbc("compile", good, "-t", "aries-rb", "--use-random-calib", "-o",
                      cls.stack.path("good.mxq"), check=0)
        cls.stack.qbc("compile", bad, "-t", "aries-rb", "--use-random-calib", "-o",
                      cls.stack.path("bad.mxq"), check=3)

    def test_promtool_likes_the_metrics(self):
        if PROMTOOL is None:
            self.skipTest("promtool (Debian's prometheus) is not there")
        done = promtool("check", "metrics", text=get(self.stack.site + "/metrics"))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_rules_and_dashboard_use_what_there_is(self):
        there = set(re.findall(r"^# TYPE (\S+)", get(self.stack.site + "/metrics"), re.MULTILINE))
        used = {}
        for group in yaml.safe_load((SHIPPED / "rules.yml").read_text())["groups"]:
            for rule in group["rules"]:
                used[rule["alert"]] = metrics_in(rule["expr"])
        for panel in json.loads((SHIPPED / "grafana/qbc.json").read_text())["panels"]:
            for target in panel["targets"]:
                used[panel["title"]] = metrics_in(target["expr"])
        for user, names in used.items():
            self.assertTrue(names, user)
            self.assertLessEqual(names, there, user)

    def test_prometheus_reads_it(self):
        if PROMETHEUS is None:
            self.skipTest("prometheus (Debian's package) is not there")
        with Prometheus(self.stack) as prometheus:
            self.assertEqual(prometheus.value("up"), 1)
            self.assertEqual(prometheus.value("qbc_up"), 1)
            self.assertEqual(prometheus.value("qbc_workers"), 1)
            self.assertEqual(prometheus.value('qbc_jobs_finished_total{outcome="succeeded"}'), 1)
            self.assertEqual(
                prometheus.value('qbc_jobs_finished_total{outcome="failed",reason="model_parse_error"}'), 1)
            self.assertGreater(
                prometheus.value("histogram_quantile(0.5, sum by (le) (qbc_commit_seconds_bucket))"), 0)
            rules = prometheus.ask("rules", type="alert")["groups"][0]["rules"]
            wanted = yaml.safe_load((SHIPPED / "rules.yml").read_text())["groups"][0]["rules"]
            self.assertEqual({rule["name"]: rule["health"] for rule in rules},
                             {rule["alert"]: "ok" for rule in wanted})
            self.assertEqual([rule["name"] for rule in rules if rule["state"] == "firing"], [])


class Prometheus:
    """The real thing, with the shipped configuration, reading the server of `used`."""

    def __init__(self, used):
        self.folder = pathlib.Path(used.path("prometheus"))
        self.folder.mkdir()
        config = yaml.safe_load((SHIPPED / "prometheus-server.yml").read_text())
        config["global"] = {"scrape_interval": "200ms", "evaluation_interval": "200ms",
                            "scrape_timeout": "200ms"}
        config["rule_files"] = [str(SHIPPED / name) for name in config["rule_files"]]
        job = config["scrape_configs"][0]
        job.pop("scrape_timeout", None)
        job["static_configs"] = [{"targets": [used.site.removeprefix("http://")]}]
        (self.folder / "config.yml").write_text(yaml.safe_dump(config))
        self.process = None
        self.port = None

    def __enter__(self):
        deadline = time.monotonic() + stack.DEADLINE_S
        while True:
            # It cannot say which port it got, so one that was free a moment ago has to do.
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                self.port = free.getsockname()[1]
            with open(self.folder / "log", "ab") as log:
                self.process = subprocess.Popen(
                    [PROMETHEUS, f"--config.file={self.folder / 'config.yml'}",
                     f"--storage.tsdb.path={self.folder / 'data'}",
                     f"--web.listen-address=127.0.0.1:{self.port}"], stdin=subprocess.DEVNULL, stdout=log,
                    stderr=log, env=stack.clean_environment())
            while self.process.poll() is None:
                if time.monotonic() > deadline:
                    self.__exit__()
                    raise AssertionError((self.folder / "log").read_text()[-2000:])
                if self.scraped_and_evaluated():
                    return self
                time.sleep(0.1)
            if time.monotonic() > deadline:
                raise AssertionError((self.folder / "log").read_text()[-2000:])

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def scraped_and_evaluated(self):
        try:
            targets = self.ask("targets")["activeTargets"]
            groups = self.ask("rules", type="alert")["groups"]
            return (targets and targets[0]["health"] == "up" and self.ask("query", query="qbc_up")["result"]
                    and groups and all(rule["health"] == "ok" for rule in groups[0]["rules"]))
        except (urllib.error.URLError, ConnectionError):
            return False

    def ask(self, what, **parameters):
        answer = json.loads(get(f"http://127.0.0.1:{self.port}/api/v1/{what}?"
                                + urllib.parse.urlencode(parameters)))
        assert answer["status"] == "success", answer
        return answer["data"]

    def value(self, query):
        result = self.ask("query", query=query)["result"]
        if len(result) != 1:
            raise AssertionError(f"{query}: {result}")
        return float(result[0]["value"][1])


if __name__ == "__main__":
    python_report.main()
