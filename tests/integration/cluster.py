"""Starts, kills and restarts a qbc-server and its agents in a temporary folder."""

import os
import shutil
import signal
import subprocess
import tempfile
import time

BIN_DIR = os.environ.get("QB_BIN_DIR", "build/release/bin")


def binary(name):
    return os.path.abspath(os.path.join(BIN_DIR, name))


def processes_with_environment(text):
    """pids of live processes whose environment contains `text`."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                if text.encode() in file.read():
                    found.append(int(entry))
        except OSError:
            pass  # ended meanwhile, a zombie, or somebody else's
    return found


def is_sandbox(pid):
    """Whether this is one of the two processes that stand around a compile."""
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
            return file.read() == "qbc-sandbox\n"
    except OSError:
        return False


def kill(pid):
    """The processes of one sandbox end together: the next one may be gone already."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Cluster:
    """One server on a unix socket and any number of agents. Use as a context manager: leaving it
    ends every process and fails when one of them survives."""

    def __init__(self, compiler="chaos_compiler", lease_ttl="2s", slots=2, server_flags=(),
                 agent_flags=()):
        self.folder = tempfile.mkdtemp(prefix="qbc_it_")
        self.compiler = compiler
        self.lease_ttl = lease_ttl
        self.slots = slots
        self.server_flags = list(server_flags)
        self.agent_flags = list(agent_flags)
        self.server = None
        self.agents = {}
        self.keep = False

    @property
    def address(self):
        return "unix:" + os.path.join(self.folder, "qbc.sock")

    def work_dir(self, name):
        return os.path.join(self.folder, "work-" + name)

    def _start(self, argv, log_name):
        # A marker that the processes' own children inherit, whatever session they make.
        env = dict(os.environ, QBC_TEST_CLUSTER=self.folder)
        # The leak check at exit stops a process by a helper process; killed at random, that one leaves
        # the first waiting for ever. Unit tests look for leaks.
        env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        log = open(os.path.join(self.folder, log_name + ".log"), "ab")
        with log:
            return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env)

    def start_server(self):
        self.server = self._start(
            [binary("qbc-server"), "--listen", self.address, "--data-dir",
             os.path.join(self.folder, "data"), "--lease-ttl", self.lease_ttl, "--retry-base", "100ms",
             *self.server_flags],
            "server")

    def start_agent(self, name):
        self.agents[name] = self._start(
            [binary("qbc-worker"), "--server", self.address, "--work-dir", self.work_dir(name),
             "--compiler-binary", binary(self.compiler), "--slots", str(self.slots),
             "--threads-per-job", "1", "--worker-id", name, "--kill-grace", "500ms",
             *self.agent_flags], "agent-" + name)

    def kill_server(self, how=signal.SIGKILL):
        self.server.send_signal(how)
        self.server.wait(timeout=60)

    def kill_agent(self, name, how=signal.SIGKILL):
        self.agents[name].send_signal(how)
        self.agents[name].wait(timeout=60)

    def children(self):
        """pids of the compile processes, of their sandboxes and of what they left behind."""
        return processes_with_environment("QBC_ATTEMPT_DIR=" + self.folder)

    def compiles(self):
        """pids of the compile processes (and of what they started)."""
        return [pid for pid in self.children() if not is_sandbox(pid)]

    def tail_of_logs(self, lines=40):
        text = []
        for name in sorted(os.listdir(self.folder)):
            if name.endswith(".log"):
                with open(os.path.join(self.folder, name), errors="replace") as file:
                    text.append(f"--- {name}\n" + "".join(file.readlines()[-lines:]))
        return "\n".join(text)

    def _stop(self, process, how):
        if process is None or process.poll() is not None:
            return True
        process.send_signal(signal.SIGCONT)
        process.send_signal(how)
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return False
        return True

    def stop(self):
        """Ends everything as an operator would. Returns what did not end as it should."""
        problems = []
        for name, process in self.agents.items():
            if not self._stop(process, signal.SIGTERM):
                problems.append(f"agent {name} did not end on SIGTERM")
        if not self._stop(self.server, signal.SIGTERM):
            problems.append("the server did not end on SIGTERM")
        deadline = time.monotonic() + 5
        while self.children() and time.monotonic() < deadline:
            time.sleep(0.02)
        for pid in self.children():
            problems.append(f"process {pid} of an attempt survived")
            kill(pid)
        for pid in processes_with_environment("QBC_TEST_CLUSTER=" + self.folder):
            problems.append(f"process {pid}, started by a server, survived")
            kill(pid)
        for name, process in self.agents.items():
            if process.returncode != 0:
                continue  # was killed and not started again: nobody could clean up
            attempts = os.path.join(self.work_dir(name), "attempts")
            if os.path.isdir(attempts) and os.listdir(attempts):
                problems.append(f"agent {name} left {os.listdir(attempts)}")
        return problems

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        problems = self.stop()
        if kind is not None or problems:
            print(self.tail_of_logs())
        if self.keep:
            print("kept:", self.folder)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)
        if kind is None and problems:
            raise AssertionError("; ".join(problems))
        return False
