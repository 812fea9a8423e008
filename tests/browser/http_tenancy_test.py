#!/usr/bin/python3
"""Tenants over HTTP: every route of the description, asked by one tenant about the things of another, by a
reader with whom a job is shared, and by nobody."""

import base64
import json
import pathlib
import sys
import unittest
import uuid

sys.dont_write_bytecode = True
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1]),
                str(pathlib.Path(__file__).resolve().parents[1] / "e2e")]
import python_report
import stack
from http_api_test import ask

SCRIPT = "stage import\nlog line of {0}\nprogress 50\nwrite_output 5000\n"
PUBLIC = {"/healthz", "/readyz", "/metrics"}
# (method, route) -> what another tenant gets that asks about a job of the first one. 200: an answer with
# nothing of it.
EXPECTED = {
    ("get", "/api/v1/server"): 200,
    ("get", "/api/v1/overview"): 200,
    ("get", "/api/v1/events"): 200,
    ("get", "/api/v1/jobs"): 200,
    ("get", "/api/v1/jobs/{job}"): 404,
    ("get", "/api/v1/jobs/{job}/events"): 404,
    ("get", "/api/v1/jobs/{job}/log"): 404,
    ("get", "/api/v1/jobs/{job}/artifacts/{name}"): 404,
    ("post", "/api/v1/session"): 200,
    ("get", "/api/v1/session"): 200,
    ("delete", "/api/v1/session"): 200,
    ("get", "/healthz"): 200,
    ("get", "/readyz"): 200,
    ("get", "/metrics"): 200,
}


class HttpTenancy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.own = stack.TokenStack(tenants=("a", "b", "c"), compiler="chaos_compiler", http=True)
        cls.own.start_server()
        cls.done = cls.submit("done", SCRIPT.format("a"))
        cls.own.qbc("wait", cls.done, check=0)
        cls.running = cls.submit("running", "stage import\nlog line of a\nhang\n")
        cls.waiting = cls.submit("waiting", "progress 1\n")
        job = cls.ask_as("a", f"/api/v1/jobs/{cls.done}").json
        # What must be in no answer to anybody else.
        cls.secrets = [cls.done, cls.running, cls.waiting, "line of a", "done.onnx",
                       *(artifact["sha256"] for artifact in job["artifacts"])]

    @classmethod
    def tearDownClass(cls):
        for job in (cls.waiting, cls.running):
            cls.own.qbc("cancel", job)
        cls.own.__exit__(None, None, None)

    @classmethod
    def submit(cls, name, script):
        return cls.own.qbc("submit", cls.own.write(f"{name}.onnx", script), "-t", "aries-rb", "--use-random-calib",
                           check=0).stdout.strip()

    @classmethod
    def ask_as(cls, tenant, path, method="GET", **headers):
        if tenant:
            headers["Authorization"] = f"Bearer {cls.own.token(tenant)}"
        return ask(cls.own.site, path, {name.replace("_", "-"): value for name, value in headers.items()}, method)

    def address(self, route, job):
        return route.replace("{job}", job).replace("{name}", "model.mxq")

    def assert_tells_nothing(self, answer, about):
        text = answer.body + str(answer.headers).encode()
        for secret in self.secrets:
            self.assertNotIn(secret.encode(), text, about)
            self.assertNotIn(base64.b64encode(secret.encode()).rstrip(b"="), text, about)

    def method_of(self, route, method):
        """A stream without end is asked for its head: its body never comes."""
        return "HEAD" if route == "/api/v1/events" else method.upper()

    def test_the_table_has_every_route(self):
        described = self.ask_as("a", "/api/v1/openapi.json").json["paths"]
        routes = {(method, route) for route, methods in described.items() for method in methods
                  if method in ("get", "put", "post", "delete", "patch")}
        self.assertEqual(routes, set(EXPECTED), "a route without a row is a route nobody has tried")

    def test_another_tenant_finds_nothing(self):
        for (method, route), status in EXPECTED.items():
            for job in (self.done, self.running, self.waiting):
                with self.subTest(route, method=method):
                    path = self.address(route, job)
                    answer = self.ask_as("b", path, self.method_of(route, method))
                    self.assertEqual(answer.status, status)
                    text = answer.body.decode().replace(job, "<job>")
                    if "{job}" in route:
                        nobodys = str(uuid.uuid4())
                        nothing = self.ask_as("b", self.address(route, nobodys), method.upper())
                        self.assertEqual(nothing.status, status)
                        self.assertEqual(text, nothing.body.decode().replace(nobodys, "<job>"))
                    else:
                        self.assert_tells_nothing(answer, route)
        states = {job: self.ask_as("a", f"/api/v1/jobs/{job}").json["state"] for job in
                  (self.done, self.running, self.waiting)}
        self.assertEqual(list(states.values()), ["JOB_STATE_SUCCEEDED", "JOB_STATE_RUNNING", "JOB_STATE_QUEUED"])

    def test_an_overview_counts_only_what_is_ones_own(self):
        mine = self.ask_as("a", "/api/v1/overview").body
        others = self.ask_as("b", "/api/v1/overview").body
        self.assertNotEqual(mine, others)
        self.assertEqual(others, self.ask_as("c", "/api/v1/overview").body)

    def test_page_tokens_and_resume_places_of_others_give_nothing(self):
        page = self.ask_as("a", "/api/v1/jobs?page_size=1").json
        self.assertEqual(len(page["jobs"]), 1)
        for tenant, status in (("a", 200), ("b", 400), ("c", 400)):
            answer = self.ask_as(tenant, f"/api/v1/jobs?page_size=1&page_token={page['next_page_token']}")
            self.assertEqual(answer.status, status)
            if tenant != "a":
                self.assert_tells_nothing(answer, "page token")
        for place in ("0", "1", "999"):
            for path in (f"/api/v1/jobs/{self.done}/events", f"/api/v1/jobs/{self.done}/log"):
                answer = self.ask_as("b", path, Last_Event_ID=place)
                self.assertEqual(answer.status, 404, path)

    def test_without_a_good_token_only_what_is_public_is_answered(self):
        for (method, route) in EXPECTED:
            for token in ("", "Bearer x", "Bearer qbt_0_0", f"Bearer {self.own.token('a')[:-1]}",
                          f"Basic {self.own.token('a')}"):
                headers = {"Authorization": token} if token else {}
                answer = ask(self.own.site, self.address(route, self.done), headers, self.method_of(route, method))
                # Signing out needs no token: it only makes the browser forget a cookie.
                public = route in PUBLIC or (method, route) == ("delete", "/api/v1/session")
                self.assertEqual(answer.status, 200 if public else 401, (method, route, token))
                self.assert_tells_nothing(answer, route)

    def test_a_shared_job_is_readable_for_that_tenant_until_it_is_taken_back(self):
        routes = [route for (_, route) in EXPECTED if "{job}" in route]
        self.own.qbc("share", self.done, "--with", "b", check=0)
        for route in routes:
            self.assertEqual(self.ask_as("b", self.address(route, self.done)).status, 200, route)
            self.assertEqual(self.ask_as("c", self.address(route, self.done)).status, 404, route)
            self.assertEqual(self.ask_as("b", self.address(route, self.running)).status, 404, route)
        self.assertEqual(self.ask_as("b", f"/api/v1/jobs/{self.done}/artifacts/model.mxq").body,
                         self.ask_as("a", f"/api/v1/jobs/{self.done}/artifacts/model.mxq").body)
        self.assertNotIn(self.done, self.ask_as("b", "/api/v1/jobs").body.decode())
        self.own.qbc("share", self.done, "--with", "b", "--stop", check=0)
        for route in routes:
            self.assertEqual(self.ask_as("b", self.address(route, self.done)).status, 404, route)


if __name__ == "__main__":
    python_report.main()
