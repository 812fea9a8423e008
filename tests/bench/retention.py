#!/usr/bin/python3
"""Random operations on jobs, files and their removal against a model.

    tests/bench/retention.py [--build build/release] [--operations 10000]

Uploads, submits, results, cancels, pins, rounds of removal, restarts. After each round everything that
the model says is referred to must be there, byte for byte, and nothing else; when all is over no row and
no file may be left. The short form of this runs with the tests."""

import argparse
import os
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    parser.add_argument("--operations", type=int, default=10_000)
    arguments = parser.parse_args()
    program = os.path.join(arguments.build, "bin", "qb_server_retention_walk_test")
    environment = dict(os.environ, QBC_GC_OPERATIONS=str(arguments.operations))
    start = time.monotonic()
    result = subprocess.run([program], env=environment, stdout=subprocess.PIPE, text=True)
    seconds = time.monotonic() - start
    if result.returncode:
        print(result.stdout[-4000:])
    print(f"{arguments.operations} operations in {seconds:.0f} s: " +
          ("nothing that is referred to was removed, nothing was left"
           if result.returncode == 0 else "FAILED"))
    return result.returncode


if __name__ == "__main__":
    sys.exit(main())
