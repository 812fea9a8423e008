#!/usr/bin/python3
"""The count at the end of `./qb test` cannot be right by accident."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
TESTS = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(TESTS))
import count_results
import python_report


class CountResults(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def junit(self, *cases):
        body = "".join(f'<testcase name="{name}" status="{status}"><system-out>\x1b[0m</system-out>'
                       "</testcase>" for name, status in cases)
        (self.path / "first.junit").write_text(f"<testsuite>{body}</testsuite>")

    def report(self, name, tests, failures, cases=""):
        (self.path / f"{name}.xml").write_text(
            f'<testsuites tests="{tests}" failures="{failures}" disabled="0">{cases}</testsuites>')

    def count(self):
        return count_results.count(self.path)[1:4]

    def test_cases_of_reports_are_counted(self):
        self.junit(("a", "run"), ("b", "run"))
        self.report("a", 7, 0)
        self.assertEqual(self.count(), (8, 0, 0))

    def test_failures_of_reports_are_counted(self):
        self.junit(("a", "fail"))
        self.report("a", 7, 2, '<testcase classname="A" name="x"><failure/></testcase>')
        self.assertEqual(self.count(), (5, 2, 0))
        self.assertEqual(count_results.count(self.path)[4], ["a: A.x"])

    def test_a_crash_after_the_report_is_a_failure(self):
        self.junit(("a", "fail"))
        self.report("a", 7, 0)
        self.assertEqual(self.count(), (7, 1, 0))

    def test_a_crash_before_the_report_is_a_failure(self):
        self.junit(("a", "fail"))
        self.assertEqual(self.count(), (0, 1, 0))

    def test_a_test_that_is_not_run_is_a_failure(self):
        self.junit(("a", "notrun"))
        self.assertEqual(self.count(), (0, 1, 0))

    def test_the_last_words_of_unittest_are_counted(self):
        output = ("FAIL: test_x (m.C.test_x)\n\nRan 7 tests in 1.2s\n\n"
                  "FAILED (failures=1, errors=1, skipped=2)\n")
        (self.path / "first.junit").write_text(
            '<testsuite><testcase name="a" status="fail"><system-out>' + output +
            "</system-out></testcase></testsuite>")
        self.assertEqual(self.count(), (3, 2, 2))
        self.assertEqual(count_results.count(self.path)[4], ["a: test_x"])

    def test_skipped_cases_are_not_passed(self):
        self.junit(("a", "run"))
        self.report("a", 3, 0, '<testcase classname="A" name="x" result="skipped"/>')
        self.assertEqual(self.count(), (2, 0, 1))

    def run_script(self, *arguments):
        return subprocess.run(["/usr/bin/python3", TESTS / "count_results.py", self.path, *arguments],
                              capture_output=True, text=True, check=False)

    def test_a_process_that_outlives_the_run_is_a_failure_and_is_ended(self):
        self.junit(("a", "run"))
        marker = f"count-results-test-{os.getpid()}"
        sleeper = subprocess.Popen(["sleep", "600"], env={**os.environ, "QB_TEST_RUN": marker})
        try:
            done = self.run_script(marker)
            self.assertEqual(done.stdout.splitlines()[-1], "1 passed, 1 failed")
            self.assertIn("sleep 600", done.stdout)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(sleeper.wait(timeout=20), -9)
        finally:
            sleeper.kill()

    def test_an_empty_run_is_a_failure(self):
        done = self.run_script()
        self.assertEqual(done.stdout.splitlines()[-1], "0 passed, 1 failed")
        self.assertEqual(done.returncode, 1)

    def test_success_ends_with_zero(self):
        self.junit(("a", "run"))
        done = self.run_script()
        self.assertEqual(done.stdout.splitlines()[-1], "1 passed, 0 failed")
        self.assertEqual(done.returncode, 0)


if __name__ == "__main__":
    python_report.main()
