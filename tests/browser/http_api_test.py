#!/usr/bin/python3
"""The HTTP listener without a browser: health, metrics, the read API, its streams, and what it refuses."""

import http.client
import json
import pathlib
import re
import shutil
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

sys.dont_write_bytecode = True
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1]),
                str(pathlib.Path(__file__).resolve().parents[1] / "e2e")]
import python_report
import stack

SCRIPT = "# {0}\nstage import\nlog first line {0}\nprogress 50\nstage check\nwrite_output 5000\n"


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)


def ask(site, path, headers=None, method="GET"):
    host = urllib.parse.urlsplit(site).netloc
    connection = http.client.HTTPConnection(host, timeout=60)
    try:
        connection.request(method, path, headers=headers or {})
        response = connection.getresponse()
        return Answer(response.status, response.headers, response.read())
    finally:
        connection.close()


def events(body):
    """[(event, id, data)] of a whole stream of server-sent events."""
    found = []
    for block in body.decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if fields:
            found.append((fields["event"], fields.get("id"), json.loads(fields["data"])))
    return found


class HttpApi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = stack.Stack(compiler="chaos_compiler", http=True)
        cls.stack.start_server()
        cls.site = cls.stack.site
        cls.job = cls.submit("one", SCRIPT.format("one"))
        cls.stack.qbc("wait", cls.job, check=0)

    @classmethod
    def tearDownClass(cls):
        cls.stack.__exit__(None, None, None)

    @classmethod
    def submit(cls, name, script, *flags):
        return cls.stack.qbc("submit", cls.stack.write(f"{name}.onnx", script), "-t", "aries-rb", "--use-random-calib",
                             *flags, check=0).stdout.strip()

    def get(self, path, **headers):
        return ask(self.site, path, {name.replace("_", "-"): value for name, value in headers.items()})

    def test_health(self):
        for path in ("/healthz", "/readyz"):
            answer = self.get(path)
            self.assertEqual((answer.status, answer.body), (200, b"ok\n"))

    def test_a_job_and_its_list(self):
        job = self.get(f"/api/v1/jobs/{self.job}").json
        self.assertEqual((job["id"], job["state"]), (self.job, "JOB_STATE_SUCCEEDED"))
        self.assertEqual(job["spec"]["model"]["main"], "one.onnx")
        self.assertIn("settings", json.loads(job["resolved_config_json"]))
        listed = {one["id"]: one for one in self.get("/api/v1/jobs?state=succeeded&page_size=1000").json["jobs"]}
        self.assertEqual(listed[self.job]["spec"]["model"], {"main": "one.onnx"})
        self.assertNotIn("resolved_config_json", listed[self.job])

    def test_pages_of_the_list(self):
        more = [self.submit(f"page{number}", SCRIPT.format(f"page{number}")) for number in range(3)]
        for job in more:
            self.stack.qbc("wait", job, check=0)
        seen, token = [], ""
        while True:
            page = self.get(f"/api/v1/jobs?page_size=2&page_token={token}").json
            seen += [job["id"] for job in page["jobs"]]
            self.assertLessEqual(len(page["jobs"]), 2)
            token = page.get("next_page_token", "")
            if not token:
                break
        self.assertEqual(len(seen), len(set(seen)))
        self.assertLessEqual({self.job, *more}, set(seen))
        self.assertEqual(seen, sorted(seen, reverse=True))  # UUIDv7: by time

    def test_an_artifact_is_a_download(self):
        job = self.get(f"/api/v1/jobs/{self.job}").json
        (artifact,) = job["artifacts"]
        answer = self.get(f"/api/v1/jobs/{self.job}/artifacts/model.mxq")
        self.assertEqual(len(answer.body), int(artifact["size_bytes"]))
        self.assertEqual(answer.headers["Content-Length"], artifact["size_bytes"])
        self.assertEqual(answer.headers["ETag"], f'"{artifact["sha256"]}"')
        self.assertTrue(answer.headers["Content-Disposition"].startswith("attachment"))
        self.assertIn("sandbox", answer.headers["Content-Security-Policy"])
        again = self.get(f"/api/v1/jobs/{self.job}/artifacts/model.mxq", If_None_Match=answer.headers["ETag"])
        self.assertEqual((again.status, again.body), (304, b""))

    def test_events_of_a_job_from_any_place(self):
        whole = events(self.get(f"/api/v1/jobs/{self.job}/events").body)
        self.assertEqual(whole[-1][0], "end")
        numbers = [int(number) for kind, number, _ in whole if kind == "job"]
        self.assertEqual(numbers, list(range(1, len(numbers) + 1)))
        self.assertIn("result", whole[-2][2])
        rest = events(self.get(f"/api/v1/jobs/{self.job}/events", Last_Event_ID="3").body)
        self.assertEqual(rest, whole[3:])
        self.assertEqual(events(self.get(f"/api/v1/jobs/{self.job}/events?after=3").body), whole[3:])

    def test_the_log(self):
        found = events(self.get(f"/api/v1/jobs/{self.job}/log").body)
        text = "".join(data["text"] for kind, _, data in found if kind == "log")
        self.assertIn("first line one", text)
        self.assertEqual(text, self.stack.qbc("logs", self.job, check=0).stdout)

    def test_a_running_job_is_followed(self):
        job = self.submit("slow", "# slow\nstage import\nlog hello\nsleep_ms 1500\nlog goodbye\n")
        kinds = [kind for kind, _, _ in events(self.get(f"/api/v1/jobs/{job}/events").body)]
        self.assertEqual(kinds[-1], "end")
        log = events(self.get(f"/api/v1/jobs/{job}/log?follow=1").body)
        self.assertIn("goodbye", "".join(data.get("text", "") for _, _, data in log))

    def test_changes_of_jobs_are_told(self):
        revision = self.get("/api/v1/jobs?page_size=1").json["revision"]
        with urllib.request.urlopen(f"{self.site}/api/v1/events?after={revision}", timeout=60) as stream:
            job = self.submit("told", SCRIPT.format("told"))
            states = []
            while not states or states[-1] != "JOB_STATE_SUCCEEDED":
                line = stream.readline().decode()
                if line.startswith("data: "):
                    states += [one["state"] for one in json.loads(line[6:])["jobs"] if one["id"] == job]
        self.assertEqual(states[-1], "JOB_STATE_SUCCEEDED")

    def test_the_overview(self):
        overview = self.get("/api/v1/overview").json
        self.assertGreaterEqual(overview["counts"]["succeeded"], 1)
        self.assertEqual(len(overview["throughput"]["hours"]), 24)
        self.assertEqual(len(overview["workers"]), 1)
        self.assertEqual(overview["workers"][0]["slots"], 1)

    def test_errors_are_json_and_say_what_is_wrong(self):
        cases = {"/api/v1/jobs/none": 404, "/api/v1/jobs/0190a000-0000-7000-8000-000000000000": 404, "/api/v1/nothing": 404,
                 "/api/v1/jobs?state=done": 400, "/api/v1/jobs?created_after=yesterday": 400, "/api/v1/jobs?page_size=-1": 400,
                 "/api/v1/jobs?page_token=x": 400, "/api/v1/events?after=-1": 400,
                 f"/api/v1/jobs/{self.job}/events?after=99999": 400, f"/api/v1/jobs/{self.job}/log?attempt=7": 400,
                 f"/api/v1/jobs/{self.job}/artifacts/..%2f..%2fetc%2fpasswd": 404, f"/api/v1/jobs/{self.job}/artifacts/none": 404}
        for path, status in cases.items():
            answer = self.get(path)
            self.assertEqual(answer.status, status, path)
            error = answer.json["error"]
            self.assertEqual(error["code"], status, path)
            self.assertTrue(error["message"], path)

    def test_files_of_the_pages_are_kept_by_browsers(self):
        page = self.get("/").body.decode()
        files = re.findall(r'"(/static/[0-9a-f]{12}/[^"]+)"', page)
        self.assertGreater(len(files), 5)
        for path in files:
            answer = self.get(path)
            self.assertEqual(answer.status, 200, path)
            self.assertIn("immutable", answer.headers["Cache-Control"], path)
        self.assertEqual(self.get("/").headers["Cache-Control"], "no-cache")
        self.assertEqual(self.get("/", If_None_Match=self.get("/").headers["ETag"]).status, 304)
        script = next(path for path in files if path.endswith("/app.js"))
        self.assertEqual(self.get(script).headers["Content-Type"], "text/javascript; charset=utf-8")

    def test_every_answer_has_the_safe_headers(self):
        for path in ("/", "/jobs", "/compare", f"/jobs/{self.job}", "/static/none/app.js", "/api/v1/server", "/api/v1/jobs/none", "/nowhere",
                     "/metrics", "/healthz", "/api/v1/openapi.json"):
            headers = self.get(path).headers
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff", path)
            self.assertEqual(headers["Referrer-Policy"], "no-referrer", path)
            policy = headers["Content-Security-Policy"]
            self.assertIn("default-src 'none'", policy, path)
            self.assertNotIn("unsafe", policy, path)
            self.assertIsNone(headers["Access-Control-Allow-Origin"], path)

    def test_only_this_machine_and_only_reading(self):
        for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", ""):
            self.assertEqual(self.get("/api/v1/jobs", Host=host).status, 421, host)
        for host in ("localhost", "localhost:1234", "127.0.0.1"):
            self.assertEqual(self.get("/healthz", Host=host).status, 200, host)
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            self.assertEqual(ask(self.site, "/api/v1/jobs", method=method).status, 405, method)
        answer = ask(self.site, "/api/v1/server", method="HEAD")
        self.assertEqual((answer.status, answer.body), (200, b""))

    def test_a_server_without_credentials_has_no_sessions(self):
        self.assertEqual(self.get("/api/v1/session").json, {"tenant": "default", "needs_credential": False})
        for headers in ({}, {"Authorization": "Bearer qbt_0_0"}):
            self.assertIn(ask(self.site, "/api/v1/session", headers, "POST").status, (400, 401), headers)
        self.assertEqual(ask(self.site, "/api/v1/session", method="PUT").status, 405)

    def test_the_description_has_every_route(self):
        described = self.get("/api/v1/openapi.json").json
        self.assertEqual(described, json.loads((stack.ROOT / "server/http/openapi.json").read_text()))
        source = (stack.ROOT / "server/http/job_api.cc").read_text()
        routes = {"/api/v1" + route for route in re.findall(r'add\("(/[^"]*)"', source)} | {"/api/v1/session"}
        self.assertGreater(len(routes), 7)
        self.assertEqual(set(described["paths"]) - {"/healthz", "/readyz", "/metrics"}, routes)

    def test_metrics_are_what_prometheus_wants(self):
        text = self.get("/metrics").body.decode()
        for name in ("qbc_jobs", "qbc_queue_depth", "qbc_oldest_queued_job_seconds", "qbc_workers", "qbc_worker_slots",
                     "qbc_worker_busy_slots", "qbc_worker_gpus", "qbc_jobs_finished_total", "qbc_job_queue_seconds_bucket",
                     "qbc_job_run_seconds_bucket", "qbc_blob_bytes", "qbc_commit_seconds_bucket", "qbc_commit_wait_seconds_bucket",
                     "qbc_collected_jobs_total", "qbc_collected_blobs_total", "qbc_collected_bytes_total",
                     "qbc_collection_last_success_timestamp_seconds", "qbc_http_requests_total", "process_resident_memory_bytes"):
            self.assertRegex(text, rf"(?m)^{name}[ {{]")
        self.assertNotIn(self.job, text)
        if shutil.which("promtool"):
            done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def value(self, name):
        found = re.search(rf"(?m)^{re.escape(name)} (\S+)$", self.get("/metrics").body.decode())
        return float(found[1]) if found else 0

    def test_finished_jobs_are_counted_once(self):
        good, bad = 'qbc_jobs_finished_total{outcome="succeeded"', 'qbc_jobs_finished_total{outcome="failed",reason="model_parse_error"}'
        text = self.get("/metrics").body.decode()
        good = next(line for line in text.splitlines() if line.startswith(good)).rpartition(" ")[0]
        before = self.value(good), self.value(bad)
        jobs = [self.submit("counted", SCRIPT.format("counted")), self.submit("broken", "no such word\n")]
        for job in jobs:
            self.stack.qbc("wait", job)
        self.assertEqual((self.value(good), self.value(bad)), (before[0] + 1, before[1] + 1))
        self.assertEqual((self.value(good), self.value(bad)), (before[0] + 1, before[1] + 1))

    def test_many_streams_cost_no_threads(self):
        job = self.submit("held", "# held\nstage import\nhang\n")
        host = urllib.parse.urlsplit(self.site).netloc
        connections = []
        try:
            for _ in range(100):
                connection = http.client.HTTPConnection(host, timeout=60)
                connection.request("GET", f"/api/v1/jobs/{job}/events")
                connections.append((connection, connection.getresponse()))
            self.assertEqual({response.status for _, response in connections}, {200})
            self.assertEqual(self.get("/healthz").status, 200)  # with all of them open
            self.stack.qbc("cancel", job, check=0)
            for _, response in connections:
                self.assertEqual(events(response.read())[-1][0], "end")
        finally:
            for connection, _ in connections:
                connection.close()


class Credentials(unittest.TestCase):
    """A server that asks for tokens asks for them over HTTP too."""

    def setUp(self):
        self.own = stack.TokenStack(compiler="chaos_compiler", http=True, workers=0)
        self.own.start_server()
        self.addCleanup(self.own.__exit__, None, None, None)

    def header_of(self, tenant):
        return {"Authorization": f"Bearer {self.own.token(tenant)}"}

    def submit(self, tenant):
        return self.own.qbc("submit", self.own.write("a.onnx", SCRIPT), "-t", "aries-rb", "--use-random-calib", "--token-file",
                            self.own.tokens[tenant], check=0).stdout.strip()

    def test_the_api_wants_a_token(self):
        for headers in ({}, {"Authorization": "Bearer qbt_0_0"}, {"Authorization": "Basic YTpi"}):
            for path in ("/api/v1/server", "/api/v1/overview", "/api/v1/events", "/api/v1/jobs"):
                answer = ask(self.own.site, path, headers)
                self.assertEqual((answer.status, answer.headers["WWW-Authenticate"]), (401, "Bearer"), (path, headers))
        for path in ("/healthz", "/metrics", "/"):
            self.assertEqual(ask(self.own.site, path).status, 200, path)

    def test_a_token_shows_its_own_tenant(self):
        job = self.submit("a")
        found = ask(self.own.site, f"/api/v1/jobs/{job}", self.header_of("a"))
        self.assertEqual((found.status, found.json["id"]), (200, job))
        for path in ("", "/events", "/log", "/artifacts/log"):
            self.assertEqual(ask(self.own.site, f"/api/v1/jobs/{job}{path}", self.header_of("b")).status, 404, path)
        self.assertNotIn(job, ask(self.own.site, "/api/v1/jobs", self.header_of("b")).body.decode())

    def sign_in(self, headers):
        return ask(self.own.site, "/api/v1/session", headers, "POST")

    def test_a_session_stands_for_a_token(self):
        job = self.submit("a")
        answer = self.sign_in(self.header_of("a"))
        self.assertEqual((answer.status, answer.json), (200, {"tenant": "a", "needs_credential": True}))
        cookie = answer.headers["Set-Cookie"]
        for attribute in ("HttpOnly", "SameSite=Strict", "Path=/api/v1"):
            self.assertIn(attribute, cookie.split("; "))
        secret = self.own.token("a").split("_")[2]
        self.assertNotIn(secret, str(answer.headers) + answer.body.decode())
        kept = {"Cookie": cookie.split(";")[0]}
        for path in ("", "/events", "/log"):
            self.assertEqual(ask(self.own.site, f"/api/v1/jobs/{job}{path}", {**kept, "Connection": "close"}, "HEAD").status, 200, path)
        self.assertEqual(ask(self.own.site, "/api/v1/session", kept).json["tenant"], "a")
        for site in ("cross-site", "same-site"):
            self.assertEqual(ask(self.own.site, "/api/v1/jobs", {**kept, "Sec-Fetch-Site": site}).status, 401, site)
        # A header counts before a cookie.
        self.assertNotIn(job, ask(self.own.site, "/api/v1/jobs", {**kept, **self.header_of("b")}).body.decode())
        left = ask(self.own.site, "/api/v1/session", kept, "DELETE")
        self.assertIn("Max-Age=0", left.headers["Set-Cookie"])
        self.assertEqual(ask(self.own.site, "/api/v1/jobs", kept).status, 401)

    def test_a_session_ends_with_its_token(self):
        kept = {"Cookie": self.sign_in(self.header_of("a")).headers["Set-Cookie"].split(";")[0]}
        self.assertEqual(ask(self.own.site, "/api/v1/jobs", kept).status, 200)
        self.own.server_token("revoke", self.own.token("a").split("_")[1])
        deadline = time.monotonic() + stack.DEADLINE_S
        while ask(self.own.site, "/api/v1/jobs", kept).status == 200 and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(ask(self.own.site, "/api/v1/jobs", kept).status, 401)

    def test_what_is_no_token_signs_nobody_in(self):
        for headers in ({}, {"Authorization": "Bearer qbt_0_0"}, {"Authorization": "Basic YTpi"}, {"Cookie": "qbc-session=1"}):
            answer = self.sign_in(headers)
            self.assertEqual((answer.status, answer.headers["Set-Cookie"]), (401, None), headers)
            self.assertEqual(answer.json["error"]["status"], "UNAUTHENTICATED")

    def test_a_revoked_token_ends_its_streams(self):
        job = self.submit("a")
        request = urllib.request.Request(f"{self.own.site}/api/v1/jobs/{job}/events", headers=self.header_of("a"))
        with urllib.request.urlopen(request, timeout=60) as stream:
            self.assertTrue(stream.readline())
            token = self.own.token("a").split("_")[1]
            self.own.server_token("revoke", token)
            with self.assertRaises(http.client.HTTPException):
                stream.read()
        self.assertEqual(ask(self.own.site, "/api/v1/jobs", self.header_of("a")).status, 401)


class Ending(unittest.TestCase):
    def test_the_server_ends_with_streams_open(self):
        with stack.Stack(compiler="chaos_compiler", http=True) as own:
            job = own.qbc("submit", own.write("a.onnx", "stage import\nhang\n"), "-t", "aries-rb", "--use-random-calib",
                          check=0).stdout.strip()
            streams = [urllib.request.urlopen(f"{own.site}{path}", timeout=60)
                       for path in (f"/api/v1/jobs/{job}/events", f"/api/v1/jobs/{job}/log?follow=1", "/api/v1/events")]
            began = time.monotonic()
            own.server.terminate()
            self.assertEqual(own.server.wait(timeout=60), 0)
            self.assertLess(time.monotonic() - began, 30)
            for stream in streams:
                stream.close()

    def test_a_port_that_is_taken(self):
        with stack.Stack(compiler="chaos_compiler", http=True, workers=0) as own:
            address = urllib.parse.urlsplit(own.site).netloc
            done = subprocess.run([stack.BIN / "qbc-server", "--data-dir", own.path("second"), "--http-listen", address],
                                  capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("--http-listen", done.stderr)

    def test_other_addresses_are_refused(self):
        with stack.Stack(compiler="chaos_compiler", workers=0) as own:
            for address in ("0.0.0.0:8080", "unix:/tmp/x", "8080"):
                done = subprocess.run([stack.BIN / "qbc-server", "--data-dir", own.path("second"), "--http-listen", address],
                                      capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn("--http-listen", done.stderr)


if __name__ == "__main__":
    python_report.main()
