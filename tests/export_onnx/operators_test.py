#!/usr/bin/python3
"""The QDQ export of every operator against the simulator, code by code, and the plain export against
the float executor. $QB_EXPORT_ELEMENTS: how many elements of each operator's result (default 10^6).

  QB_BIN_DIR=build/dev/bin /usr/bin/python3 tests/export_onnx/operators_test.py
"""
import os
import pathlib
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE))
import cases  # noqa: E402
import exported  # noqa: E402
import python_report  # noqa: E402

ELEMENTS = int(os.environ.get("QB_EXPORT_ELEMENTS", "1000000"))


@unittest.skipIf(exported.ort.library_path() is None, "ONNX Runtime is not installed")
class OperatorsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.runtime = exported.ort.Runtime()

    def check(self, case):
        with tempfile.TemporaryDirectory() as folder:
            result = exported.compare(case, folder, ELEMENTS, self.runtime)
        print("%-32s %9d elements, %6d off (%.2g), at most %d steps; plain %.2g" % (
            case.name, result.elements, result.off, result.off / result.elements,
            result.most_steps, result.plain_error), file=sys.stderr)
        self.assertGreaterEqual(result.elements, ELEMENTS)
        self.assertLessEqual(result.plain_error, 1e-5)
        self.assertLessEqual(result.most_steps, 0 if case.bar == exported.EXACT else 1)
        self.assertLessEqual(result.off, case.bar * result.elements)


for _case in cases.CASES:
    setattr(OperatorsTest, "test_" + _case.name, lambda self, case=_case: self.check(case))


if __name__ == "__main__":
    python_report.main()
