#!/usr/bin/python3
"""The package and a compile server: the same results, the same failures, and a server that goes away."""

import hashlib
import json
import logging
import os
import pathlib
import tempfile
import threading
import time
import unittest

import under_test
import numpy as np
import python_report
import stack
from under_test import CALIB, EXAMPLE, MODEL

import qbcompiler
from qbcompiler import (ArgumentError, CalibrationConfig, CalibrationDataError, ConfigError,
                        InternalError, LogEvent, ModelParseError, ProgressEvent,
                        ServerUnavailableError, StatusEvent, TargetError, connection)
from qbcompiler.connection import Connection


class OnServer(unittest.TestCase):
    compiler = "qbcompiler"

    @classmethod
    def setUpClass(cls):
        cls.stack = stack.Stack(compiler=cls.compiler)
        cls.stack.start_server()
        under_test.use_compiler("qbcompiler")

    @classmethod
    def tearDownClass(cls):
        cls.stack.__exit__(None, None, None)

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="qbpy.")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def path(self, name):
        return str(self.folder / name)

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return self.path(name)

    def states(self):
        with Connection(self.stack.address) as server:
            page = server.call("JobService", "ListJobs", server.wire.ListJobsRequest(page_size=1000))
            return [server.wire.name("JobState", job.state) for job in page.jobs]


class Same(OnServer):
    def both(self, output, **arguments):
        """The result of a compile here and of the same on the server, or their exceptions."""
        results = []
        for server in ("", self.stack.address):
            target = self.path(f"{'remote' if server else 'local'}-{output}")
            try:
                results.append(qbcompiler.mxq_compile(save_path=target, server=server, **arguments))
            except qbcompiler.QBCompilerError as error:
                results.append(error)
        return results

    def test_equal_bytes_and_reports(self):
        arrays = np.stack([np.load(file) for file in sorted(CALIB.glob("*.npy"))])
        config = self.write("c.yaml", "calibration: {mode: 0}")
        base = {"model": MODEL, "target_device": "aries-rb"}
        digests = set()
        for number, arguments in enumerate([
                {"calib_data_path": CALIB}, {"calib_data_path": arrays, "inference_scheme": "global4"},
                {"calib_data_path": CALIB, "compile_config": config},
                {"calib_data_path": CALIB, "config_preset": "classification",
                 "calibration_config": CalibrationConfig(mode=0), "bias_correction": False},
                {"calib_data_path": CALIB, "eval_data": EXAMPLE / "eval",
                 "eval_labels": EXAMPLE / "labels.csv", "threads": 1}]):
            here, there = self.both(f"{number}.mxq", **base, **arguments)
            self.assertEqual(pathlib.Path(here.path).read_bytes(), pathlib.Path(there.path).read_bytes())
            self.assertEqual(here.outputs[0].sha256, there.outputs[0].sha256)
            self.assertEqual(here.report["check"], there.report["check"])
            self.assertIsNotNone(there.job_id)
            digests.add(here.outputs[0].sha256)
        self.assertGreater(len(digests), 2)  # the settings arrived

    def test_equal_failures(self):
        base = {"model": MODEL, "target_device": "aries-rb", "calib_data_path": CALIB}
        np.save(self.path("000.npy"), np.zeros((2, 2), np.float32))
        for change, kind in [
                ({"target_device": "aries"}, TargetError), ({"config_preset": "nope"}, ConfigError),
                ({"model": self.write("broken.onnx", "no model")}, ModelParseError),
                ({"model": self.path("none.onnx")}, ModelParseError),
                ({"calib_data_path": self.folder}, CalibrationDataError),
                ({"calib_data_path": self.path("none")}, CalibrationDataError),
                ({"calib_data_path": None}, ArgumentError),
                ({"compile_config": {"llm": {"apply": True}}}, ConfigError)]:
            for error in self.both("x.mxq", **{**base, **change}):
                self.assertIsInstance(error, kind, change)
        self.assertFalse(list(self.folder.glob("*x.mxq*")))

    def test_events_are_of_the_same_kinds(self):
        events = []
        qbcompiler.mxq_compile_with_callback(MODEL, "aries-rb", CALIB, self.path("m.mxq"),
                                             server=self.stack.address, callback=events.append)
        states = [event.state for event in events if isinstance(event, StatusEvent)]
        self.assertEqual(states[0], "queued")
        stages = [event.stage for event in events if isinstance(event, StatusEvent) and event.stage]
        self.assertEqual(stages[:3], ["fetch", "import", "optimize"])
        fractions = [event.fraction for event in events if isinstance(event, ProgressEvent)]
        self.assertEqual(fractions, sorted(fractions))

    def test_messages_arrive(self):
        events = []
        qbcompiler.mxq_compile(MODEL, "aries-rb", use_random_calib=True, save_path=self.path("m.mxq"),
                               server=self.stack.address, callback=events.append)
        self.assertTrue(any(isinstance(event, LogEvent) and "random" in event.message
                            for event in events))

    def test_environment_names_the_server(self):
        os.environ["QBC_SERVER"] = self.stack.address
        self.addCleanup(os.environ.pop, "QBC_SERVER")
        os.environ["QBC_COMPILER"] = "/nowhere"
        self.addCleanup(under_test.use_compiler)
        result = qbcompiler.mxq_compile(MODEL, "aries-rb", CALIB, self.path("m.mxq"))
        self.assertIsNotNone(result.job_id)

    def test_resolved_settings_are_saved(self):
        qbcompiler.mxq_compile(MODEL, "aries-rb", CALIB, self.path("m.mxq"), server=self.stack.address,
                               calibration_config=CalibrationConfig(mode=0),
                               config_save_path=self.path("new/c.yaml"))
        config = qbcompiler.CompileConfig.from_file(self.path("new/c.yaml"))
        self.assertEqual(config.calibration.mode, 0)
        with open(self.path("new/c.yaml.origins.json"), encoding="utf-8") as file:
            origins = json.load(file)
        self.assertEqual(origins["calibration.mode"], "file spec.config.file_text")
        self.assertEqual(origins["bufferMode"], "default")

    def test_what_the_server_does_not_do_is_said(self):
        with self.assertRaises(qbcompiler.QBCompilerError):
            qbcompiler.mblt_compile(MODEL, self.path("m.mblt"), "aries-rb", server=self.stack.address)

    def test_many_samples(self):
        samples = np.random.default_rng(1).normal(size=(150, 1, 28, 28)).astype(np.float32)
        result = qbcompiler.mxq_compile(MODEL, "aries-rb", samples, self.path("m.mxq"),
                                        server=self.stack.address)
        data = pathlib.Path(result.path).read_bytes()
        self.assertEqual(hashlib.sha256(data).hexdigest(), result.outputs[0].sha256)
        again = qbcompiler.mxq_compile(MODEL, "aries-rb", samples, self.path("again.mxq"),
                                       server=self.stack.address)
        self.assertEqual(again.outputs[0].sha256, result.outputs[0].sha256)
        umask = os.umask(0)
        os.umask(umask)
        self.assertEqual(os.stat(result.path).st_mode & 0o777, 0o666 & ~umask)


class Interruptions(OnServer):
    compiler = "chaos_compiler"

    def run_script(self, script, callback=None):
        return qbcompiler.mxq_compile(self.write("m.onnx", script), "aries-rb", use_random_calib=True,
                                      save_path=self.path("m.mxq"), server=self.stack.address,
                                      callback=callback)

    def test_an_exception_of_the_callback_cancels_the_job(self):
        class Stop(Exception):
            pass

        def stop(event):
            if isinstance(event, StatusEvent) and event.stage == "a":
                raise Stop

        with self.assertRaises(Stop):
            self.run_script("stage a\nhang\n", stop)
        deadline = time.monotonic() + 60
        while self.states()[0] != "JOB_STATE_CANCELLED":
            self.assertLess(time.monotonic(), deadline, self.states())
            time.sleep(0.02)

    def test_the_server_restarts_under_a_call(self):
        restarted = []

        def restart(event):
            if isinstance(event, StatusEvent) and event.stage == "a" and not restarted:
                restarted.append(True)
                self.stack.kill_server()
                thread = threading.Thread(target=self.stack.start_server)
                thread.start()
                self.addCleanup(thread.join)

        result = self.run_script("stage a\nsleep_ms 300\nstage b\n", restart)
        self.assertEqual(result.outputs[0].size_bytes, 1000)
        self.assertTrue(restarted)

    def test_failures_of_the_service_carry_their_code(self):
        with self.assertRaises(InternalError) as caught:
            self.run_script("crash SIGSEGV\n")
        self.assertEqual(caught.exception.code, "COMPILER_CRASH")
        self.assertIn("job_id", caught.exception.details)


class NoServer(unittest.TestCase):
    def setUp(self):
        self.patience, connection.Backoff.__init__.__defaults__ = (
            connection.Backoff.__init__.__defaults__, (0.3,))
        backoff = Connection.backoff
        Connection.backoff = lambda self, budget_s=0.3: backoff(self, min(budget_s, 0.3))
        self.addCleanup(setattr, Connection, "backoff", backoff)
        self.addCleanup(setattr, connection.Backoff.__init__, "__defaults__", self.patience)

    def test_nobody_answers(self):
        for address in ("unix:/nowhere/qbc.sock", "127.0.0.1:1"):
            with self.assertRaises(ServerUnavailableError) as caught:
                qbcompiler.mxq_compile(MODEL, "aries-rb", CALIB, "m.mxq", server=address)
            self.assertIn(address.split(":", 1)[1], str(caught.exception))

    def test_addresses_that_are_none(self):
        with self.assertRaises(ArgumentError):
            qbcompiler.mxq_compile(MODEL, "aries-rb", CALIB, "m.mxq", server="http://x")


logging.getLogger("qbcompiler").setLevel(logging.CRITICAL)

if __name__ == "__main__":
    python_report.main()
