"""Finds what the tests of the package need: the package as pip installed it, the tests' shared modules
and the programs."""

import os
import pathlib
import sys

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[3]
SITE = pathlib.Path(os.environ.get("QB_PYTHON_SITE", ROOT / "build/release/python")).resolve()
sys.path[:0] = [str(SITE), str(ROOT / "tests"), str(ROOT / "tests/e2e")]

import stack  # noqa: E402

BIN = stack.BIN
EXAMPLE = ROOT / "examples/fashion"
MODEL = EXAMPLE / "fashion.onnx"
CALIB = EXAMPLE / "calib"

# What a developer's shell may have set must not reach the tests.
for name in ("QBC_SERVER", "QBC_COMPILER", "QBCOMPILER_JSONL"):
    os.environ.pop(name, None)
os.environ["QBCOMPILER_PROGRESS"] = "0"


def use_compiler(name="qbcompiler"):
    os.environ["QBC_COMPILER"] = str(BIN / name)
