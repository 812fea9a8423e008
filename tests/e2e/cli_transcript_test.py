#!/usr/bin/python3
"""What a person and a script see of qbc: on a terminal, in a pipe, without a server, interrupted.

A scripted stand-in takes the compiler's place, so that every course can be had.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent),
                str(pathlib.Path(__file__).resolve().parents[1])]
import python_report
import stack

GOOD = "stage import\nprogress 10\nstage calibrate\nprogress 50\nwrite_output 5000\n"


class Transcripts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = stack.Stack(compiler="chaos_compiler")
        cls.stack.start_server()
        cls.stack.write("calib/a.npy", "sample")

    @classmethod
    def tearDownClass(cls):
        cls.stack.__exit__(None, None, None)

    def model(self, script):
        """A model file that makes the stand-in do `script`. Its name tells the test."""
        return self.stack.write(f"{self.id().rsplit('.', 1)[-1]}.onnx", script)

    def job_flags(self):
        return ["-t", "aries-rb", "--calib-data-path", self.stack.path("calib")]

    def compile_arguments(self, script, name="out.mxq"):
        return ["compile", self.model(script), *self.job_flags(), "-o", self.stack.path(name)]

    def submit(self, script):
        done = self.stack.qbc("submit", self.model(script), *self.job_flags(), check=0)
        return done.stdout.strip()

    def wait_until_running(self, job):
        deadline = time.monotonic() + stack.DEADLINE_S
        while time.monotonic() < deadline:
            state = json.loads(self.stack.qbc("get", job, "--json", check=0).stdout)["job"]
            if state["state"] == "running" and state.get("progress", {}).get("phase") == "import":
                return
            time.sleep(0.02)
        self.fail("the job does not run")

    # --- in a pipe ---

    def test_pipe_gets_plain_lines_and_only_the_path_on_stdout(self):
        done = self.stack.qbc(*self.compile_arguments(GOOD, "pipe.mxq"), check=0)
        self.assertEqual(done.stdout, self.stack.path("pipe.mxq") + "\n")
        self.assertNotIn("\x1b", done.stderr)
        self.assertNotIn("\r", done.stderr)
        lines = stack.normalize(done.stderr).splitlines()
        self.assertRegex(lines[0], r"^<dir>/\S+\.onnx and its samples: 2 files, \d+ B$")
        self.assertRegex(lines[1], r"^upload: ")
        self.assertEqual(lines[2:4], ["job <id>", "queued"])
        self.assertIn("  calibrate", lines)
        self.assertEqual(lines[-1], "succeeded in <time>: <dir>/pipe.mxq, 5.0 kB, sha256 <sha256>")
        self.assertEqual(os.path.getsize(self.stack.path("pipe.mxq")), 5000)

    def test_json_is_one_object_a_line_in_order_of_seq(self):
        done = self.stack.qbc(*self.compile_arguments(GOOD), "--json", check=0)
        self.assertEqual(done.stderr, "")
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        events = lines[:-1]
        self.assertEqual([event["seq"] for event in events], list(range(1, len(events) + 1)))
        self.assertEqual(events[0]["state"], "queued")
        self.assertEqual(events[-1]["kind"], "result")
        self.assertEqual(lines[-1]["job"]["state"], "succeeded")
        self.assertEqual(lines[-1]["output"]["bytes"], 5000)

    def test_progress_none_is_silent(self):
        done = self.stack.qbc(*self.compile_arguments(GOOD), "--progress", "none", check=0)
        self.assertEqual(done.stderr, "")

    # --- on a terminal ---

    def test_terminal_gets_a_bar_within_its_width(self):
        terminal = self.stack.on_terminal(*self.compile_arguments(GOOD), columns=40)
        code, output = terminal.finish()
        self.assertEqual(code, 0)
        self.assertRegex(output, rb"\rcalibrate +\[")
        for drawing in re.findall(rb"\r([^\r\n]*?)\x1b\[K", output):
            self.assertLessEqual(len(drawing), 39, drawing)
        last = output[output.rindex(b"\x1b[K") + 3:]
        self.assertTrue(last.startswith(b"succeeded in "), last)

    def test_no_color_leaves_colors_out(self):
        arguments = ["get", "none"]
        _, colored = self.stack.on_terminal(*arguments).finish()
        self.assertIn(b"\x1b[31mERROR", colored)
        _, plain = self.stack.on_terminal(*arguments, NO_COLOR="1").finish()
        self.assertNotIn(b"\x1b[31m", plain)

    def test_dumb_terminal_and_ci_get_plain_lines(self):
        for variables in ({"TERM": "dumb"}, {"CI": "true"}):
            environment = {**self.stack.environment(), **variables}
            terminal = stack.Terminal([str(stack.BIN / "qbc"), *self.compile_arguments(GOOD)],
                                      environment)
            code, output = terminal.finish()
            self.assertEqual(code, 0)
            self.assertNotIn(b"\x1b", output, variables)
            self.assertIn(b"  calibrate\r\n", output)

    # --- Ctrl-C ---

    def test_ctrl_c_once_detaches(self):
        terminal = self.stack.on_terminal(*self.compile_arguments("stage import\nhang\n"))
        terminal.read_until(rb"import +\[")
        terminal.press(b"\x03")
        code, output = terminal.finish()
        self.assertEqual(code, 130)
        text = stack.normalize(output.decode())
        self.assertIn("Press Ctrl-C again within <time> to cancel it", text)
        self.assertIn("come back with: qbc watch <id>", text)
        job = re.search(rb"qbc watch (\S+)", output).group(1).decode()
        self.assertIn("running", self.stack.qbc("get", job, check=0).stdout)
        self.stack.qbc("cancel", job, check=0)
        self.stack.qbc("wait", job, check=4)

    def test_ctrl_c_twice_cancels(self):
        terminal = self.stack.on_terminal(*self.compile_arguments("stage import\nhang\n"))
        terminal.read_until(rb"import +\[")
        terminal.press(b"\x03")
        terminal.read_until(rb"Press Ctrl-C again")
        terminal.press(b"\x03")
        code, output = terminal.finish()
        self.assertEqual(code, 4, output)
        self.assertFalse(os.path.exists(self.stack.path("out-none.mxq")))

    # --- exit codes ---

    def test_exit_codes_of_failed_jobs(self):
        for script, code, name in [
                ("exit 1 MODEL_PARSE_ERROR import: cut off", 3, "MODEL_PARSE_ERROR"),
                ("exit 1 UNSUPPORTED_OPERATOR import: node Foo", 3, "UNSUPPORTED_OPERATOR"),
                ("exit 1 CALIBRATION_DATA_ERROR sample 3", 3, "CALIBRATION_DATA_ERROR"),
                ("exit 2 CONFIG_ERROR field x", 10, "CONFIG_ERROR"),
                ("exit 1 INTERNAL_ERROR bug", 11, "INTERNAL_ERROR"),
                ("crash SIGSEGV", 11, "COMPILER_CRASH")]:
            with self.subTest(script):
                done = self.stack.qbc(*self.compile_arguments(script + "\n", "never.mxq"))
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(f"ERROR [{name}]: ", done.stderr)
                self.assertEqual(done.stdout, "")
                self.assertFalse(os.path.exists(self.stack.path("never.mxq")))

    def test_exit_code_of_a_wait_that_times_out(self):
        job = self.submit("stage import\nhang\n")
        done = self.stack.qbc("wait", job, "--timeout", "300ms", check=5)
        self.assertIn("ERROR [WAIT_TIMEOUT]", done.stderr)
        self.stack.qbc("cancel", job, check=0)
        done = self.stack.qbc("wait", job, check=4)
        self.assertEqual(done.stdout, "cancelled\n")

    def test_exit_codes_of_wrong_requests(self):
        model = self.model(GOOD)
        calib = self.stack.path("calib")
        for arguments, code, words in [
                (["compile"], 2, "no model is given"),
                (["frobnicate"], 2, "unknown command"),
                (["compile", model, "-t", "aries-rb"], 2, "No calibration dataset is provided"),
                (["compile", self.stack.path("none.onnx"), "-t", "aries-rb", "--use-random-calib"],
                 10, "no such file"),
                (["submit", model, "-t", "aries-xx", "--calib-data-path", calib], 10, "TARGET_ERROR"),
                (["get", "00000000-0000-0000-0000-000000000000"], 7, "NOT_FOUND"),
                (["retry"], 2, "ARGUMENT_ERROR")]:
            with self.subTest(arguments):
                done = self.stack.qbc(*arguments)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(words, done.stderr)

    def test_no_server(self):
        environment = {**self.stack.environment(), "QBC_SERVER": "unix:/nonexistent/qbc.sock"}
        done = self.stack.qbc("jobs", "--connect-timeout", "300ms", environment=environment)
        self.assertEqual(done.returncode, 9)
        self.assertIn("ERROR [UNAVAILABLE]", done.stderr)
        self.assertIn("is a server running at unix:/nonexistent/qbc.sock?", done.stderr)
        environment["QBC_SERVER"] = "not an address"
        done = self.stack.qbc("jobs", environment=environment)
        self.assertEqual(done.returncode, 2)
        self.assertIn("accepted are unix:/path", done.stderr)

    # --- the server goes away ---

    def test_watch_survives_a_killed_server(self):
        job = self.submit("stage import\nsleep_ms 2500\nstage calibrate\nwrite_output 100\n")
        self.wait_until_running(job)
        seen = pathlib.Path(self.stack.path("watch.jsonl"))
        with open(seen, "wb") as out:
            watch = subprocess.Popen([stack.BIN / "qbc", "watch", job, "--json"], stdout=out,
                                     stderr=subprocess.PIPE, env=self.stack.environment())
        deadline = time.monotonic() + stack.DEADLINE_S
        while b'"seq":1,' not in seen.read_bytes() and time.monotonic() < deadline:
            time.sleep(0.02)
        self.stack.kill_server()
        self.stack.start_server()
        _, err = watch.communicate(timeout=stack.DEADLINE_S)
        self.assertEqual(watch.returncode, 0, err)
        lines = [json.loads(line) for line in seen.read_text().splitlines()]
        self.assertEqual([line["seq"] for line in lines[:-1]], list(range(1, len(lines))))
        self.assertEqual(lines[-1]["job"]["state"], "succeeded")

    # --- other commands ---

    def test_submit_wait_download_as_a_script_does(self):
        job = self.submit(GOOD)
        self.assertEqual(self.stack.qbc("wait", job, check=0).stdout, "succeeded\n")
        path = self.stack.path("scripted.mxq")
        self.assertEqual(self.stack.qbc("download", job, "-o", path, check=0).stdout, path + "\n")
        self.assertEqual(os.path.getsize(path), 5000)
        listed = json.loads(self.stack.qbc("jobs", "-s", "succeeded", "--json", check=0).stdout)
        self.assertIn(job, [each["id"] for each in listed["jobs"]])

    def test_text_of_a_job_cannot_move_the_terminal(self):
        terminal = self.stack.on_terminal(
            *self.compile_arguments("exit 1 MODEL_PARSE_ERROR \x1b]0;owned\x07\x1b[2J\n"))
        code, output = terminal.finish()
        self.assertEqual(code, 3)
        self.assertNotIn(b"\x1b]0;", output)
        self.assertNotIn(b"\x1b[2J", output)
        self.assertIn(b"\\x1b]0;owned", output)


if __name__ == "__main__":
    python_report.main()
