#!/usr/bin/python3
"""What an operator does and sees: ends, failures to start, logs, backups, --check-config, doctor."""

import json
import os
import pathlib
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

sys.dont_write_bytecode = True
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1]), str(pathlib.Path(__file__).resolve().parent)]
import python_report
import stack

SERVER = str(stack.BIN / "qbc-server")
WORKER = str(stack.BIN / "qbc-worker")
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def run(*words, **more):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False,
                          timeout=stack.DEADLINE_S, env=stack.clean_environment(), **more)


def probe(url):
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def wait_until(condition, what):
    deadline = time.monotonic() + stack.DEADLINE_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {stack.DEADLINE_S} s: {what}")
        time.sleep(0.02)


class Server:
    """One qbc-server with flags of the test's own. Leaving it kills what is left."""

    def __init__(self, folder, *flags):
        self.folder = pathlib.Path(folder)
        self.log = self.folder / "log"
        self.http_file = self.folder / "http"
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [SERVER, "--data-dir", str(self.folder / "data"), "--http-listen", "127.0.0.1:0",
                 "--http-port-file", str(self.http_file), *flags], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=log, text=True, env=stack.clean_environment())
        self.address = self.process.stdout.readline().strip()

    @property
    def site(self):
        return self.http_file.read_text().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def qbc(self, *words, **variables):
        return subprocess.run([str(stack.BIN / "qbc"), *words], capture_output=True, text=True, check=False,
                              timeout=stack.DEADLINE_S,
                              env=stack.clean_environment(QBC_SERVER=self.address, **variables))

    def submit(self, name, text, **variables):
        model = self.folder / name
        model.write_text(text)
        done = self.qbc("submit", str(model), "-t", "aries-rb", "--use-random-calib", **variables)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        return done.stdout.strip()


class Folder(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="qbops.")
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)


class Ends(Folder):
    def test_drains_then_ends_with_0(self):
        with Server(self.folder, "--drain-delay", "3s") as server:
            self.assertEqual(probe(server.site + "/readyz"), 200)
            kept = server.submit("kept.onnx", "hang\n")
            server.process.send_signal(signal.SIGTERM)
            wait_until(lambda: probe(server.site + "/readyz") == 503, "not ready")
            self.assertEqual(probe(server.site + "/healthz"), 200)
            self.assertEqual(server.qbc("get", kept).returncode, 0, "others are still served")
            done = server.qbc("submit", str(self.folder / "kept.onnx"), "-t", "aries-rb",
                              "--use-random-calib", "--connect-timeout", "100ms")
            self.assertEqual(done.returncode, 9, done.stderr)
            self.assertIn("SERVER_DRAINING", done.stderr)
            self.assertEqual(server.process.wait(timeout=60), 0)
            wal = self.folder / "data/qbc.db-wal"
            self.assertTrue(not wal.exists() or wal.stat().st_size == 0, "the log was moved to the database")
        with Server(self.folder) as server:
            self.assertIn("queued", server.qbc("get", kept).stdout)

    def test_a_second_signal_does_not_wait(self):
        with Server(self.folder, "--drain-delay", "10m") as server:
            kept = server.submit("kept.onnx", "hang\n")
            server.process.send_signal(signal.SIGTERM)
            wait_until(lambda: probe(server.site + "/readyz") == 503, "not ready")
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(server.process.wait(timeout=60), 130)
        with Server(self.folder) as server:
            self.assertEqual(server.qbc("get", kept).returncode, 0, "what was accepted is on disk")

    def test_a_follower_comes_back_without_a_word(self):
        flags = ["--listen", f"unix:{self.folder}/s", "--local-workers", "1", "--compiler-binary",
                 str(stack.BIN / "chaos_compiler")]
        with Server(self.folder, *flags) as server:
            job = server.submit("a.onnx", "stage a\nsleep_ms 1500\n")
            watch = subprocess.Popen([str(stack.BIN / "qbc"), "wait", job, "--progress", "plain"],
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                     env=stack.clean_environment(QBC_SERVER=server.address))
            try:
                self.assertIn("queued", watch.stderr.readline())
                server.process.send_signal(signal.SIGTERM)
                self.assertEqual(server.process.wait(timeout=60), 0)
                with Server(self.folder, *flags):
                    out, err = watch.communicate(timeout=stack.DEADLINE_S)
            finally:
                watch.kill()
                watch.wait()
            self.assertEqual((watch.returncode, out), (0, "succeeded\n"), err)
            self.assertNotIn("SERVER_DRAINING", err)


class Starts(Folder):
    def fails(self, *flags, code=1):
        done = run(SERVER, *flags)
        self.assertEqual(done.returncode, code, (done.stdout, done.stderr))
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_a_port_in_use(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            data = ["--data-dir", self.folder / "data"]
            text = self.fails(*data, "--listen", f"127.0.0.1:{port}", "--auth", "none")
            self.assertIn(f"--listen: cannot listen on '127.0.0.1:{port}': the port is in use", text)
            text = self.fails(*data, "--http-listen", f"127.0.0.1:{port}")
            self.assertIn("--http-listen", text)
            self.assertIn(str(port), text)

    def test_a_folder_in_use(self):
        with Server(self.folder):
            text = self.fails("--data-dir", self.folder / "data", "--listen", f"unix:{self.folder}/other")
            self.assertIn("--data-dir is in use", text)
            self.assertIn("/data/lock", text)
            done = run(SERVER, "--check-config", "--data-dir", self.folder / "data")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("a server is using it now", done.stdout)

    def test_a_database_of_a_newer_program(self):
        with Server(self.folder) as server:
            server.process.terminate()
            self.assertEqual(server.process.wait(timeout=60), 0)
        database = sqlite3.connect(self.folder / "data/qbc.db")
        database.execute("PRAGMA user_version = 1000")
        database.close()
        text = self.fails("--data-dir", self.folder / "data")
        self.assertIn("schema version 1000 is newer than this qbc-server", text)
        done = run(SERVER, "--check-config", "--data-dir", self.folder / "data")
        self.assertEqual(done.returncode, 2)
        self.assertIn("database: schema version 1000", done.stderr)

    def test_a_file_for_a_folder(self):
        (self.folder / "file").write_text("")
        self.fails("--data-dir", self.folder / "file")
        self.assertEqual(run(SERVER, "--check-config", "--data-dir", self.folder / "file").returncode, 2)

    def test_wrong_flags_are_told_together(self):
        text = self.fails("--data-dir", self.folder, "--lease-ttl", "soon", "--max-losses", "-1",
                          "--auth", "perhaps", code=2)
        for name in ("--lease-ttl", "--max-losses", "--auth"):
            self.assertIn(name, text)


class Logs(Folder):
    def test_json_has_jobs_attempts_tenants_and_traces(self):
        with Server(self.folder, "--log-format", "json", "--local-workers", "1", "--compiler-binary",
                    str(stack.BIN / "chaos_compiler")) as server:
            job = server.submit("a.onnx", "stage a\n", TRACEPARENT=TRACE)
            self.assertEqual(server.qbc("wait", job).stdout, "succeeded\n")
            self.assertIn(TRACE, server.qbc("get", job, "--json").stdout)
            server.process.terminate()
            self.assertEqual(server.process.wait(timeout=60), 0)
        lines = [json.loads(line) for line in server.log.read_text().splitlines()]
        for line in lines:
            self.assertLessEqual({"time", "level", "program", "message"}, line.keys())

        def found(message, **fields):
            return [line for line in lines if line["message"].startswith(message)
                    and fields.items() <= line.items()]
        self.assertEqual(len(found("job accepted", job=job, tenant="default", traceparent=TRACE)), 1)
        self.assertEqual(len(found("attempt leased", job=job, attempt="1", traceparent=TRACE)), 1)
        self.assertEqual(len(found("attempt starts", program="qbc-worker", job=job, traceparent=TRACE)), 1)
        self.assertEqual(len(found("attempt ended", state="JOB_STATE_SUCCEEDED")), 1)
        self.assertEqual(len(found("ended", program="qbc-server")), 1)


class Backups(Folder):
    def test_restored_while_jobs_ran(self):
        flags = ["--listen", f"unix:{self.folder}/s", "--local-workers", "1", "--compiler-binary",
                 str(stack.BIN / "chaos_compiler")]
        copy = self.folder / "copy"
        with Server(self.folder, *flags) as server:
            ended = server.submit("a.onnx", "# a\nlog said once\nwrite_output 5000\n")
            self.assertEqual(server.qbc("wait", ended).stdout, "succeeded\n")
            self.assertEqual(server.qbc("download", ended, "-o", str(self.folder / "before")).returncode, 0)
            running = server.submit("b.onnx", "# b\nsleep_ms 2000\n")
            waiting = server.submit("c.onnx", "# c\n")
            done = run(SERVER, "backup", "--data-dir", self.folder / "data", "--output", copy)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(server.qbc("wait", waiting).stdout, "succeeded\n", "it went on")
            again = run(SERVER, "backup", "--data-dir", self.folder / "data", "--output", copy)
            self.assertEqual(again.returncode, 0, again.stderr)
            self.assertIn("of which 2 were copied", again.stdout)  # the results since
            after = server.submit("d.onnx", "# d\n")
        check = sqlite3.connect(copy / "qbc.db")
        self.assertEqual(check.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
        check.close()
        (self.folder / "data").rename(self.folder / "lost")
        copy.rename(self.folder / "data")
        with Server(self.folder, *flags) as server:
            for job in (ended, running, waiting):
                self.assertEqual(server.qbc("wait", job).stdout, "succeeded\n")
            self.assertEqual(server.qbc("get", after).returncode, 7)
            self.assertEqual(server.qbc("download", ended, "-o", str(self.folder / "after")).returncode, 0)
            self.assertIn("said once", server.qbc("logs", ended).stdout)
        self.assertEqual((self.folder / "before").read_bytes(), (self.folder / "after").read_bytes())


class Doctor(Folder):
    def test_says_what_qbc_worker_finds_and_what_the_disk_does(self):
        worker = run(WORKER, "--doctor")
        done = run(SERVER, "doctor", "--data-dir", self.folder / "data")
        self.assertIn(worker.stdout, done.stdout)
        self.assertEqual(done.returncode, worker.returncode, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"(?m)^(good|note) +sync +[0-9.]+ ms for 4 KiB")
        self.assertRegex(done.stdout, r"(?m)^good +write-ahead log +SQLite 3\.")
        self.assertRegex(done.stdout, r"(?m)^(good|note) +disk ")
        self.assertEqual(os.listdir(self.folder), [], "it leaves nothing behind")

    def test_finds_what_is_wrong(self):
        (self.folder / "file").write_text("")
        done = run(SERVER, "doctor", "--data-dir", self.folder / "file")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"(?m)^problem +--data-dir ")
        self.assertEqual(run(SERVER, "doctor", "--lease-ttl", "soon").returncode, 2)
        without = run(SERVER, "doctor", "--worker-binary", self.folder / "none")
        self.assertRegex(without.stdout, r"(?m)^note +sandbox +not tried")


if __name__ == "__main__":
    python_report.main()
