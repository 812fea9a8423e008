#!/usr/bin/python3
"""Requests with something wrong in them, a million, to every method of a server in the same process.

    tests/bench/rpc_mutations.py [--build build/release] [--messages 1000000] [--seed 1]

The suite sends 20 000 (qb_server_rpc_mutation_test); this is the long form. A fourth of the messages are
damaged bytes, the others have values that nobody would send. Bars: the server neither ends nor answers
INTERNAL, UNKNOWN or DATA_LOSS; each error has an ErrorInfo with a known reason, each INVALID_ARGUMENT a
FieldViolation, each refusal that passes a RetryInfo. Prints how many answers there were of each code and
which reasons. Ends with 1 when a bar is missed."""

import argparse
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=str(ROOT / "build/release"))
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    binaries = pathlib.Path(arguments.build).resolve() / "bin"
    begin = time.monotonic()
    done = subprocess.run([binaries / "qb_server_rpc_mutation_test"], cwd=ROOT, check=False, env={
        **os.environ, "QB_BIN_DIR": str(binaries), "QB_RPC_MESSAGES": str(arguments.messages),
        "QB_RPC_SEED": str(arguments.seed)})
    print(f"{arguments.messages} messages, seed {arguments.seed}: {time.monotonic() - begin:.0f} s, "
          f"{'no bar missed' if done.returncode == 0 else f'ended with {done.returncode}'}")
    return 0 if done.returncode == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
