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

PIECE = 50_000  # messages to one server; the next one gets a new one and the next seed
ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=str(ROOT / "build/release"))
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    binaries = pathlib.Path(arguments.build).resolve() / "bin"
    begin = time.monotonic()
    sent = 0
    seed = arguments.seed
    while sent < arguments.messages:
        count = min(PIECE, arguments.messages - sent)
        done = subprocess.run([binaries / "qb_server_rpc_mutation_test"], cwd=ROOT, check=False, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={
                                  **os.environ, "QB_BIN_DIR": str(binaries), "QB_RPC_MESSAGES": str(count),
                                  "QB_RPC_SEED": str(seed)})
        sent += count
        print("\n".join(line for line in done.stdout.splitlines() if done.returncode or ": " in line))
        print(f"{sent} messages, up to seed {seed}: {time.monotonic() - begin:.0f} s", flush=True)
        if done.returncode != 0:
            print(f"seed {seed}: ended with {done.returncode}")
            return 1
        seed += 1
    print("no bar missed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
