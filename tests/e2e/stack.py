"""A server with local workers in a temporary folder, and qbc to talk to it: what a person starts by hand."""

import fcntl
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("QB_BIN_DIR", ROOT / "build/release/bin")).resolve()
DEADLINE_S = 120  # of anything that should take a moment


def clean_environment(**more):
    """Without what a developer's shell or a CI machine may have set."""
    unwanted = {"QBC_SERVER", "NO_COLOR", "CI", "TERM", "XDG_RUNTIME_DIR", "COLUMNS", "QBC_COMPILER"}
    kept = {name: value for name, value in os.environ.items() if name not in unwanted}
    return {**kept, **more}


def normalize(text):
    """Replaces what differs from run to run: ids, digests, times, folders."""
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<id>", text)
    text = re.sub(r"\b[0-9a-f]{64}\b", "<sha256>", text)
    text = re.sub(r"/\S*/qbe2e\.\w+", "<dir>", text)
    return re.sub(r"\b\d+(\.\d+)? s\b", "<time>", text)


class Terminal:
    """A program on a pseudo-terminal of its own, as its controlling one: Ctrl-C works."""

    def __init__(self, arguments, environment, columns=80):
        self.output = b""
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            os.execve(arguments[0], [str(a) for a in arguments], environment)

    def read_until(self, pattern):
        """Everything that was written, once `pattern` is in it."""
        deadline = time.monotonic() + DEADLINE_S
        while not re.search(pattern, self.output):
            if time.monotonic() > deadline or not self._read(1.0):
                raise AssertionError(f"{pattern} is not in {self.output!r}")
        return self.output

    def _read(self, timeout_s):
        """False at the end of the program's output."""
        ready, _, _ = select.select([self.master], [], [], timeout_s)
        if not ready:
            return True
        try:
            data = os.read(self.master, 65536)
        except OSError:  # how Linux tells that the other side is closed
            return False
        self.output += data
        return bool(data)

    def press(self, keys):
        os.write(self.master, keys)

    def finish(self):
        """(exit code, output)."""
        deadline = time.monotonic() + DEADLINE_S
        while self._read(1.0):
            if time.monotonic() > deadline:
                os.kill(self.pid, signal.SIGKILL)
                raise AssertionError(f"did not end: {self.output!r}")
        _, status = os.waitpid(self.pid, 0)
        os.close(self.master)
        return os.waitstatus_to_exitcode(status), self.output


class Stack:
    """Use as a context manager. Leaving it ends the server and fails when that does not work."""

    def __init__(self, compiler="qbcompiler", workers=1, http=False):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="qbe2e."))
        self.compiler = compiler
        self.workers = workers
        self.http = http
        self.server = None
        self.address = f"unix:{self.folder}/qbc.sock"

    def path(self, name):
        return str(self.folder / name)

    def write(self, name, data):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return str(path)

    def start_server(self):
        with open(self.folder / "server.log", "ab") as log:
            self.server = subprocess.Popen(
                [BIN / "qbc-server", "--listen", self.address, "--data-dir", self.folder / "data",
                 "--local-workers", str(self.workers), "--worker-binary", BIN / "qbc-worker",
                 "--compiler-binary", BIN / self.compiler, *self.http_flags(), *self.more_flags()],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=clean_environment())
        self.qbc("status", "--connect-timeout", "60s", check=0)

    def http_flags(self):
        return ["--http-listen", "127.0.0.1:0", "--http-port-file", self.path("http")] if self.http else []

    def more_flags(self):
        """Of the server, for a kind of stack."""
        return []

    @property
    def site(self):
        """"http://127.0.0.1:PORT" of the HTTP listener."""
        return (self.folder / "http").read_text().strip()

    def kill_server(self):
        self.server.kill()
        self.server.wait(timeout=60)

    def environment(self, **more):
        return clean_environment(QBC_SERVER=self.address, TERM="xterm", **more)

    def qbc(self, *arguments, check=None, environment=None, timeout_s=DEADLINE_S):
        """Runs qbc to its end. `check`: the exit code that it must have."""
        done = subprocess.run([BIN / "qbc", *map(str, arguments)], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=timeout_s, check=False,
                              env=environment or self.environment())
        if check is not None and done.returncode != check:
            raise AssertionError(f"qbc {arguments} ended with {done.returncode}, not {check}:\n"
                                 f"{done.stdout}\n{done.stderr}\n{self.server_log()}")
        return done

    def on_terminal(self, *arguments, columns=80, **variables):
        return Terminal([str(BIN / "qbc"), *arguments], self.environment(**variables), columns)

    def server_log(self, lines=40):
        log = self.folder / "server.log"
        if not log.exists():
            return ""
        return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])

    def __enter__(self):
        self.start_server()
        return self

    def __exit__(self, kind, value, trace):
        problem = None
        if self.server.poll() is None:
            self.server.terminate()
            try:
                if self.server.wait(timeout=60) != 0:
                    problem = f"the server ended with {self.server.returncode}"
            except subprocess.TimeoutExpired:
                self.server.kill()
                problem = "the server did not end on SIGTERM"
        log = self.server_log()
        shutil.rmtree(self.folder, ignore_errors=True)
        if problem is not None and kind is None:
            raise AssertionError(f"{problem}\n{log}")
        return False


class TokenStack(Stack):
    """A server that asks for tokens. `tokens`: the path of a token file by tenant."""

    def __init__(self, tenants=("a", "b"), **options):
        super().__init__(**options)
        self.folder.joinpath("data").mkdir(mode=0o700)
        self.tokens = {name: self.write(f"{name}.token", self.server_token("create", "--tenant", name)) for name in tenants}
        for path in self.tokens.values():
            pathlib.Path(path).chmod(0o600)

    def server_token(self, *arguments):
        """Runs `qbc-server token` on the server's credentials."""
        return subprocess.run([BIN / "qbc-server", "token", arguments[0], "--data-dir", self.folder / "data", *arguments[1:]],
                              capture_output=True, text=True, timeout=60, check=True).stdout

    def token(self, tenant):
        return pathlib.Path(self.tokens[tenant]).read_text().strip()

    def more_flags(self):
        return ["--auth", "required"]

    def environment(self, **more):
        return super().environment(**{"QBC_TOKEN_FILE": next(iter(self.tokens.values())), **more})
