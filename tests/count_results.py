#!/usr/bin/python3
"""Counts the test cases of a ctest run. Last line: "N passed, N failed".

    count_results.py FOLDER [MARKER]

FOLDER holds ctest's JUnit files (*.junit) and, for each test that writes one, the report of its cases in
gtest's XML form, named after the test (NAME.xml). Without a report the last words of Python's unittest
("Ran 7 tests", "FAILED (failures=1)") count; a test with neither counts as one case; one that
failed although its report has no failure (a crash, a leak, a time-out) counts as one failure more.
Processes that still live and carry MARKER in their environment outlived the run: each is a failure,
and is ended.
"""

import os
import pathlib
import re
import signal
import sys
import time
import xml.etree.ElementTree as ElementTree


def parse(path):
    """The root element. Output of tests may hold characters that XML does not allow."""
    text = path.read_text(errors="replace")
    return ElementTree.fromstring(re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", "?", text))


def number(element, key):
    return int(element.get(key) or 0)


def report_of(folder, name):
    """(cases, failed, skipped, names of the failed) of the test's own report, or None."""
    for path in sorted(folder.glob(f"{name}.xml")):
        try:
            root = parse(path)
        except ElementTree.ParseError:
            return None  # it died while it wrote
        skipped = number(root, "disabled") + sum(
            1 for case in root.iter("testcase") if case.get("result") == "skipped")
        failed_names = [f"{case.get('classname')}.{case.get('name')}"
                        for case in root.iter("testcase") if case.find("failure") is not None]
        return number(root, "tests"), number(root, "failures"), skipped, failed_names
    return None


def summary_of(output):
    """The same from the last words of unittest in a test's output, or None."""
    ran = re.findall(r"^Ran (\d+) tests? in ", output, re.MULTILINE)
    if not ran:
        return None
    numbers = dict(re.findall(r"(failures|errors|skipped)=(\d+)", output[output.rindex("Ran "):]))
    failed = int(numbers.get("failures", 0)) + int(numbers.get("errors", 0))
    names = re.findall(r"^(?:FAIL|ERROR): (\S+)", output, re.MULTILINE)
    return int(ran[-1]), failed, int(numbers.get("skipped", 0)), names


def left_behind(marker):
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) in (os.getpid(), os.getppid()):
            continue
        try:
            if f"QB_TEST_RUN={marker}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                found.append((int(entry.name), command.strip()))
        except OSError:
            pass  # ended meanwhile
    return found


def count(folder):
    passed = failed = skipped = 0
    problems = []
    seen = 0
    for junit in sorted(folder.glob("*.junit")):
        for case in parse(junit).iter("testcase"):
            seen += 1
            name = case.get("name")
            status = case.get("status")
            report = report_of(folder, name) or summary_of(case.findtext("system-out") or "")
            if status in ("disabled", "notrun") and report is None:
                # A test that could not be started is no test that passed.
                failed += 1
                problems.append(f"{name} (not run)")
                continue
            cases, case_failures, case_skips, names = report or (1, 0, 0, [])
            extra = 1 if status == "fail" and case_failures == 0 else 0
            if report is None:
                failed += extra
                passed += 1 - extra
            else:
                failed += case_failures + extra
                skipped += case_skips
                passed += max(0, cases - case_failures - case_skips)
            problems += [f"{name}: {each}" for each in names]
            if status == "fail" and not names:
                problems.append(name)
    return seen, passed, failed, skipped, problems


def main():
    folder = pathlib.Path(sys.argv[1])
    seen, passed, failed, skipped, problems = count(folder)
    if len(sys.argv) > 2:
        time.sleep(0.2)  # a process that is just ending is not left behind
        for pid, command in left_behind(sys.argv[2]):
            failed += 1
            problems.append(f"left behind: {pid} {command}")
            os.kill(pid, signal.SIGKILL)
    if seen == 0:
        failed += 1
        problems.append("no test was run")
    for problem in problems:
        print("FAILED:", re.sub(r"\s+", " ", problem))
    if skipped:
        print(f"{skipped} skipped")
    print(f"{passed} passed, {failed} failed")
    sys.exit(0 if failed == 0 else 1)


if __name__ == "__main__":
    main()
