#!/usr/bin/python3
"""Runs every command of the documentation.

In docs/*.md and the READMEs a block of three backticks and `console` is a session: lines that begin with
"$ " are commands, the others what they print, with "..." for anything. All sessions of a page run in order in
one shell, in a folder that holds the files of examples/fashion (getting-started begins in an empty one), with
the programs on PATH. A block marked `sh` is not run, but its flags must exist; so must every link between
pages."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1]),
                str(pathlib.Path(__file__).resolve().parents[1] / "e2e")]
import python_report
import stack

ROOT = stack.ROOT
SITE = pathlib.Path(os.environ.get("QB_PYTHON_SITE", ROOT / "build/release/python"))
PAGES = sorted(path for path in [*ROOT.glob("docs/*.md"), ROOT / "README.md", *ROOT.glob("deploy/*.md"),
                                 *ROOT.glob("docker/*.md"), *ROOT.glob("client/*.md")])
EMPTY_AT_FIRST = "getting-started.md"
PROGRAMS = ("qbc", "qbc-server", "qbc-worker", "qbcompiler")


def blocks(text, language):
    """(line number, lines) of each fenced block of a language."""
    found, inside, start, lines = [], None, 0, []
    for number, line in enumerate(text.splitlines(), 1):
        fence = re.match(r"^ {0,3}```(\S*)$", line)
        if fence and inside is None:
            inside, start, lines = fence[1], number, []
        elif fence:
            if inside == language:
                found.append((start, lines))
            inside = None
        elif inside is not None:
            lines.append(line)
    return found


def commands_of(lines):
    """[(command, [expected lines])]; a command goes on after a backslash."""
    found = []
    for line in lines:
        if found and found[-1][0].endswith("\\"):
            found[-1] = (found[-1][0] + "\n" + line, [])
        elif line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def is_like(line, expected):
    """Is a line what a page shows, with "..." for anything? Linear: no regular expression could be as
    unlucky as one of ".*" after ".*"."""
    first, *others = expected.split("...")
    if not others:
        return line == expected
    if not line.startswith(first):
        return False
    at = len(first)
    for piece in others[:-1]:
        at = line.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return line.endswith(others[-1]) and len(line) - len(others[-1]) >= at


def missing_line(output, expected):
    """The first expected line that the output does not have after the ones before it, or None. Other lines,
    warnings or stages, may come between."""
    lines = iter(output.splitlines())
    for wanted in expected:
        if wanted != "..." and not any(is_like(line, wanted) for line in lines):
            return wanted
    return None


class Shell:
    """bash in a folder and a process group of its own. Each command's standard output and standard error are
    one text, as on a terminal."""

    MARK = "--end-of-command--"

    def __init__(self, folder):
        path = f"{stack.BIN}:{folder}/tools:/usr/bin:/bin:{os.environ['PATH']}"
        tools = pathlib.Path(folder) / "tools"
        tools.mkdir()
        (tools / "python3").symlink_to("/usr/bin/python3")
        environment = stack.clean_environment(
            PATH=path, PYTHONPATH=str(SITE), PYTHONDONTWRITEBYTECODE="1", QBC_CHECKOUT=str(ROOT),
            QBCOMPILER_PROGRESS="0", QBC_COMPILER=str(stack.BIN / "qbcompiler"), LC_ALL="C.UTF-8")
        self.process = subprocess.Popen(
            ["/bin/bash", "--norc", "--noprofile"], cwd=pathlib.Path(folder) / "work", text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment,
            start_new_session=True)

    def run(self, command):
        """(exit code, output)."""
        self.process.stdin.write(f"{command}\nended=$?; echo; echo {self.MARK} $ended\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line.startswith(self.MARK):
                return int(line.split()[1]), "".join(lines).rstrip("\n")
            lines.append(line)
        raise AssertionError(f"the shell ended: {''.join(lines)}")

    def close(self):
        """Ends what was left running in the background, and the shell."""
        try:
            self.process.communicate("kill $(jobs -p) 2>/dev/null; wait\n", timeout=60)
        finally:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


class Sessions(unittest.TestCase):
    def run_page(self, page):
        sessions = blocks(page.read_text("utf-8"), "console")
        if not sessions:
            return
        folder = pathlib.Path(tempfile.mkdtemp(prefix="qbdoc."))
        self.addCleanup(shutil.rmtree, folder)
        if page.name == EMPTY_AT_FIRST:
            (folder / "work").mkdir()
        else:
            shutil.copytree(ROOT / "examples/fashion", folder / "work")
        shell = Shell(folder)
        try:
            for number, lines in sessions:
                for command, expected in commands_of(lines):
                    where = f"{page.relative_to(ROOT)}:{number}: {command}"
                    code, output = shell.run(command)
                    self.assertEqual(code, 0, f"{where}\n{output}")
                    self.assertIsNone(missing_line(output, expected), f"{where}\n{output}")
        finally:
            shell.close()


def add_page(page):
    name = "test_" + re.sub(r"\W", "_", str(page.relative_to(ROOT)))
    setattr(Sessions, name, lambda self: self.run_page(page))


for each in PAGES:
    if blocks(each.read_text("utf-8"), "console"):
        add_page(each)


class Matching(unittest.TestCase):
    def test_lines(self):
        for line, expected, like in [("a b c", "a b c", True), ("a b c", "a b", False), ("abc", "...b...", True),
                                     ("abc", "a...c", True), ("ac", "a...c", True), ("a", "a...a", False),
                                     ("abc", "...", True), ("abc", "b...", False), ("abc", "a...b", False)]:
            self.assertEqual(is_like(line, expected), like, (line, expected))

    def test_order(self):
        self.assertIsNone(missing_line("x\na\ny\nb", ["a", "...", "b"]))
        self.assertEqual(missing_line("b\na", ["a", "b"]), "b")
        self.assertIsNone(missing_line("", []))


class Pages(unittest.TestCase):
    def test_the_ones_that_people_need_are_run(self):
        names = {name for name in dir(Sessions) if name.startswith("test_")}
        for page in ("getting_started", "user_guide", "operations", "troubleshooting"):
            self.assertIn(f"test_docs_{page}_md", names)

    def test_flags_in_blocks_that_are_not_run_exist(self):
        for page in PAGES:
            text = page.read_text("utf-8")
            for number, lines in blocks(text, "sh"):
                for line in lines:
                    words = line.split()
                    # Of "sudo -u qbc qbc status" the second qbc is the program.
                    at = next((i for i, word in enumerate(words) if word in PROGRAMS
                               and words[max(i - 1, 0)] != "-u"), None)
                    if at is None:
                        continue
                    program, rest = words[at], words[at + 1:]
                    command = [word for word in rest[:1] if not word.startswith("-")]
                    known = subprocess.run([stack.BIN / program, *command, "--help"], capture_output=True,
                                           text=True, check=True).stdout
                    for flag in (word for word in rest if word.startswith("--")):
                        self.assertIn(flag.split("=")[0], known, f"{page}:{number}: {line}")

    def test_generated_pages_are_not_stale(self):
        done = subprocess.run(["/usr/bin/python3", ROOT / "docs/reference/make_reference.py", "--check"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_links_lead_somewhere(self):
        for page in PAGES:
            text = page.read_text("utf-8")
            for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
                if "://" not in target:
                    self.assertTrue((page.parent / target).exists(), (str(page), target))

    def test_anchors_are_headings(self):
        def slug(heading):
            return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")

        for page in PAGES:
            for target, anchor in re.findall(r"\]\(([^)#\s]*)#([^)]*)\)", page.read_text("utf-8")):
                if "://" in target:
                    continue
                other = page.parent / target if target else page
                headings = re.findall(r"^#+ (.*)$", other.read_text("utf-8"), re.MULTILINE)
                self.assertIn(anchor, [slug(heading) for heading in headings], (str(page), target))


if __name__ == "__main__":
    python_report.main()
