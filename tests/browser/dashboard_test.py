#!/usr/bin/python3
"""The dashboard in real Chromium, on a server with real workers."""

import json
import pathlib
import subprocess
import sys
import time
import unittest
import urllib.request

sys.dont_write_bytecode = True
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1]),
                str(pathlib.Path(__file__).resolve().parents[1] / "e2e"), str(pathlib.Path(__file__).resolve().parent)]
import browser
import python_report
import stack

EXAMPLE = stack.ROOT / "examples/fashion"
MISSING = browser.why_not()
HOSTILE = ["<img src=x onerror=pwned=1>", "'\"><svg onload=pwned=1>", "javascript:pwned=1", "{{constructor.constructor('pwned=1')()}}",
           "\u202egnp.exe", "a" * 250]


class OnStack(unittest.TestCase):
    compiler = "qbcompiler"

    @classmethod
    def setUpClass(cls):
        cls.stack = stack.Stack(compiler=cls.compiler, http=True)
        cls.stack.start_server()

    @classmethod
    def tearDownClass(cls):
        cls.stack.__exit__(None, None, None)

    @classmethod
    def submit(cls, model, *flags):
        return cls.stack.qbc("submit", model, "-t", "aries-rb", *flags, check=0).stdout.strip()

    @classmethod
    def ended(cls, *jobs):
        for job in jobs:
            cls.stack.qbc("wait", job, timeout_s=300)

    def browse(self, scenario, **arguments):
        return browser.run(scenario, site=self.stack.site, **arguments)


@unittest.skipIf(MISSING, MISSING)
class RealCompiles(OnStack):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.job = cls.submit(EXAMPLE / "fashion.onnx", "--calib-data-path", EXAMPLE / "calib",
                             "--config-preset", "classification")

    def test_a_job_runs_and_its_graph_and_report_open(self):
        seen = self.browse("follow", job=self.job)
        self.assertEqual(seen["phases"][0], "fetch")
        self.assertIn("calibrate", seen["phases"])
        self.assertIn("SQNR", seen["details"])
        self.assertIn("Runs on\nNPU", seen["details"])
        self.assertIn("8 bit", seen["details"])
        self.assertIn("Layers, worst first", seen["report"])
        self.assertIn("preset classification", seen["settings"])
        self.assertEqual(seen["files"], ["graph.json", "model.mxq", "report.html", "report.json"])
        self.assertIn("Accuracy against the float model", seen["accuracy"])

    def test_the_graph_is_that_of_the_executable(self):
        self.ended(self.job)
        with urllib.request.urlopen(f"{self.stack.site}/api/v1/jobs/{self.job}/artifacts/graph.json", timeout=60) as answer:
            graph = json.load(answer)
        layers = graph["layers"]
        self.assertEqual(layers[0]["device"], "input")
        self.assertEqual(layers[-1]["device"], "output")
        for index, layer in enumerate(layers):
            self.assertTrue(all(0 <= one < index for one in layer["inputs"]), layer)
        measured = [layer for layer in layers if "sqnr_db" in layer]
        self.assertGreater(len(measured), 3)
        self.assertTrue(all(layer["sqnr_db"] > 10 for layer in measured), measured)
        self.assertTrue(any(layer.get("weight_bits") == 8 and layer.get("macs", 0) > 0 for layer in layers))

    def test_keys_are_enough(self):
        self.ended(self.job)
        self.assertTrue(self.browse("keyboard", job=self.job)["details"])

    def test_axe_finds_nothing_serious(self):
        self.ended(self.job)
        pages = ["/", "/jobs", f"/compare?a={self.job}&b={self.job}", "/compare",
                 *(f"/jobs/{self.job}#{panel}" for panel in ("summary", "graph", "report", "log", "config", "events"))]
        self.assertEqual(self.browse("access", pages=pages, widths=[1280, 390])["found"], [])


@unittest.skipIf(MISSING, MISSING)
class ScriptedCompiles(OnStack):
    compiler = "chaos_compiler"

    def write(self, name, text):
        return self.stack.write(name, text)

    def test_a_job_appears_in_an_open_list(self):
        looking = pathlib.Path(self.stack.path("looking"))
        with subprocess.Popen(["node", browser.FOLDER / "scenarios.mjs", "arrives",
                               json.dumps({"site": self.stack.site, "looking": str(looking)})], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True,
                              env={**stack.clean_environment(), "QB_BROWSER_TOOLS": str(browser.TOOLS)}) as page:
            deadline = time.monotonic() + stack.DEADLINE_S
            while not looking.exists() and page.poll() is None and time.monotonic() < deadline:
                time.sleep(0.05)
            job = self.submit(self.write("arriving.onnx", "# arriving\nstage import\nhang\n"), "--use-random-calib")
            output, errors = page.communicate(timeout=300)
        self.stack.qbc("cancel", job, check=0)
        self.assertEqual(page.returncode, 0, errors)
        self.assertIn("arriving.onnx", json.loads(output)["seen"])

    def test_hostile_names_do_no_harm(self):
        jobs = []
        for number, name in enumerate(HOSTILE):
            script = f"# {number}\nstage {name.split()[0][:60]}\nlog {name}\n" + ("no such word <img src=x onerror=pwned=1>\n" if number % 2 else "")
            jobs.append(self.submit(self.write(f"h{number}.onnx", script), "--use-random-calib", "--label", f"name={name}",
                                    "--label", f"other={name}"))
        jobs.append(self.submit(self.write("<img src=x onerror=pwned=1>.onnx", "# file\nstage a\n"), "--use-random-calib"))
        self.ended(*jobs)
        self.browse("hostile", jobs=jobs, names=[*HOSTILE[:4], "<img src=x onerror=pwned=1>.onnx"])

    def test_code_that_got_in_would_not_run(self):
        self.assertGreater(self.browse("policy")["blocked"], 0)

    def test_a_failure_says_why(self):
        job = self.submit(self.write("broken.onnx", "stage import\nexit 1 UNSUPPORTED_OPERATOR layer x: no\n"), "--use-random-calib")
        self.ended(job)
        seen = self.browse("failure", job=job)
        self.assertIn("UNSUPPORTED_OPERATOR", seen["alert"])
        self.assertIn("no graph", seen["graph"])

    def test_filters_are_links(self):
        good = self.submit(self.write("good.onnx", "# good\nstage a\n"), "--use-random-calib")
        bad = self.submit(self.write("bad.onnx", "no such word\n"), "--use-random-calib")
        self.ended(good, bad)
        self.assertIn("Settings that differ", self.browse("filters", failed=bad, succeeded=good)["compared"])


@unittest.skipIf(MISSING, MISSING)
class SigningIn(unittest.TestCase):
    def test_a_token_opens_the_pages_and_signing_out_closes_them(self):
        with stack.TokenStack(compiler="chaos_compiler", http=True) as own:
            job = own.qbc("submit", own.write("secret.onnx", "# secret\nstage import\nlog hello\nwrite_output 5000\n"), "-t", "aries-rb",
                          "--use-random-calib", check=0).stdout.strip()
            own.qbc("wait", job, check=0)
            token = own.token("a")
            seen = browser.run("login", site=own.site, job=job, token=token, wrong=f"{token[:-4]}0000")
            self.assertIn("does not know this token", seen["refused"])
            self.assertEqual(seen["bytes"], 5000)
            self.assertNotIn(token.split("_")[2], own.server_log(lines=10_000))


if __name__ == "__main__":
    if MISSING:
        print(f"SKIPPED: {MISSING}", flush=True)
    python_report.main()
