#!/usr/bin/python3
"""The QDQ export against the simulator over 10^7 elements of each operator's result: the suite's own
test (tests/export_onnx/operators_test.py, 10^6) at ten times the size.

    tests/bench/export_elements.py [--bin build/release/bin] [--elements 10000000]
"""
import argparse
import os
import pathlib
import subprocess
import sys

TEST = pathlib.Path(__file__).resolve().parent.parent / "export_onnx" / "operators_test.py"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--elements", type=int, default=10_000_000)
    options = parser.parse_args()
    environment = dict(os.environ, QB_BIN_DIR=os.path.abspath(options.bin),
                       QB_EXPORT_ELEMENTS=str(options.elements))
    sys.exit(subprocess.run(["/usr/bin/python3", str(TEST)], env=environment, check=False).returncode)


if __name__ == "__main__":
    main()
