#!/usr/bin/python3
"""Whole transcripts of qbc, compared with the files in transcripts/: what stands on a terminal, what goes into a pipe,
and how each exit code comes about.

QB_UPDATE_GOLDEN=1 writes the files; they are reviewed like code."""

import os
import pathlib
import re
import sys
import unittest

sys.dont_write_bytecode = True
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent),
                str(pathlib.Path(__file__).resolve().parents[1])]
import python_report
import stack

GOLDEN = pathlib.Path(__file__).resolve().parent / "transcripts"
GOOD = "stage import\nprogress 10\nstage calibrate\nprogress 50\nwrite_output 5000\n"
HALFWAY = "stage calibrate\nprogress 50\nhang\n"
HALF = rb"calibrate[^\r]*#[^\r]*\x1b\[K"  # the bar of half of it is drawn


def screen(output):
    """What stands on a terminal after `output`: carriage returns and erasures are done, colours are shown as marks.
    Errors: AssertionError for an escape that qbc has no reason to write."""
    lines, column = [""], 0
    for piece in re.findall(r"\x1b\[[0-9;]*[A-Za-z]|\x1b|\r|\n|[^\x1b\r\n]+", output.decode()):
        if piece == "\n":
            lines.append("")
            column = 0
        elif piece == "\r":
            column = 0
        elif piece == "\x1b[K":
            lines[-1] = lines[-1][:column]
        elif piece.startswith("\x1b"):
            assert piece.endswith("m"), f"unexpected escape {piece!r}"
            mark = f"<{piece[2:-1]}>"
            lines[-1] = lines[-1][:column] + mark + lines[-1][column:]
            column += len(mark)
        else:
            lines[-1] = lines[-1][:column] + piece + lines[-1][column + len(piece):]
            column += len(piece)
    return "\n".join(line.rstrip() for line in lines)


def normalize(text):
    text = stack.normalize(text)
    text = re.sub(r"\bjob [0-9a-f]{8}\S*", "job <id>", text)
    text = re.sub(r"\b\d+(\.\d+)? (s|ms)\b|\b\d+:\d\d\b", "<time>", text)
    text = re.sub(r"\d+(\.\d+)? [kM]?B/s", "<rate>", text)
    # Whether a clock already runs beside the bar, and how often a call is tried, is a matter of the machine.
    text = re.sub(r"(sample) +<time>$", r"\1", text, flags=re.MULTILINE)
    text = re.sub(r"^(no connection .*\n)(?:no connection .*\n)+", r"\1", text, flags=re.MULTILINE)
    return re.sub(r" +(?=<time>)", " ", text)


class Golden(unittest.TestCase):
    maxDiff = None

    def same(self, name, *parts):
        text = normalize("".join(part if part.endswith("\n") else part + "\n" for part in parts))
        path = GOLDEN / f"{name}.txt"
        if os.environ.get("QB_UPDATE_GOLDEN"):
            GOLDEN.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
        self.assertEqual(text, path.read_text("utf-8"), f"{path}: QB_UPDATE_GOLDEN=1 writes it")

    @staticmethod
    def shown(arguments):
        return "$ qbc " + " ".join(f"'{word}'" if re.search(r"[\s']", str(word)) else str(word) for word in arguments)

    def piped(self, name, arguments, code, own=None, **variables):
        """Standard output and standard error apart, and the exit code."""
        own = own or self.stack
        done = own.qbc(*arguments, check=code, environment=own.environment(**variables) if variables else None)
        parts = [self.shown(arguments)]
        for label, text in (("standard output", done.stdout), ("standard error", done.stderr)):
            if text:
                parts += [f"--- {label}", text]
        self.same(name, *parts, f"--- exit code {code}")

    def on_terminal(self, name, arguments, code, columns=80, steps=(), **variables):
        """The screen at the end, and before each step: (pattern to wait for, keys to press)."""
        terminal = self.stack.on_terminal(*map(str, arguments), columns=columns, **variables)
        parts = [self.shown(arguments)]
        for pattern, keys in steps:
            output = terminal.read_until(pattern)
            parts += ["--- screen", screen(output)]
            terminal.press(keys)
        ended, output = terminal.finish()
        self.assertEqual(ended, code, output)
        for job in re.findall(rb"qbc watch (\S+)", output):
            self.stack.qbc("cancel", job.decode(), check=0)  # it has the only worker
        self.same(name, *parts, "--- screen at the end", screen(output).rstrip("\n"), f"--- exit code {code}")


class Transcripts(Golden):
    @classmethod
    def setUpClass(cls):
        cls.stack = stack.Stack(compiler="chaos_compiler")
        cls.stack.start_server()
        cls.stack.qbc("blob", "put", cls.stack.write("calib/a.npy", "sample"), check=0)  # whichever test is first

    @classmethod
    def tearDownClass(cls):
        cls.stack.__exit__(None, None, None)

    def arguments(self, script, *more):
        # A script of its own each, so that no result of another test answers.
        model = self.stack.write("net.onnx", f"# {self.id()}\n{script}")
        return ["compile", model, "-t", "aries-rb", "--calib-data-path", self.stack.path("calib"), "-o", self.stack.path("net.mxq"), *more]

    def job_of(self, script):
        return self.stack.qbc("submit", *self.arguments(script)[1:-2], check=0).stdout.strip()

    def test_terminal(self):
        self.on_terminal("terminal", self.arguments(GOOD), 0)

    def test_ctrl_c_once(self):
        self.on_terminal("ctrl_c_once", self.arguments(HALFWAY), 130, steps=[(HALF, b"\x03")])

    def test_ctrl_c_twice(self):
        self.on_terminal("ctrl_c_twice", self.arguments(HALFWAY), 4,
                         steps=[(HALF, b"\x03"), (rb"again within[^\n]*\n", b"\x03")])

    def test_forty_columns(self):
        self.on_terminal("forty_columns", self.arguments(HALFWAY), 130, columns=40, steps=[(HALF, b"\x03")])

    def test_no_color(self):
        self.on_terminal("color", ["get", "none"], 7)
        self.on_terminal("no_color", ["get", "none"], 7, NO_COLOR="1")

    def test_pipe(self):
        self.piped("pipe", self.arguments(GOOD), 0)

    def test_server_down(self):
        arguments = ["jobs", "--server", "unix:/nonexistent/qbc.sock", "--connect-timeout", "300ms"]
        self.on_terminal("server_down", arguments, 9)
        self.piped("exit_9_server_down", arguments, 9)

    def test_exit_codes_of_the_command_line_and_of_files(self):
        model = self.stack.write("net.onnx", "stage a\n")
        job = self.job_of(GOOD)
        self.stack.qbc("wait", job, "--progress", "none", check=0)
        self.piped("exit_1_output", ["download", job, "-o", "/dev/full/net.mxq"], 1)
        self.piped("exit_2_usage", ["compile", model], 2)
        self.piped("exit_7_not_found", ["get", "01890a5d-ac96-774b-bcce-b302099a8057"], 7)
        self.piped("exit_10_input", ["submit", model, "-t", "no-such-npu", "--use-random-calib"], 10)

    def test_exit_codes_of_jobs(self):
        self.piped("exit_3_compile_failed", self.arguments("stage import\nexit 1 UNSUPPORTED_OPERATOR import: node 'x', op Foo\n"), 3)
        self.piped("exit_11_service", self.arguments("stage import\ncrash SIGSEGV\n"), 11)
        job = self.job_of("stage import\nhang\n")
        self.piped("exit_5_wait_timeout", ["wait", job, "--timeout", "300ms", "--progress", "none"], 5)
        self.stack.qbc("cancel", job, check=0)
        self.piped("exit_4_cancelled", ["wait", job, "--progress", "none"], 4)


class Refusals(Golden):
    def test_without_a_token(self):
        with stack.TokenStack(compiler="chaos_compiler", workers=0) as own:
            token = own.write("none.token", "qbt_0_0")
            pathlib.Path(token).chmod(0o600)
            self.piped("exit_6_not_allowed", ["jobs"], 6, own, QBC_TOKEN_FILE=token)

    def test_beyond_a_limit(self):
        class Small(stack.Stack):
            def more_flags(self):
                return ["--max-queued-jobs", "1"]

        with Small(compiler="chaos_compiler", workers=0) as own:
            arguments = ["submit", own.write("net.onnx", GOOD), "-t", "aries-rb", "--use-random-calib"]
            own.qbc(*arguments, check=0)
            own.write("net.onnx", "# other work\n" + GOOD)
            self.piped("exit_8_limit", [*arguments, "--connect-timeout", "300ms"], 8, own)


if __name__ == "__main__":
    python_report.main()
